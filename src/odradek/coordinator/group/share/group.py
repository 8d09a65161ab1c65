"""A share group: everything here is what its records say.

Theory of operation. As in a consumer group the group's epoch grows when what there is to assign changes, and the target
follows it; but a share-partition may be with several members at once, so that a member takes its target at once and
nobody has to give anything back. A share-partition is assigned once its state is set up at the share coordinator:

    a topic is subscribed to -> initializing -> (the share coordinator has it) -> initialized -> in the target

    record                           what it writes
    ShareGroupMetadata               the group's epoch, the hash of its topics
    ShareGroupMemberMetadata         a member and what it subscribes to
    ShareGroupTargetAssignment*      the target's epoch, when it was made; what each member shall have
    ShareGroupCurrentMemberAssignment what a member has, and its epoch
    ShareGroupStatePartitionMetadata the topics whose state is being set up, is there, is being deleted

An event decides on a copy (`plan.py`), and the same `replay` makes it true once it is appended.
"""

from collections.abc import Iterable
from typing import Self

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.epochs.group import EMPTY, STABLE_GROUP, EpochGroup
from odradek.coordinator.group.epochs.values import optional, required
from odradek.coordinator.group.plan import Plan
from odradek.coordinator.group.share.member import (
    NOTHING,
    ShareMember,
    StateTopic,
    StateTopics,
    Target,
    places,
)
from odradek.protocol.declare import Message
from odradek.protocol.messages import share_groups as records


class ShareGroup(EpochGroup[ShareMember, Target]):
    __slots__ = ("topics",)

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.topics = StateTopics()

    def copy(self) -> Self:
        made = super().copy()
        made.topics = self.topics
        return made

    @property
    def state(self) -> str:
        return STABLE_GROUP if self.members else EMPTY

    def subscribed_topics(self) -> set[str]:
        return {name for member in self.members.values() for name in member.topic_names}

    def assignable(self) -> dict[bytes, frozenset[int]]:
        """What is set up of the topics that somebody subscribes to."""
        names = self.subscribed_topics()
        initialized = self.topics.initialized.items()
        return {topic_id: topic.partitions for topic_id, topic in initialized if topic.name in names}

    def is_target_complete(self) -> bool:
        """Whether everything that could be assigned is in the target."""
        wanted = set(places(self.assignable()))
        return wanted == {place for target in self.target.values() for place in places(target)}

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        if isinstance(key, records.ShareGroupMetadataKey):
            metadata = required(value, records.ShareGroupMetadataValue)
            self.epoch, self.metadata_hash = metadata.epoch, metadata.metadata_hash
        elif isinstance(key, records.ShareGroupMemberMetadataKey):
            self._replay_member(key.member_id, optional(value, records.ShareGroupMemberMetadataValue))
        elif isinstance(key, records.ShareGroupTargetAssignmentMetadataKey):
            self.replay_target_epoch(optional(value, records.ShareGroupTargetAssignmentMetadataValue))
        elif isinstance(key, records.ShareGroupTargetAssignmentMemberKey):
            self._replay_target(key.member_id, optional(value, records.ShareGroupTargetAssignmentMemberValue))
        elif isinstance(key, records.ShareGroupCurrentMemberAssignmentKey):
            self._replay_assignment(key.member_id, optional(value, records.ShareGroupCurrentMemberAssignmentValue))
        elif isinstance(key, records.ShareGroupStatePartitionMetadataKey):
            topics = optional(value, records.ShareGroupStatePartitionMetadataValue)
            self.topics = StateTopics() if topics is None else _state_topics(topics)

    def _replay_member(self, member_id: str, value: records.ShareGroupMemberMetadataValue | None) -> None:
        if value is None:
            self.members.pop(member_id, None)
            return
        old = self.members.get(member_id) or ShareMember(member_id)
        self.members[member_id] = old._replace(
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=tuple(sorted(value.subscribed_topic_names)),
        )

    def _replay_target(self, member_id: str, value: records.ShareGroupTargetAssignmentMemberValue | None) -> None:
        if value is None:
            self.target.pop(member_id, None)
        else:
            self.target[member_id] = _partitions(value.topic_partitions)

    def _replay_assignment(self, member_id: str, value: records.ShareGroupCurrentMemberAssignmentValue | None) -> None:
        old = self.members.get(member_id)
        if value is None:
            if old is not None:
                self.members[member_id] = old.subscription()
            return
        self.members[member_id] = (old or ShareMember(member_id))._replace(
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            assigned=_partitions(value.assigned_partitions),
        )

    # What must hold

    def validate(self) -> None:
        self.validate_epochs()
        for member in self.members.values():
            if member.epoch > self.target_epoch:
                raise BrokenRuleError(f"{self}: {member} is ahead of the target")
        for topic_id in self.topics.deleting:
            if topic_id in self.topics.initialized:
                raise BrokenRuleError(f"{self}: a topic is deleted and there")


def _partitions(topics: Iterable[records.TopicPartition | records.TopicPartitions]) -> Target:
    told = {bytes(each.topic_id): frozenset(each.partitions) for each in topics if each.partitions}
    return told or NOTHING


def _state_topics(value: records.ShareGroupStatePartitionMetadataValue) -> StateTopics:
    return StateTopics(
        _infos(value.initializing_topics),
        _infos(value.initialized_topics),
        {bytes(each.topic_id): each.topic_name for each in value.deleting_topics},
    )


def _infos(
    topics: Iterable[records.ShareGroupStatePartitionMetadataValueTopicPartitionsInfo],
) -> dict[bytes, StateTopic]:
    return {bytes(each.topic_id): StateTopic(each.topic_name, frozenset(each.partitions)) for each in topics}


class SharePlan(Plan[ShareGroup]):
    __slots__ = ()
