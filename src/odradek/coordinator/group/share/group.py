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

FIRST_EPOCH = 1  # of a group that nothing has happened to
EMPTY, STABLE_GROUP = "Empty", "Stable"


class ShareGroup:
    __slots__ = (
        "epoch",
        "group_id",
        "members",
        "metadata_hash",
        "target",
        "target_epoch",
        "target_ms",
        "topics",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = FIRST_EPOCH
        self.target_ms = 0  # when it was made, of the wall clock
        self.members: dict[str, ShareMember] = {}
        self.target: dict[str, Target] = {}
        self.topics = StateTopics()

    def __repr__(self) -> str:
        return f"ShareGroup({self.group_id}, {self.state}, epoch {self.epoch}, {len(self.members)} members)"

    def copy(self) -> "ShareGroup":
        """Members, targets and topics are values: only the maps are made anew."""
        made = ShareGroup(self.group_id)
        made.epoch, made.metadata_hash = self.epoch, self.metadata_hash
        made.target_epoch, made.target_ms = self.target_epoch, self.target_ms
        made.members = dict(self.members)
        made.target = dict(self.target)
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
            assert isinstance(value, records.ShareGroupMetadataValue)
            self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
        elif isinstance(key, records.ShareGroupMemberMetadataKey):
            assert value is None or isinstance(value, records.ShareGroupMemberMetadataValue)
            self._replay_member(key.member_id, value)
        elif isinstance(key, records.ShareGroupTargetAssignmentMetadataKey):
            assert value is None or isinstance(value, records.ShareGroupTargetAssignmentMetadataValue)
            self.target_epoch = FIRST_EPOCH if value is None else value.assignment_epoch
            self.target_ms = 0 if value is None else value.assignment_timestamp
        elif isinstance(key, records.ShareGroupTargetAssignmentMemberKey):
            assert value is None or isinstance(value, records.ShareGroupTargetAssignmentMemberValue)
            self._replay_target(key.member_id, value)
        elif isinstance(key, records.ShareGroupCurrentMemberAssignmentKey):
            assert value is None or isinstance(value, records.ShareGroupCurrentMemberAssignmentValue)
            self._replay_assignment(key.member_id, value)
        elif isinstance(key, records.ShareGroupStatePartitionMetadataKey):
            assert value is None or isinstance(value, records.ShareGroupStatePartitionMetadataValue)
            self.topics = StateTopics() if value is None else _state_topics(value)

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
        assert self.epoch >= self.target_epoch, f"{self}: the target is of epoch {self.target_epoch}"
        for member_id in self.target:
            assert member_id in self.members, f"{self}: {member_id} is in the target and no member"
        for member in self.members.values():
            assert member.epoch <= self.target_epoch, f"{self}: {member} is ahead of the target"
        for topic_id in self.topics.deleting:
            assert topic_id not in self.topics.initialized, f"{self}: a topic is deleted and there"


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
