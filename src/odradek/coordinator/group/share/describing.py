"""ShareGroupDescribe."""

from odradek.coordinator.core import Decided
from odradek.coordinator.group.share.config import ASSIGNOR
from odradek.coordinator.group.share.groups import ShareGroups
from odradek.coordinator.group.share.member import ShareMember, Target
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k77_share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions


def describe(groups: ShareGroups, group_id: str) -> Decided[DescribedGroup]:
    try:
        group = groups.group(group_id)
    except errors.KafkaError as error:
        return Decided(response=DescribedGroup(error_code=error.code, error_message=error.message, group_id=group_id))
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=ASSIGNOR,
        members=[_member(groups, member) for member in group.members.values()],
    )
    return Decided(response=described)


def _member(groups: ShareGroups, member: ShareMember) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        assignment=_assignment(groups, member.assigned),
    )


def _assignment(groups: ShareGroups, partitions: Target) -> Assignment:
    """Topics that are gone have no name to tell."""
    topics = []
    for topic_id in sorted(partitions):
        topic = groups.topics.by_id(topic_id)
        if topic is not None:
            of_topic = sorted(partitions[topic_id])
            topics.append(TopicPartitions(topic_id=Uuid(topic_id), topic_name=topic.name, partitions=of_topic))
    return Assignment(topic_partitions=topics)
