"""The records of consumer groups, in the one version that there is."""

from collections.abc import Iterable

from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.member import Assigned, ConsumerMember, Target
from odradek.coordinator.group.plan import Record
from odradek.protocol.declare import Uuid
from odradek.protocol.messages import consumer_groups as records


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Record:
    key = records.ConsumerGroupMetadataKey(group_id=group_id)
    return key, records.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)


def member(group_id: str, each: ConsumerMember) -> Record:
    key = records.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=each.member_id)
    value = records.ConsumerGroupMemberMetadataValue(
        instance_id=each.instance_id,
        rack_id=each.rack_id,
        client_id=each.client_id,
        client_host=each.client_host,
        subscribed_topic_names=list(each.topic_names),
        subscribed_topic_regex=each.regex,
        rebalance_timeout_ms=each.rebalance_timeout_ms,
        server_assignor=each.server_assignor,
        classic_member_metadata=_classic(each),
    )
    return key, value


def _classic(each: ConsumerMember) -> records.ClassicMemberMetadata | None:
    if each.classic is None:
        return None
    protocols = [records.ClassicProtocol(name=name, metadata=metadata) for name, metadata in each.classic.protocols]
    return records.ClassicMemberMetadata(
        session_timeout_ms=each.classic.session_timeout_ms, supported_protocols=protocols
    )


def target_epoch(group_id: str, epoch: int, made_ms: int) -> Record:
    key = records.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    value = records.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=made_ms)
    return key, value


def target(group_id: str, member_id: str, partitions: Target) -> Record:
    key = records.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    topics = [
        records.TopicPartition(topic_id=Uuid(topic_id), partitions=sorted(partitions[topic_id]))
        for topic_id in sorted(partitions)
    ]
    return key, records.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics)


def assignment(group_id: str, each: ConsumerMember) -> Record:
    key = records.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=each.member_id)
    value = records.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=each.epoch,
        previous_member_epoch=each.previous_epoch,
        state=each.state,
        assigned_partitions=_topics(each.assigned),
        partitions_pending_revocation=_topics(each.pending_revocation),
    )
    return key, value


def _topics(assigned: Assigned) -> list[records.TopicPartitions]:
    topics = []
    for topic_id in sorted(assigned):
        partitions = sorted(assigned[topic_id])
        if partitions:
            epochs = [assigned[topic_id][partition] for partition in partitions]
            topics.append(
                records.TopicPartitions(topic_id=Uuid(topic_id), partitions=partitions, assignment_epochs=epochs)
            )
    return topics


def regex(group_id: str, expression: str, topics: Iterable[str], version: int, timestamp_ms: int) -> Record:
    key = records.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression)
    value = records.ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=version, timestamp=timestamp_ms)
    return key, value


# Tombstones


def no_regex(group_id: str, expression: str) -> Record:
    return records.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression), None


def no_member(group_id: str, member_id: str) -> list[Record]:
    return [
        (records.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        (records.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        (records.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def no_group(group: ConsumerGroup) -> list[Record]:
    """Everything; the group itself last, because the others would make it again."""
    group_id = group.group_id
    gone = [record for member_id in group.members for record in no_member(group_id, member_id)]
    gone += [no_regex(group_id, expression) for expression in group.regexes]
    gone.append((records.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    gone.append((records.ConsumerGroupMetadataKey(group_id=group_id), None))
    return gone
