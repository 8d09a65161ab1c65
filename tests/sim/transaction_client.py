"""A transactional client on the simulated network, one call per request; it connects again when a connection breaks.

producer = TransactionClient(broker, "client", "tx")     # of transaction version 2; version=1 for an older one
producer.init()
producer.begin()
producer.send("t", 0, b"value")
producer.end(True)
"""

from broker_kit import SimClient
from log_kit import batch
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.protocol.messages.k26_end_txn import EndTxnRequest
from odradek.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from odradek.records.batch import batches

AGAIN = {
    errors.CoordinatorLoadInProgress.code,
    errors.CoordinatorNotAvailable.code,
    errors.NotCoordinator.code,
    errors.ConcurrentTransactions.code,
    errors.NotEnoughReplicas.code,
    errors.NotLeaderOrFollower.code,
    errors.UnknownTopicOrPartition.code,
}
PATIENCE_MS = 30_000
PAUSE_MS = 10


class TransactionClient:
    def __init__(self, broker, name, transactional_id, *, version=2, timeout_ms=60_000):
        self.broker = broker
        self.world = broker.world
        self.name = name
        self.transactional_id = transactional_id
        self.version = version
        self.timeout_ms = timeout_ms
        self.connection = None
        self.stamp = (-1, -1)
        self.sequences = {}
        self.joined = set()

    # Asking

    def ask(self, request, version, code_of=lambda response: response.error_code, *, once=False):
        """The answer; asks again after errors that pass and broken connections, unless `once`."""
        deadline_us = self.world.now_us + PATIENCE_MS * 1000
        while True:
            response = self._answer(request, version)
            if response is not None and (once or code_of(response) not in AGAIN):
                return response
            assert self.world.now_us < deadline_us, f"{request}: {response}"
            self.world.run_for(PAUSE_MS)

    def _answer(self, request, version):
        if self.connection is None or self.connection.is_closed:
            self.connection = SimClient(self.world, self.name, self.broker.address)
        waiting = self.connection.send(request, version)
        self.world.run_until(lambda: waiting.is_done or self.connection.is_closed, PATIENCE_MS)
        return waiting.response

    def find(self, key=None, key_type=1):
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key or self.transactional_id])
        self.ask(request, 6, lambda response: response.coordinators[0].error_code)

    # A producer

    def init(self, *, once=False):
        self.find()
        request = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=self.timeout_ms)
        response = self.ask(request, 5 if self.version == 2 else 4, once=once)
        self.stamp = (response.producer_id, response.producer_epoch)
        self.begin()
        self.sequences = {}
        return response.error_code

    def begin(self):
        self.joined = set()

    def send(self, topic, index, *values, stamp=None, once=False, adds=True):
        place = (topic, index)
        if self.version == 1 and adds and place not in self.joined:
            self.add(topic, index)
        request = self.produce_request(topic, index, *values, stamp=stamp)
        code = self.ask(request, 12 if self.version == 2 else 9, produce_code, once=once)
        code = produce_code(code)
        if code == 0:
            self.joined.add(place)
            self.sequences[place] = self.sequences.get(place, 0) + len(values)
        return code

    def produce_request(self, topic, index, *values, stamp=None):
        producer, epoch = stamp or self.stamp
        sequence = self.sequences.get((topic, index), 0)
        records = batch(*values, producer=producer, epoch=epoch, sequence=sequence, transactional=True)
        data = PartitionProduceData(index=index, records=bytes(records))
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=3000,
            topic_data=[TopicProduceData(name=topic, partition_data=[data])],
        )

    def add_request(self, topic, index):
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.stamp[0],
            v3_and_below_producer_epoch=self.stamp[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[index])],
        )

    def add(self, topic, index, *, once=False):
        return add_code(self.ask(self.add_request(topic, index), 3, add_code, once=once))

    def commit_offset(self, group, topic, index, offset, *, once=False):
        self.find(group, 0)
        if self.version == 1:
            request = AddOffsetsToTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self.stamp[0],
                producer_epoch=self.stamp[1],
                group_id=group,
            )
            self.ask(request, 3)
        committed = TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=self.stamp[0],
            producer_epoch=self.stamp[1],
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[committed])],
        )
        response = self.ask(request, 5 if self.version == 2 else 3, offset_code, once=once)
        return offset_code(response)

    def end_request(self, is_commit, stamp=None):
        producer, epoch = stamp or self.stamp
        return EndTxnRequest(
            transactional_id=self.transactional_id, producer_id=producer, producer_epoch=epoch, committed=is_commit
        )

    def end(self, is_commit, *, stamp=None, once=False):
        response = self.ask(self.end_request(is_commit, stamp), 5 if self.version == 2 else 3, once=once)
        if response.error_code == 0 and self.version == 2 and stamp is None:
            self.stamp = (response.producer_id, response.producer_epoch)
            self.sequences = {}
        if response.error_code == 0 and stamp is None:
            self.begin()
        return response.error_code

    def marker(self, stamp, is_commit, topic, index, transaction_version, coordinator_epoch=0):
        marker = WritableTxnMarker(
            producer_id=stamp[0],
            producer_epoch=stamp[1],
            transaction_result=is_commit,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[index])],
            coordinator_epoch=coordinator_epoch,
            transaction_version=transaction_version,
        )
        response = self.ask(WriteTxnMarkersRequest(markers=[marker]), 2, lambda response: 0)
        return response.markers[0].topics[0].partitions[0].error_code

    # Looking

    def state(self):
        request = DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        response = self.ask(request, 0, lambda response: response.transaction_states[0].error_code)
        return response.transaction_states[0].transaction_state

    def wait_for(self, state):
        deadline_us = self.world.now_us + PATIENCE_MS * 1000
        while (found := self.state()) != state:
            assert self.world.now_us < deadline_us, f"still {found}"
            self.world.run_for(PAUSE_MS)

    def read(self, topic, index, *, is_committed=True):
        """The values that a consumer gets, from the beginning to the end of what it may read."""
        fetch = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=int(is_committed),
            session_epoch=-1,
            topics=[FetchTopic(topic=topic, partitions=[fetch])],
        )
        response = self.ask(request, 12, lambda response: response.responses[0].partitions[0].error_code)
        partition = response.responses[0].partitions[0]
        return visible(partition) if is_committed else [record.value for _, record in data_records(partition)]

    def offset(self, group, topic, index):
        """The committed offset, -1 without one."""
        self.find(group, 0)
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[index])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
        response = self.ask(request, 8, lambda response: response.groups[0].error_code)
        return response.groups[0].topics[0].partitions[0].committed_offset


def produce_code(response):
    return response.responses[0].partition_responses[0].error_code


def add_code(response):
    return response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code


def offset_code(response):
    return response.topics[0].partitions[0].error_code


def data_records(partition):
    for each in batches(bytes(partition.records or b"")):
        if not each.is_control:
            for record in each.records():
                yield each, record


def visible(partition):
    """What a client does with a read_committed answer: leaves out the aborted ones."""
    aborted = sorted(
        ((each.first_offset, each.producer_id) for each in partition.aborted_transactions or ()), reverse=True
    )
    skipped, found = set(), []
    for each in batches(bytes(partition.records or b"")):
        while aborted and aborted[-1][0] <= each.last_offset:
            skipped.add(aborted.pop()[1])
        if each.is_control:
            skipped.discard(each.producer_id)
        elif not (each.is_transactional and each.producer_id in skipped):
            found += [bytes(record.value) for record in each.records()]
    return found


class BadRoute:
    """Between the transaction coordinator and the leaders: requests get lost, come twice, or wait; answers get lost.

    `fate(request)` draws what becomes of one: "ok", "lost", "answer lost", "twice", "again" (once more, `late_ms`
    later) or "held" (until `release`).
    """

    def __init__(self, broker, fate, late_ms=1000):
        self.loop = broker.server.loop
        self.route = broker.server.broker.replicas.transaction_coordinator._inter_broker
        self.fate = fate
        self.late_ms = late_ms
        self.held = []
        coordinator = broker.server.broker.replicas.transaction_coordinator
        coordinator.marker_sender._inter_broker = self
        coordinator.add_or_verify("none", 0, 0, ("t", 0), is_add=False).is_observed = True
        coordinator._add_partitions_sender._inter_broker = self

    def send(self, node_id, request):
        fate = self.fate(request)
        answered = self.loop.pending()
        if fate == "lost":
            answered.fail(errors.NetworkException())
        elif fate == "held":
            self.held.append((node_id, request, answered))
        else:
            if fate == "twice":
                self._repeat(node_id, request)
            if fate == "again":
                self.loop.after(self.late_ms, lambda: self._repeat(node_id, request))
            self._forward(node_id, request, answered, is_told=fate != "answer lost")
        return answered

    def _repeat(self, node_id, request):
        self.route.send(node_id, request).is_observed = True

    def _forward(self, node_id, request, answered, *, is_told):
        def tell(done):
            answered.resolve(done.value()) if is_told else answered.fail(errors.NetworkException())

        self.route.send(node_id, request).when_done(tell)

    def release(self):
        held, self.held = self.held, []
        for each in held:
            self._forward(*each, is_told=True)
