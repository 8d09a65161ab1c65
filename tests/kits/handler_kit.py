"""What tests of handlers need: a node's services on simulated ports, an image made from records, requests as bytes."""

from odradek.broker.dynamic_config import DynamicBrokerConfig
from odradek.broker.inter_broker import InterBroker
from odradek.broker.server_log import ServerLog
from odradek.handlers import serves as registering
from odradek.handlers.dispatch import Dispatcher
from odradek.handlers.error_counts import ErrorCounts
from odradek.handlers.log_levels import LogLevels
from odradek.handlers.refuse import refuse_by_code
from odradek.handlers.serves import Served
from odradek.handlers.services import BrokerServices, ControllerServices, Services
from odradek.metadata.cache import MetadataCache
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import EMPTY
from odradek.protocol import releases, whole
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.metadata_brokers import BrokerEndpoint, RegisterBrokerRecord
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.protocol.messages.metadata_topics import PartitionRecord, TopicRecord
from odradek.security.principal import ANONYMOUS
from odradek.sim.world import World

NODE = 1
LISTENER = "PLAINTEXT"
CLUSTER_ID = "AAECAwQFBgcICQoLDA0ODw"
STATIC = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "auto.create.topics.enable": "false",
}


def register(monkeypatch, request, handler, *, kind=releases.BROKER, refuse=refuse_by_code, allow=None, is_read=False):
    """Has this function answer an API for the length of a test, in the place of whatever serves it."""
    served = Served(request, request.versions, handler, refuse, allow, is_read=is_read)
    monkeypatch.setitem(registering._SERVED, (kind, request.api_key), served)


class Peer:
    """The connection of a client, as a handler sees it."""

    def __init__(self, listener=LISTENER, principal=ANONYMOUS):
        self.listener = listener
        self.principal = principal
        self.address = ("127.0.0.1", 50000)
        self.id = "127.0.0.1:9092-127.0.0.1:50000-0"
        self.client_software_name = self.client_software_version = ""
        self.authenticator = None
        self._when_closed = []

    def when_closed(self, callback):
        self._when_closed.append(callback)

    def forget_when_closed(self, callback):
        if callback in self._when_closed:
            self._when_closed.remove(callback)

    def close(self):
        for callback in tuple(self._when_closed):
            callback()


class Rights:
    """An authorizer that allows what is listed, to everybody."""

    def __init__(self, *allowed):
        self.allowed = set(allowed)

    def authorize(self, call, operation, resource_type, name):
        return (operation, resource_type, name) in self.allowed


class Quorum:
    """What handlers ask a quorum whose metadata log has no voters in it."""

    kraft_version = 0
    leader_and_epoch = (NODE, 1)


def common_services(loop, **parts):
    """What every node has; a test gives the parts that its requests need."""
    given = {
        "node_id": NODE,
        "cluster_id": CLUSTER_ID,
        "release": releases.RELEASE_4_3,
        "configs": None,
        "metadata": MetadataCache(),
        "raft": Quorum(),
        "error_counts": ErrorCounts(),
        "log_levels": LogLevels(),
        "on_error": lambda call, error: None,
        "warn": lambda line: None,
    }
    return Services(loop, **{**given, **parts})


def broker_services(common, **parts):
    """What a broker has; a test gives the parts that its requests need."""
    names = ("logs", "replicas", "groups", "transactions", "shares", "inter_broker", "producer_ids")
    return BrokerServices(common, **{**dict.fromkeys(names), **parts})


class Handlers:
    """A dispatcher over real parts; `ask` answers with the decoded response."""

    def __init__(self, *records, release=releases.RELEASE_4_3, static=None, kind=releases.BROKER):
        self.world = World(1)
        self.node = self.world.node("broker")
        self.loop = self.node.boot()
        self.errors = []
        self.lines = []
        log = ServerLog(lambda: 0, lambda *line: self.lines.append(line)).logger("kafka.server.DynamicBrokerConfig")
        self.configs = DynamicBrokerConfig({**STATIC, **(static or {})}, release.name, log)
        self.cache = MetadataCache()
        self.inter_broker = InterBroker(self.loop, NODE, release)
        common = common_services(
            self.loop,
            release=release,
            configs=self.configs,
            metadata=self.cache,
            on_error=lambda call, error: self.errors.append(error),
        )
        self.controller = Dispatcher(ControllerServices(common, controller=None))
        self.broker = Dispatcher(broker_services(common, inter_broker=self.inter_broker))
        self.dispatcher = self.broker if kind == releases.BROKER else self.controller
        self.services = self.dispatcher.services
        self.replay(*records)

    def replay(self, *records):
        """Adds records to the image, and takes over what they say about this broker's configs."""
        image = self.cache.image
        delta = MetadataDelta(image)
        for record in records:
            delta.replay(record)
        self.cache.set_image(delta.apply(image.offset + len(records), 1) if records else EMPTY)
        self.configs.update(self.cache.configs(4, ""), self.cache.configs(4, str(NODE)))

    def ask(self, request, version, peer=None, client_id="tester"):
        frame = framed(request, version, client_id)
        answer = self.dispatcher.serve(peer or Peer(), memoryview(frame))
        return decoded(self.settled(answer), request.api_key, version)

    def settled(self, answer):
        """What a Pending comes to; the world runs on until it is there."""
        if isinstance(answer, list) or answer is None:
            return answer
        answer.is_observed = True
        self.node.attend()  # what was queued outside of a turn
        assert self.world.run_until(lambda: answer.is_done), "nobody answered"
        return answer.value()


def framed(request, version, client_id="tester", correlation_id=7):
    header = RequestHeader(
        request_api_key=request.api_key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return b"".join(whole.encode_request(header, request))


def decoded(parts, api_key, version, correlation_id=7):
    frame = b"".join(bytes(part) for part in parts)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, response = whole.decode_response(frame, api_key, version, at=4)
    assert header.correlation_id == correlation_id
    return response


def features(**levels):
    return [FeatureLevelRecord(name=name.replace("_", "."), feature_level=level) for name, level in levels.items()]


def broker(number=NODE, *, fenced=False, listeners=(LISTENER,), rack=None, directories=()):
    return RegisterBrokerRecord(
        broker_id=number,
        incarnation_id=Uuid(bytes([number]) * 16),
        broker_epoch=number,
        end_points=[
            BrokerEndpoint(name=name, host=f"host{number}", port=9000 + number + 100 * at, security_protocol=0)
            for at, name in enumerate(listeners)
        ],
        rack=rack,
        fenced=fenced,
        log_dirs=[Uuid(directory) for directory in directories],
    )


def topic(name, *partitions, number=None):
    """Records of a topic; a partition is (replicas, leader) or (replicas, leader, isr, directories)."""
    topic_id = topic_id_of(name)
    records = [TopicRecord(name=name, topic_id=topic_id)]
    for index, (replicas, leader, *more) in enumerate(partitions or [([NODE], NODE)]):
        isr = more[0] if more else replicas
        record = PartitionRecord(
            partition_id=index, topic_id=topic_id, replicas=replicas, isr=isr, leader=leader, leader_epoch=3
        )
        if len(more) > 1:
            record.directories = [Uuid(directory) for directory in more[1]]
        records.append(record)
    return records


def topic_id_of(name):
    return Uuid(name.encode().ljust(16, b"-")[:16])
