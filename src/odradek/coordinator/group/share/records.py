"""The records of share groups, in the one version that there is."""

from collections.abc import Mapping

from odradek.coordinator.group.plan import Record
from odradek.coordinator.group.share.group import ShareGroup
from odradek.coordinator.group.share.member import STABLE, ShareMember, StateTopic, StateTopics, Target
from odradek.protocol.declare import Uuid
from odradek.protocol.messages import share_groups as records


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Record:
    key = records.ShareGroupMetadataKey(group_id=group_id)
    return key, records.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)


def member(group_id: str, each: ShareMember) -> Record:
    key = records.ShareGroupMemberMetadataKey(group_id=group_id, member_id=each.member_id)
    value = records.ShareGroupMemberMetadataValue(
        rack_id=each.rack_id,
        client_id=each.client_id,
        client_host=each.client_host,
        subscribed_topic_names=list(each.topic_names),
    )
    return key, value


def target_epoch(group_id: str, epoch: int, made_ms: int) -> Record:
    key = records.ShareGroupTargetAssignmentMetadataKey(group_id=group_id)
    return key, records.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=made_ms)


def target(group_id: str, member_id: str, partitions: Target) -> Record:
    key = records.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    topics = [
        records.TopicPartition(topic_id=Uuid(topic_id), partitions=sorted(partitions[topic_id]))
        for topic_id in sorted(partitions)
    ]
    return key, records.ShareGroupTargetAssignmentMemberValue(topic_partitions=topics)


def assignment(group_id: str, each: ShareMember) -> Record:
    key = records.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=each.member_id)
    topics = [
        records.TopicPartitions(topic_id=Uuid(topic_id), partitions=sorted(each.assigned[topic_id]))
        for topic_id in sorted(each.assigned)
    ]
    value = records.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=each.epoch,
        previous_member_epoch=each.previous_epoch,
        state=STABLE,
        assigned_partitions=topics,
    )
    return key, value


def state_topics(group_id: str, topics: StateTopics) -> Record:
    key = records.ShareGroupStatePartitionMetadataKey(group_id=group_id)
    value = records.ShareGroupStatePartitionMetadataValue(
        initializing_topics=_infos(topics.initializing),
        initialized_topics=_infos(topics.initialized),
        deleting_topics=[
            records.ShareGroupStatePartitionMetadataValueTopicInfo(topic_id=Uuid(topic_id), topic_name=name)
            for topic_id, name in topics.deleting.items()
        ],
    )
    return key, value


def _infos(
    topics: Mapping[bytes, StateTopic],
) -> list[records.ShareGroupStatePartitionMetadataValueTopicPartitionsInfo]:
    return [
        records.ShareGroupStatePartitionMetadataValueTopicPartitionsInfo(
            topic_id=Uuid(topic_id), topic_name=topic.name, partitions=sorted(topic.partitions)
        )
        for topic_id, topic in topics.items()
    ]


# Tombstones


def no_member(group_id: str, member_id: str) -> list[Record]:
    return [
        (records.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        (records.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        (records.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def no_group(group: ShareGroup) -> list[Record]:
    """Everything; the group itself last, because the others would make it again."""
    group_id = group.group_id
    gone = [record for member_id in group.members for record in no_member(group_id, member_id)]
    gone.append((records.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    gone.append((records.ShareGroupStatePartitionMetadataKey(group_id=group_id), None))
    gone.append((records.ShareGroupMetadataKey(group_id=group_id), None))
    return gone
