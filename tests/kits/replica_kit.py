"""A broker's data plane without its network: real logs, replica manager, handlers and codec, on ports of either kind.

`ask` sends a request through the dispatcher as a frame and gives the decoded answer. The frame is overwritten as soon
as the handler has returned, as the network does with its receive buffer.
"""

from itertools import count

from handler_kit import broker_services, common_services
from log_kit import batch
from manager_kit import CrashedError, SimBroker, layers
from odradek.handlers.dispatch import Dispatcher
from odradek.log.manager.manager import LogManager
from odradek.metadata import image as images
from odradek.metadata.delta import MetadataDelta
from odradek.metrics.registry import Registry
from odradek.protocol import apis, releases
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from odradek.protocol.messages.metadata_topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from odradek.protocol.whole import decode_response, encode_request
from odradek.reactor.adapters import system_ports
from odradek.reactor.file_range import FileRange
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.replica.config import ReplicaConfig
from odradek.replica.manager import ReplicaManager

NODE = 1
NOW = 1_700_000_000_000


class Connection:
    """Who asks, as far as a handler looks."""

    is_closed = False
    is_privileged = False
    listener = "PLAINTEXT"
    principal = "User:ANONYMOUS"
    address = ("127.0.0.1", 50000)
    id = "test"


class DataPlane:
    """What both machines have in common. A subclass gives `loop`, `logs`, `run` and `wait`."""

    def put_together(self, release="4.3", **options):
        self.release = releases.by_name(release)
        self.metrics = Registry(self.loop.ports.clock.mono_ms)
        self.replicas = ReplicaManager(
            self.loop,
            self.logs,
            NODE,
            ReplicaConfig.from_config(self.logs.topic_configs.layers.config),
            self.metrics,
            release=self.release,
            **options,
        )
        self.unexpected = []  # what handlers raised that is no error of the protocol
        common = common_services(
            self.loop, release=self.release, on_error=lambda call, error: self.unexpected.append(error)
        )
        self.services = broker_services(common, replicas=self.replicas, logs=self.logs)
        self.dispatcher = Dispatcher(self.services)
        self.image = images.EMPTY
        self.ids = count(1000)
        self.topic_ids = {}
        self.connection = Connection()
        self.apply([])

    # Metadata.

    def apply(self, records):
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.offset + len(records), 1)
        return self.run(self.replicas.apply(delta, self.image))

    def create_topic(self, name="t", partitions=1, replicas=(NODE,), isr=None, leader=NODE, leader_epoch=0, **configs):
        if configs:
            overrides = {key.replace("_", "."): str(value) for key, value in configs.items()}
            self.logs.update_topic_config(name, overrides)
        topic_id = Uuid(next(self.ids).to_bytes(16, "big"))
        self.topic_ids[name] = topic_id
        records = [
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=list(replicas),
                isr=list(isr or replicas),
                leader=leader,
                leader_epoch=leader_epoch,
            )
            for index in range(partitions)
        ]
        records.insert(0, TopicRecord(name=name, topic_id=topic_id))
        self.apply(records)
        return topic_id

    def delete_topic(self, name):
        self.apply([RemoveTopicRecord(topic_id=self.topic_ids.pop(name))])

    def partition(self, name="t", index=0):
        return self.replicas.partition(name, index)

    def log(self, name="t", index=0):
        return self.replicas.partition(name, index).log

    # Requests.

    client_id = "kit"

    def frame(self, request, version):
        header_version = apis.by_key(request.api_key).request_header_version(version)
        assert header_version in (1, 2)
        header = RequestHeader(
            request_api_key=request.api_key, request_api_version=version, correlation_id=7, client_id=self.client_id
        )
        return memoryview(bytearray(b"".join(bytes(part) for part in encode_request(header, request))))

    def send(self, request, version):
        """What the dispatcher answers: parts, None or a Pending; the frame is dead after that."""
        frame = self.frame(request, version)
        try:
            return self.dispatcher.serve(self.connection, frame)
        finally:
            frame[:] = b"\xee" * len(frame)

    def decode(self, parts, request, version):
        if parts is None:
            return None
        whole = b"".join(_bytes(part) for part in parts)
        assert len(whole) == int.from_bytes(whole[:4], "big") + 4
        return decode_response(whole[4:], request.api_key, version)[1]

    def ask(self, request, version):
        answer = self.on_reactor(lambda: self.send(request, version))
        parts = self.wait(answer) if isinstance(answer, Pending) else answer
        if self.unexpected:
            raise self.unexpected[0]
        return self.decode(parts, request, version)

    # The two that most tests are about.

    def produce(self, *values, topic="t", index=0, acks=-1, version=9, records=None, timeout_ms=1000, **fields):
        if records is None:
            records = batch(*(value.encode() for value in values), **fields)
        response = self.ask(self.produce_request(records, topic, index, acks, version, timeout_ms), version)
        return None if response is None else response.responses[0].partition_responses[0]

    def produce_request(self, records, topic="t", index=0, acks=-1, version=9, timeout_ms=1000, transactional_id=None):
        data = TopicProduceData(partition_data=[PartitionProduceData(index=index, records=records)])
        self._name(data, "name", topic, version >= 13)
        return ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, topic_data=[data])

    def fetch_request(self, *wanted, version=12, forget=(), session=(0, -1), max_wait_ms=0, min_bytes=1, **fields):
        """`wanted` are (topic, index, offset) or (topic, index, offset, max bytes)."""
        topics = []
        for topic, index, offset, *rest in wanted:
            asked = FetchPartition(
                partition=index, fetch_offset=offset, partition_max_bytes=rest[0] if rest else 1 << 20
            )
            for field in ("current_leader_epoch", "last_fetched_epoch"):
                if field in fields:
                    setattr(asked, field, fields[field])
            made = FetchTopic(partitions=[asked])
            self._name(made, "topic", topic, version >= 13)
            topics.append(made)
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=fields.get("max_bytes", 1 << 24),
            isolation_level=fields.get("isolation_level", 0),
            topics=topics,
        )
        if version >= 7:
            request.session_id, request.session_epoch = session
            for topic, index in forget:
                forgotten = ForgottenTopic(partitions=[index])
                self._name(forgotten, "topic", topic, version >= 13)
                request.forgotten_topics_data.append(forgotten)
        if version < 15:
            request.replica_id = fields.get("replica_id", -1)
        elif "replica_id" in fields:  # a consumer sends none
            request.replica_state = ReplicaState(replica_id=fields["replica_id"])
        return request

    def fetch(self, *wanted, version=12, **fields):
        return self.ask(self.fetch_request(*wanted, version=version, **fields), version)

    def fetch_one(self, topic="t", index=0, offset=0, version=12, **fields):
        return self.fetch((topic, index, offset), version=version, **fields).responses[0].partitions[0]

    def _name(self, message, field, topic, by_id):
        if by_id:
            message.topic_id = self.topic_ids.get(topic, Uuid(b"?" * 16))
        else:
            setattr(message, field, topic)


def _bytes(part):
    if not isinstance(part, FileRange):
        return bytes(part)
    try:
        return part.disk_file.pread(part.size, part.position)
    finally:
        part.release()


class SimPlane(SimBroker, DataPlane):
    def __init__(self, *, release="4.3", seed=1, dirs=("data/a",), options=None, **configs):
        super().__init__(seed=seed, dirs=dirs, release=release, **configs)
        self.options = options or {}
        self.start()
        self.logs = self.manager
        self.put_together(release, **self.options)

    def wait(self, pending):
        pending.is_observed = True
        assert self.world.run_until(lambda: pending.is_done or not self.node.is_up), "it never ends"
        if not self.node.is_up:
            raise CrashedError
        return pending.value()


class RealPlane(DataPlane):
    """On this machine's disk, in directories of the test's."""

    def __init__(self, *dirs, release="4.3", **configs):
        self.ports = system_ports(threads=4)
        self.loop = Loop(self.ports)
        self.logs = LogManager(self.loop, layers(release, **configs), log_dirs=[str(path) for path in dirs])
        self.run(self.logs.start())
        self.put_together(release)

    def run(self, coroutine):
        return self.loop.run_until(self.loop.spawn(coroutine))

    def wait(self, pending):
        return self.loop.run_until(pending)

    def on_reactor(self, work):
        return work()

    def close(self):
        self.run(self.replicas.stop())
        self.run(self.logs.stop())
        self.ports.executor.close()
        self.loop.close()
