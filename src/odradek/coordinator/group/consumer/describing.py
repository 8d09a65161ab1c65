"""ConsumerGroupDescribe."""

from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.member import NO_TARGET, Assigned, ConsumerMember, Target
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k69_consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def describe(groups: ConsumerGroups, group_id: str) -> Decided[DescribedGroup]:
    try:
        group = groups.group(group_id)
    except errors.KafkaError as error:
        return Decided(response=DescribedGroup(error_code=error.code, error_message=error.message, group_id=group_id))
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.server_assignor(groups.config.assignors),
        members=[_member(groups, group, member) for member in group.members.values()],
    )
    return Decided(response=described)


def _member(groups: ConsumerGroups, group: ConsumerGroup, member: ConsumerMember) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(groups, member.held()),
        target_assignment=_assignment(groups, group.target.get(member.member_id, NO_TARGET)),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )


def _assignment(groups: ConsumerGroups, partitions: Assigned | Target) -> Assignment:
    """Topics that are gone have no name to tell."""
    topics = []
    for topic_id in sorted(partitions):
        topic = groups.topics.by_id(topic_id)
        if topic is not None and partitions[topic_id]:
            told = TopicPartitions(
                topic_id=Uuid(topic_id), topic_name=topic.name, partitions=sorted(partitions[topic_id])
            )
            topics.append(told)
    return Assignment(topic_partitions=topics)
