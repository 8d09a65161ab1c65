"""A whole `ProducerSession` in the simulator, and scripted brokers that hold a log each and do as they are told."""

from channel_kit import CLOSE, SILENT, ScriptedBroker, SimOutside, answer_bytes, cluster_of
from odradek.client.producer.opening import opened
from odradek.client.producer.producer_record import ProducerRecord
from odradek.client.producer.session import producer_session
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.records.batch import sole_batch

CONFIGS = {
    "client.id": "me",
    "linger.ms": 0,
    "batch.size": 200,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 50,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 50,
    "request.timeout.ms": 500,
    "delivery.timeout.ms": 30_000,
    "max.block.ms": 5000,
    "metadata.recovery.strategy": "none",
}


class LogBroker(ScriptedBroker):
    """Appends what it gets, as a broker that checks numbers does. `faults` are taken one after the other, for the
    Produce requests that come: a name of what goes wrong, or None.

        "lose"    it is written, and not answered
        "drop"    it is not written, and the connection is closed
        "cut"     it is written, and the connection is closed in the middle of the answer
        "late"    it is written, and answered with a throttle time
        an error  it is not written, and that is the answer
    """

    def __init__(self, outside, cluster, node_id=1, **options):
        super().__init__(outside, node_id, name=f"broker-{node_id}", **options)
        self.cluster = cluster
        self.faults = []
        self.answers(ProduceRequest, self.produce)
        self.answers(MetadataRequest, lambda _: cluster.metadata())
        self.answers(FindCoordinatorRequest, SILENT)
        self.answers(InitProducerIdRequest, lambda asked: cluster.identify(asked.request))

    def produce(self, asked):
        fault = self.faults.pop(0) if self.faults else None
        if fault == "drop":
            return CLOSE
        if isinstance(fault, type):
            return self.answer_of(asked.request, lambda data: refused(data, fault))
        response = self.answer_of(asked.request, self.write)
        if fault == "lose":
            return SILENT
        if fault == "cut":
            return self.cut(asked, response)
        if fault == "late":
            response.throttle_time_ms = 200
        return response if asked.request.acks else SILENT

    def cut(self, asked, response):
        data = answer_bytes(asked, response)
        asked.connection.send(data[: len(data) // 2])
        return CLOSE

    def answer_of(self, request, write):
        found = [
            TopicProduceResponse(name=topic.name, partition_responses=[write(data) for data in topic.partition_data])
            for topic in request.topic_data
        ]
        return ProduceResponse(responses=found)

    def write(self, data):
        if self.cluster.leaders[data.index] != self.node_id:
            return refused(data, errors.NotLeaderOrFollower)
        code, offset = self.cluster.append(data.index, sole_batch(data.records))
        return PartitionProduceResponse(index=data.index, error_code=code, base_offset=offset)


def refused(data, error):
    return PartitionProduceResponse(index=data.index, error_code=error.code)


class ScriptedCluster:
    """Topic "t"; `logs` has the values of each partition."""

    def __init__(self, outside, leaders=(1,), nodes=(1,)):
        self.leaders = list(leaders)
        self.logs = {partition: [] for partition in range(len(leaders))}
        self.told = True  # whether metadata has the topic
        self._next = {}
        self._written = {}
        self._ids = 6
        self.brokers = {node_id: LogBroker(outside, self, node_id) for node_id in nodes}

    def __getitem__(self, node_id):
        return self.brokers[node_id]

    def metadata(self):
        nodes = [broker.node for broker in self.brokers.values()]
        return cluster_of(*nodes, topics=[("t", self.leaders)] if self.told else [])

    def identify(self, request):
        self._ids += 1
        return InitProducerIdResponse(producer_id=self._ids, producer_epoch=0)

    def append(self, partition, batch):
        """(error, offset), as a broker that remembers the batches of a producer."""
        log = self.logs[partition]
        values = [record.value for record in batch.records()]
        if batch.producer_id < 0:
            log += values
            return 0, len(log) - len(values)
        stamp = partition, batch.producer_id, batch.producer_epoch, batch.base_sequence
        if stamp in self._written:
            return 0, self._written[stamp]
        expected = self._next.get((partition, batch.producer_id, batch.producer_epoch), batch.base_sequence)
        if batch.base_sequence != expected:
            return errors.OutOfOrderSequenceNumber.code, -1
        self._next[partition, batch.producer_id, batch.producer_epoch] = batch.base_sequence + len(values)
        self._written[stamp] = len(log)
        log += values
        return 0, self._written[stamp]


class Program:
    """What a program does with its producer, as a task of the simulated loop."""

    def __init__(self, outside, cluster, **configs):
        self.outside = outside
        broker = next(iter(cluster.brokers.values()))
        servers = "{}:{}".format(*broker.listener.address)
        given = {"bootstrap.servers": servers, **CONFIGS, **{k.replace("_", "."): v for k, v in configs.items()}}
        plugins = dict.fromkeys(("key_serializer", "value_serializer", "partitioner"))
        self._opened = opened(given, {}, **plugins, interceptors=())
        wall_ms = outside.loop.ports.clock.wall_ms
        self.session = producer_session(self._opened.settings, clock=wall_ms)(outside.loop)
        self.session.accumulator.is_plain = True
        self.is_closed = False

    def run(self, operation, seconds=60):
        """The outcome of an operation of the session: its value, or its error."""
        return self.outside.outcome(self.outside.loop.spawn(operation), seconds)

    def know(self):
        return self.run(self.session.wait_for_topic("t", None, 5000))

    def send(self, *values, partition=0):
        record = [ProducerRecord("t", value, partition=partition) for value in values]
        prepare = self._opened.preparing.prepared
        return [self.session.append(prepare(each, self.session), 0, None) for each in record]

    def flush(self):
        return self.run(self.session.flush(None))

    def close(self, timeout_ms=1000):
        self.is_closed = True
        return self.run(self.session.close(timeout_ms))


def begun(leaders=(1,), nodes=(1,), **configs):
    """(outside, cluster, program), with the topic known."""
    outside = SimOutside()
    cluster = ScriptedCluster(outside, leaders, nodes)
    program = Program(outside, cluster, **configs)
    assert program.know() is None
    return outside, cluster, program
