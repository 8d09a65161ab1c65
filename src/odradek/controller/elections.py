"""Elections: what a broker that comes or goes means for its partitions, and those that an admin or a timer asks for."""

from collections.abc import Iterable, Iterator

from odradek.controller.change import PREFERRED, UNCLEAN, Change
from odradek.controller.state import ControllerState
from odradek.controller.topics import Topic
from odradek.metadata.partition import NO_LEADER
from odradek.protocol.errors import (
    NONE,
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidRequest,
    KafkaError,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord
from odradek.protocol.topic_partition import TopicIdPartition
from odradek.protocol.vocabulary import ElectionType
from odradek.replicated.decision import Decision

PREFERRED_ELECTION, UNCLEAN_ELECTION = map(int, ElectionType)

REBALANCED_PER_TURN_MAX = 1_000  # partitions that one automatic rebalance moves


# These go through all that a broker holds, which may be a lot: one partition at a time, as the runtime takes them, and
# None for one that stays as it is.
Changes = Iterator[PartitionChangeRecord | None]


def broker_left(state: ControllerState, broker_id: int) -> Changes:
    """Other leaders for what it leads, and out of every in-sync set in which it is not alone.

    It is still registered as active here, so it is left out by hand.
    """
    for place in state.topics.in_sync.get(broker_id, ()):
        yield changed(state, place, without=broker_id)


def broker_came(state: ControllerState, broker_id: int) -> Changes:
    """It leads what has no leader and is in sync with it. It is not registered as active yet."""
    in_sync = state.topics.in_sync.get(broker_id, ())
    for place in state.topics.leaderless:
        may_lead = place in in_sync or state.is_unclean_election_enabled(place[0])
        yield changed(state, place, including=broker_id) if may_lead else None


def elect_uncleanly(state: ControllerState) -> Changes:
    """For partitions without a leader whose topic prefers to lose records rather than to wait."""
    for place in state.topics.leaderless:
        yield changed(state, place) if state.is_unclean_election_enabled(place[0]) else None


def balance(state: ControllerState) -> list[PartitionChangeRecord]:
    """Gives partitions back to their first replica where that is in sync again."""
    records: list[PartitionChangeRecord] = []
    for place in state.topics.not_preferred:
        if len(records) == REBALANCED_PER_TURN_MAX:
            break
        record = changed(state, place, election=PREFERRED)
        if record is not None:
            records.append(record)
    return records


def changed(
    state: ControllerState,
    place: TopicIdPartition,
    *,
    without: int | None = None,
    including: int | None = None,
    election: str | None = None,
) -> PartitionChangeRecord | None:
    """What becomes of a partition `without` a broker that goes, or `including` one that comes; None if nothing does."""
    partition = state.topics.by_id[place[0]].partitions[place[1]]

    def is_eligible(replica: int) -> bool:
        if replica == without:
            return False
        return state.cluster.may_lead(replica, partition) or (
            replica == including and state.cluster.has_online_directory(replica, partition)
        )

    change = Change(partition, is_eligible, state.features.metadata_version)
    if without is not None:
        change.without(without)
    if election is not None:
        change.election = election
    elif state.is_unclean_election_enabled(place[0]):
        change.election = UNCLEAN
    return change.record(*place)


# What an admin asks for


def elect_leaders(state: ControllerState, request: ElectLeadersRequest) -> Decision[ElectLeadersResponse]:
    if request.election_type not in (PREFERRED_ELECTION, UNCLEAN_ELECTION):
        raise InvalidRequest(f"Unknown election type {request.election_type}")
    records: list[PartitionChangeRecord] = []
    results = []
    asks_for_all = request.topic_partitions is None
    for name, partitions in _wanted(state, request):
        outcomes = [(index, _elect(state, records, name, index, request.election_type)) for index in partitions]
        told = [item for item in outcomes if not (asks_for_all and isinstance(item[1], ElectionNotNeeded))]
        results.append(ReplicaElectionResult(topic=name, partition_result=[_result(*item) for item in told]))
    return Decision(state.versioned(records), ElectLeadersResponse(replica_election_results=results), is_atomic=False)


def _wanted(state: ControllerState, request: ElectLeadersRequest) -> "Iterable[tuple[str, Iterable[int]]]":
    if request.topic_partitions is None:
        return [(topic.name, topic.partitions) for topic in state.topics.by_id.values()]
    return [(item.topic, item.partitions) for item in request.topic_partitions]


def _elect(
    state: ControllerState, records: list[PartitionChangeRecord], name: str, index: int, election_type: int
) -> KafkaError | None:
    try:
        records.append(_elected(state, _topic(state, name), index, election_type))
    except KafkaError as error:
        return error
    return None


def _topic(state: ControllerState, name: str) -> Topic:
    topic = state.topics.by_name.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"No such topic as {name}")
    return topic


def _elected(state: ControllerState, topic: Topic, index: int, election_type: int) -> PartitionChangeRecord:
    partition = topic.partitions.get(index)
    if partition is None:
        raise UnknownTopicOrPartition(f"No such partition as {topic.name}-{index}")
    is_preferred = election_type == PREFERRED_ELECTION
    if partition.leader == partition.preferred if is_preferred else partition.leader != NO_LEADER:
        raise ElectionNotNeeded("Leader election not needed for topic partition.")
    record = changed(state, (topic.id, index), election=PREFERRED if is_preferred else UNCLEAN)
    leader = NO_LEADER if record is None else record.leader
    if record is None or (is_preferred and leader != partition.preferred):
        if is_preferred:
            raise PreferredLeaderNotAvailable()
        raise EligibleLeadersNotAvailable()
    return record


def _result(index: int, error: KafkaError | None) -> PartitionResult:
    if error is None:
        return PartitionResult(partition_id=index, error_code=NONE, error_message=None)
    return PartitionResult(partition_id=index, error_code=error.code, error_message=error.message)
