"""The transaction coordinator on a real partition, behind a commit gate, with a network that the test is."""

import random

import pytest

from odradek.coordinator.metrics import register_transactions
from odradek.coordinator.transaction.coordinator import TransactionCoordinator
from odradek.coordinator.transaction.transaction import ProducerIdAndEpoch
from odradek.metadata.cache import MetadataCache
from odradek.metadata.delta import MetadataDelta
from odradek.metrics.registry import Registry
from odradek.protocol import errors
from odradek.protocol.internal_topics import TRANSACTION_STATE_TOPIC as TOPIC
from odradek.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from odradek.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord
from odradek.replica.fetch_entry import FetchEntry
from replica_kit import NODE, SimPlane

OTHER = 2


class Ids:
    def __init__(self, loop):
        self.loop = loop
        self.last = 0

    def next(self):
        self.last += 1
        pending = self.loop.pending()
        pending.resolve(self.last)
        return pending


class Network:
    """Requests to other brokers, until the test answers them."""

    def __init__(self, loop):
        self.loop = loop
        self.sent = []  # (node, request, its answer)

    def send(self, node_id, request):
        answered = self.loop.pending()
        self.sent.append((node_id, request, answered))
        return answered

    def take(self):
        sent, self.sent = self.sent, []
        return sent


class Gate(SimPlane):
    """One partition of the transaction topic on two replicas; the test is the second one."""

    def __init__(self, seed=1, version=2, replicas=(NODE, OTHER), **configs):
        self.transactions = None
        super().__init__(seed=seed, **configs)
        self.metadata = MetadataCache()
        self.network = Network(self.loop)
        self.transactions = TransactionCoordinator(
            self.replicas, self.network, self.metadata, Ids(self.loop), self.layers.config
        )
        if version:
            self.apply([FeatureLevelRecord(name="transaction.version", feature_level=version)])
        self.create_topic(TOPIC, replicas=replicas)
        self.create_topic("t", partitions=3)
        self.settle()

    def apply(self, records):
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.offset + len(records), 1)
        self.run(self.replicas.apply(delta, self.image))
        if self.transactions is not None:
            self.metadata.set_image(self.image)
            self.transactions.applied(delta, self.image)

    @property
    def shard(self):
        return self.transactions.shards.get(0)

    def settle(self):
        assert self.world.run_until(lambda: self.shard is not None and self.shard.state != "loading")

    def open(self, offset=None):
        """The follower has everything before `offset`: that much is committed."""
        partition = self.partition(TOPIC)
        offset = partition.log.log_end_offset if offset is None else offset
        entry = FetchEntry(self, TOPIC, 0, 0)
        entry.fetch_offset, entry.log_start_offset = offset, 0
        self.on_reactor(lambda: partition.leader.follower_fetched(entry, OTHER, -1))
        self.world.run_for(1)

    def lead(self, node):
        self.apply([PartitionChangeRecord(partition_id=0, topic_id=self.topic_ids[TOPIC], leader=node)])

    def in_sync(self, *replicas):
        change = PartitionChangeRecord(partition_id=0, topic_id=self.topic_ids[TOPIC], isr=list(replicas))
        self.apply([change])

    def lose_tail(self, offset):
        self.lead(OTHER)
        self.run(self.logs.truncate_to(TOPIC, 0, offset))
        self.lead(NODE)
        self.settle()

    # Events

    def spawn(self, work):
        pending = self.on_reactor(lambda: self.loop.spawn(work))
        pending.is_observed = True
        return pending

    def init(self, transactional_id="a"):
        pending = self.spawn(self.transactions.init_producer_id(transactional_id, 60_000, None))
        self.world.run_for(1)
        return pending

    def started(self, transactional_id="a"):
        """A producer with an open transaction in t-0 and t-1."""
        init = self.init(transactional_id)
        self.open()
        producer = init.value()
        now, partitions = self.shard.now(), [("t", 0), ("t", 1)]
        self.on_reactor(
            lambda: self.shard.run(lambda core: core.add_partitions(now, transactional_id, producer, partitions, 2))
        )
        self.open()
        return producer

    def end(self, producer, is_commit=True, transactional_id="a", version=2):
        pending = self.spawn(self.transactions.end(transactional_id, producer, is_commit, version))
        self.world.run_for(1)
        return pending

    def state(self, transactional_id="a"):
        return self.shard.core.transactions[transactional_id].state

    def answer_markers(self, code=0, codes=None):
        """Of all that are waiting; the requests."""
        sent = self.network.take()
        for _, request, answered in sent:
            self.on_reactor(lambda one=answered, two=request: one.resolve(markers_answer(two, code, codes or {})))
        self.world.run_for(1)
        return [request for _, request, _ in sent]


def markers_answer(request, code, codes):
    results = []
    for marker in request.markers:
        topics = [
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=index, error_code=codes.get((topic.name, index), code)
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ]
        results.append(WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
    return WriteTxnMarkersResponse(markers=results)


def partitions_of(request):
    return sorted(
        (marker.producer_id, topic.name, index)
        for marker in request.markers
        for topic in marker.topics
        for index in topic.partition_indexes
    )


PREPARE_COMMIT, COMPLETE_COMMIT = 2, 4


def test_the_decision_is_answered_and_the_markers_are_sent_when_it_is_committed():
    gate = Gate()
    ended = gate.end(gate.started())
    gate.world.run_for(5000)
    assert gate.state() == PREPARE_COMMIT
    assert not ended.is_done
    assert not gate.network.sent, "a decision that may be lost must reach no partition"
    gate.open()
    assert ended.value() == ProducerIdAndEpoch(1, 1)
    (request,) = gate.answer_markers()
    assert partitions_of(request) == [(1, "t", 0), (1, "t", 1)]
    marker = request.markers[0]
    assert (marker.producer_epoch, marker.transaction_result, marker.transaction_version) == (1, True, 2)
    assert marker.coordinator_epoch == gate.shard.epoch
    assert gate.state() == COMPLETE_COMMIT


def test_a_decision_that_is_lost_with_the_lead_was_never_made():
    gate = Gate()
    producer = gate.started()
    committed = gate.partition(TOPIC).log.log_end_offset
    ended = gate.end(producer)
    gate.lose_tail(committed)
    with pytest.raises(errors.NotCoordinator):
        ended.value()
    assert not gate.network.sent
    again = gate.end(producer, is_commit=False)
    gate.open()
    assert again.value() == ProducerIdAndEpoch(1, 1)
    assert not gate.answer_markers()[0].markers[0].transaction_result


def test_the_next_coordinator_sends_the_markers_once_more():
    gate = Gate()
    ended = gate.end(gate.started())
    gate.open()
    assert ended.value()
    gate.network.take()  # they never arrive
    gate.lead(OTHER)
    gate.lead(NODE)
    gate.settle()
    gate.open()
    (request,) = gate.answer_markers()
    assert partitions_of(request) == [(1, "t", 0), (1, "t", 1)]
    assert request.markers[0].coordinator_epoch == gate.shard.epoch > 0
    assert gate.state() == COMPLETE_COMMIT


@pytest.mark.parametrize(
    "error",
    [errors.NotLeaderOrFollower, errors.UnknownTopicOrPartition, errors.NotEnoughReplicas, errors.RequestTimedOut],
)
def test_a_partition_that_is_not_ready_is_asked_again(error):
    gate = Gate()
    gate.end(gate.started())
    gate.open()
    for _ in range(3):
        (request,) = gate.answer_markers(codes={("t", 1): error.code})
        assert gate.state() == PREPARE_COMMIT
        assert gate.world.run_until(lambda: gate.network.sent)
    (request,) = gate.answer_markers()
    assert partitions_of(request) == [(1, "t", 1)], "only those that have none"
    assert gate.state() == COMPLETE_COMMIT


def test_an_answer_that_never_comes_back():
    gate = Gate()
    gate.end(gate.started())
    gate.open()
    for _, _, answered in gate.network.take():
        gate.on_reactor(lambda one=answered: one.fail(errors.NetworkException()))
    assert gate.world.run_until(lambda: gate.network.sent)
    gate.answer_markers()
    assert gate.state() == COMPLETE_COMMIT


def test_a_deleted_topic_needs_no_marker():
    gate = Gate()
    gate.end(gate.started())
    gate.open()
    gate.answer_markers(errors.UnknownTopicOrPartition.code)
    gate.delete_topic("t")
    assert gate.world.run_until(lambda: gate.state() == COMPLETE_COMMIT)


def test_a_partition_that_is_past_the_transaction_does_not_hold_it_up():
    gate = Gate()
    gate.end(gate.started())
    gate.open()
    gate.answer_markers(codes={("t", 0): errors.InvalidProducerEpoch.code})
    assert gate.state() == COMPLETE_COMMIT


def test_a_coordinator_that_was_replaced_stops():
    gate = Gate()
    gate.end(gate.started())
    gate.open()
    gate.answer_markers(errors.TransactionCoordinatorFenced.code)
    gate.world.run_for(10_000)
    assert not gate.network.sent
    assert gate.state() == PREPARE_COMMIT


def test_a_completion_that_could_not_be_written_is_tried_again():
    gate = Gate()
    gate.logs.update_topic_config(TOPIC, {"min.insync.replicas": "2"})
    gate.replicas.update_topic_config(TOPIC)
    gate.end(gate.started())
    gate.open()
    gate.in_sync(NODE)
    gate.answer_markers()
    assert gate.state() == PREPARE_COMMIT
    assert gate.transactions.unwritten_completions == 1
    gate.in_sync(NODE, OTHER)
    assert gate.world.run_until(lambda: gate.network.sent), "the markers go out once more, which does no harm"
    gate.answer_markers()
    assert gate.state() == COMPLETE_COMMIT
    assert gate.transactions.unwritten_completions == 0


def test_markers_of_one_moment_go_out_together():
    gate = Gate(replicas=(NODE,))
    producers = {name: gate.started(name) for name in "abc"}
    gate.on_reactor(
        lambda: [
            setattr(gate.loop.spawn(gate.transactions.end(name, producer, True, 2)), "is_observed", True)
            for name, producer in producers.items()
        ]
    )
    gate.world.run_for(1)
    (request,) = gate.answer_markers()
    assert len(request.markers) == 3
    assert {gate.state(name) for name in "abc"} == {COMPLETE_COMMIT}


@pytest.mark.parametrize("seed", range(30))
def test_whatever_becomes_of_the_tail_an_answer_was_true(seed):
    """The gate opens by chance, the lead is lost by chance with what was not committed: T4, and no answer is a lie."""
    chance = random.Random(seed)
    gate = Gate(seed)
    promised = {}  # by stamp: how the producer was told that it ended
    marked = {}
    for _ in range(15):
        producer = None
        while producer is None:
            producer = _try_init(gate, chance, marked)
        now = gate.shard.now()
        gate.on_reactor(
            lambda one=producer, at=now: gate.shard.run(lambda core: core.add_partitions(at, "a", one, [("t", 0)], 2))
        ).is_observed = True
        is_commit = chance.random() < 0.5
        ended = gate.end(producer, is_commit)
        _something_happens(gate, chance)
        _deliver(gate, marked)
        if ended.is_done and ended.error is None:
            assert promised.setdefault(producer, is_commit) == is_commit
    for _ in range(50):
        gate.open()
        _deliver(gate, marked)
        gate.world.run_for(100)
    for (producer_id, epoch), is_commit in promised.items():
        assert marked[producer_id, epoch + 1] == is_commit, "the markers are what the producer was told"


def _try_init(gate, chance, marked):
    init = gate.init()
    _something_happens(gate, chance)
    gate.open()
    _deliver(gate, marked)
    return init.value() if init.is_done and init.error is None else None


def _something_happens(gate, chance):
    log = gate.partition(TOPIC).log
    what = chance.random()
    if what < 0.6:
        gate.open(chance.randint(log.high_watermark, log.log_end_offset))
    elif what < 0.8:
        gate.lose_tail(chance.randint(log.high_watermark, log.log_end_offset))


def _deliver(gate, marked):
    for _, request, _ in gate.network.sent:
        for marker in request.markers:
            stamp = (marker.producer_id, marker.producer_epoch)
            assert marked.setdefault(stamp, marker.transaction_result) == marker.transaction_result, "two decisions"
    gate.answer_markers()


# What a leader asks


def add_answer(request, codes):
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id,
                topic_results=[
                    AddPartitionsToTxnTopicResult(
                        name=topic.name,
                        results_by_partition=[
                            AddPartitionsToTxnPartitionResult(
                                partition_index=index, partition_error_code=codes.get(index, 0)
                            )
                            for index in topic.partitions
                        ],
                    )
                    for topic in transaction.topics
                ],
            )
            for transaction in request.transactions
        ]
    )


def ask(gate, *questions):
    def work():
        asked = [
            gate.transactions.add_or_verify(transactional_id, 1, epoch, ("t", index), is_add=is_add)
            for transactional_id, epoch, index, is_add in questions
        ]
        for each in asked:
            each.is_observed = True
        return asked

    asked = gate.on_reactor(work)
    gate.world.run_for(1)
    return asked


def test_questions_of_one_moment_are_one_request():
    gate = Gate()
    asked = ask(gate, ("a", 0, 0, True), ("a", 0, 1, True), ("b", 0, 2, False))
    ((node_id, request, answered),) = gate.network.take()
    assert node_id == NODE
    assert [(each.transactional_id, each.verify_only) for each in request.transactions] == [("a", False), ("b", True)]
    assert request.transactions[0].topics[0].partitions == [0, 1]
    gate.on_reactor(lambda: answered.resolve(add_answer(request, {1: errors.ProducerFenced.code})))
    gate.world.run_for(1)
    assert asked[0].error is None
    assert isinstance(asked[1].error, errors.ProducerFenced)
    assert asked[2].is_done


def test_how_long_questions_took_and_how_many_were_refused_is_counted():
    gate = Gate()
    registry = Registry()
    register_transactions(registry, gate.transactions)
    times = registry.find("kafka.server", "AddPartitionsToTxnManager", "VerificationTimeMs")
    failures = registry.find("kafka.server", "AddPartitionsToTxnManager", "VerificationFailureRate")
    ask(gate, ("a", 0, 0, True), ("a", 0, 1, True), ("b", 0, 2, False))
    ((_, request, answered),) = gate.network.take()
    gate.world.run_for(40)
    gate.on_reactor(lambda: answered.resolve(add_answer(request, {1: errors.ProducerFenced.code})))
    gate.world.run_for(1)
    assert (times.count, failures.count) == (1, 1)
    assert 40 <= times.maximum <= 45
    ask(gate, ("a", 0, 0, True), ("b", 0, 2, False))
    ((_, _, unreachable),) = gate.network.take()
    gate.on_reactor(lambda: unreachable.fail(errors.RequestTimedOut()))
    gate.world.run_for(1)
    assert (times.count, failures.count) == (2, 3)


def test_questions_of_two_epochs_are_asked_one_after_the_other():
    gate = Gate()
    asked = ask(gate, ("a", 0, 0, True), ("a", 1, 0, True))
    for epoch in (0, 1):
        ((_, request, answered),) = gate.network.take()
        assert [each.producer_epoch for each in request.transactions] == [epoch]
        gate.on_reactor(lambda one=answered, two=request: one.resolve(add_answer(two, {})))
        gate.world.run_for(1)
    assert all(each.is_done and each.error is None for each in asked)


def test_a_coordinator_that_cannot_be_reached():
    gate = Gate()
    (asked,) = ask(gate, ("a", 0, 0, True))
    ((_, _, answered),) = gate.network.take()
    gate.on_reactor(lambda: answered.fail(errors.BrokerNotAvailable()))
    gate.world.run_for(1)
    assert isinstance(asked.error, errors.BrokerNotAvailable)
    gate.delete_topic(TOPIC)
    (asked,) = ask(gate, ("a", 0, 0, True))
    assert isinstance(asked.error, errors.CoordinatorNotAvailable)
