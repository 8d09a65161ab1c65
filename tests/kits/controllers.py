"""A controller on a quorum of one that lives in memory: the port, with commits and losses at the test's command."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from odradek.config import broker as broker_configs
from odradek.controller.config import ControllerConfig
from odradek.controller.core import ControllerCore
from odradek.controller.quorum_controller import QuorumController
from odradek.metadata.versions import METADATA_VERSION
from odradek.protocol import releases
from odradek.protocol.errors import NotController
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.k62_broker_registration import BrokerRegistrationRequest, Feature, Listener
from odradek.protocol.messages.k63_broker_heartbeat import BrokerHeartbeatRequest
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.raft.listener import CommittedBatch
from odradek.sim.world import World

CLUSTER_ID = "AAECAwQFBgcICQoLDA0ODw"


class MemoryQuorum:
    """Batches as bytes, as a quorum would keep them. An append is committed later, never inside the call."""

    def __init__(self, loop: Any, leader_id: int = 1) -> None:
        self._loop = loop
        self.batches: list[tuple[int, list[bytes], int]] = []  # base offset, records, epoch
        self.log_end_offset = 0
        self.high_watermark = 0
        self.kraft_version = 1
        self.epoch = 0
        self.leader_id: int | None = None
        self.is_committing = True
        self.append_error: Exception | None = None
        self._node_id = leader_id
        self._listeners: list[list[Any]] = []  # listener, next offset, leader change that it was told

    def register(self, listener: Any) -> None:
        self._listeners.append([listener, 0, None])
        self._tell()

    def unregister(self, listener: Any) -> None:
        self._listeners = [entry for entry in self._listeners if entry[0] is not listener]

    def elect(self) -> None:
        self.epoch += 1
        self.leader_id = self._node_id
        self._add([], 1)  # the record with which every epoch begins
        self.high_watermark = self.log_end_offset
        self._tell()

    def lose_leadership(self, *, keep: int | None = None) -> None:
        """Another node leads; of the uncommitted tail it has the records up to the offset `keep`."""
        end = self.high_watermark if keep is None else max(keep, self.high_watermark)
        self.batches = [batch for batch in self.batches if batch[0] < end]
        self.log_end_offset = max((base + max(1, len(items)) for base, items, _ in self.batches), default=0)
        self.epoch += 1
        self.leader_id = self._node_id + 1
        self.high_watermark = self.log_end_offset
        self._tell()

    def append(self, epoch: int, records: Sequence[Any]) -> int:
        return self.append_encoded(epoch, [self.encode(record) for record in records])

    def encode(self, record: Any) -> bytes:
        return METADATA.encode(*record)

    def append_encoded(self, epoch: int, encoded: Sequence[bytes]) -> int:
        if self.append_error is not None:
            raise self.append_error
        if epoch != self.epoch or self.leader_id != self._node_id:
            raise NotController()
        self._add(list(encoded), len(encoded))
        if self.is_committing:
            self._loop.soon(lambda _: self.is_committing and self.commit())
        return self.log_end_offset - 1

    def commit(self, offset: int | None = None) -> None:
        """Everything, or the batches that begin below the offset."""
        self.high_watermark = self.log_end_offset if offset is None else offset
        self._tell()

    def messages(self, below: int | None = None) -> list[Any]:
        end = self.log_end_offset if below is None else below
        return [METADATA.decode(item)[0] for base, items, _ in self.batches if base < end for item in items]

    def _add(self, items: list[bytes], count: int) -> None:
        self.batches.append((self.log_end_offset, items, self.epoch))
        self.log_end_offset += count

    def _tell(self) -> None:
        for entry in self._listeners:
            listener, next_offset, told = entry
            for base, items, epoch in self.batches:
                last = base + max(1, len(items)) - 1
                if base >= next_offset and last < self.high_watermark:
                    entry[1] = last + 1
                    decoded = [METADATA.decode(item)[0] for item in items]
                    listener.handle_commit(CommittedBatch(base, last, epoch, 0, decoded))
            leader = (self.leader_id, self.epoch)
            if leader != told and leader[0] is not None:
                entry[2] = leader
                listener.handle_leader_change(*leader)


class Harness:
    """A node of a simulated world with an active controller, and what a test wants to do with it."""

    STATIC: ClassVar[dict[str, str]] = {
        "node.id": "1",
        "process.roles": "broker,controller",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }

    def __init__(self, seed: int = 1, release: Any = releases.RELEASE_4_3, **configs: str) -> None:
        self.world = World(seed)
        self.node = self.world.node("controller")
        self.loop = self.node.boot()
        self.release = release
        self.faults: list[BaseException] = []
        self.static = {**self.STATIC, **configs}
        self.quorum = MemoryQuorum(self.loop)
        self.is_own_lock_held = False
        self.controller = self.make_controller()
        self.controller.start()
        self.quorum.elect()

    def make_controller(self) -> QuorumController:
        level = self.release.finalized_at_format[METADATA_VERSION]
        return QuorumController(
            self.loop,
            self.quorum,
            node_id=1,
            cluster_id=CLUSTER_ID,
            release=self.release,
            static_configs=self.static,
            config=ControllerConfig.from_config(broker_configs.TABLE.parse(self.static, self.release.name)).replace(
                idle_interval_ms=0
            ),
            bootstrap=[(FeatureLevelRecord(name=METADATA_VERSION, feature_level=level), 0)],
            on_fault=self.faults.append,
            is_own_lock_held=lambda: self.is_own_lock_held,
        )

    @property
    def core(self) -> ControllerCore:
        return self.controller.core

    def run(self, event: Callable[[ControllerCore], Any]) -> Any:
        return self.done(self.controller.run(event))

    def done(self, pending: Any) -> Any:
        pending.is_observed = True
        self.node.attend()  # what was queued from outside of a turn
        assert self.world.run_until(lambda: pending.is_done, 60_000), "no answer within a minute"
        return pending.value()

    # Brokers

    def register(self, broker_id: int, **fields: Any) -> int:
        """Its broker epoch."""
        return self.done(self.controller.register_broker(self.registration(broker_id, **fields))).broker_epoch

    def registration(self, broker_id: int, incarnation: int = 0, **fields: Any) -> BrokerRegistrationRequest:
        return self.request_to_register(self.release, broker_id, incarnation, **fields)

    @staticmethod
    def request_to_register(
        release: Any, broker_id: int, incarnation: int = 0, **fields: Any
    ) -> BrokerRegistrationRequest:
        defaults = {
            "broker_id": broker_id,
            "cluster_id": CLUSTER_ID,
            "incarnation_id": bytes([broker_id, incarnation]) * 8,
            "listeners": [Listener(name="PLAINTEXT", host="localhost", port=9092)],
            "features": [
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in release.supported_features(4).items()
            ],
            "rack": None,
            "log_dirs": [bytes([100 + broker_id]) * 16] if release.has_directory_id else [],
        }
        return BrokerRegistrationRequest(**{**defaults, **fields})

    def beat(self, broker_id: int, **fields: Any) -> Any:
        epoch = self.core.cluster.brokers[broker_id].epoch
        request = BrokerHeartbeatRequest(
            **{
                "broker_id": broker_id,
                "broker_epoch": epoch,
                "current_metadata_offset": self.quorum.log_end_offset,
                **fields,
            }
        )
        return self.done(self.controller.heartbeat(request))

    def brokers(self, *broker_ids: int, racks: dict[int, str] | None = None) -> None:
        """Registered and unfenced."""
        for broker_id in broker_ids:
            self.register(broker_id, rack=(racks or {}).get(broker_id))
            assert not self.beat(broker_id).is_fenced

    def pass_ms(self, milliseconds: int, alive: Sequence[int] = ()) -> None:
        """Time passes; these brokers send their heartbeats."""
        for _ in range(milliseconds // 1000):
            self.world.run_for(1000)
            for broker_id in alive:
                self.beat(broker_id)

    # Topics

    def create(self, name: str, partitions: int = 1, replicas: int = 1, **configs: str) -> Any:
        """The result of the one topic."""
        request = self.request_to_create(name, partitions, replicas, **configs)
        return self.run(lambda core: core.create_topics(request)).topics[0]

    @staticmethod
    def request_to_create(name: str, partitions: int = 1, replicas: int = 1, **configs: str) -> CreateTopicsRequest:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replicas,
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
        )
        return CreateTopicsRequest(topics=[topic])

    def partition(self, name: str, index: int = 0) -> Any:
        return self.core.topics.by_name[name].partitions[index]


def state_of(core: ControllerCore) -> dict[str, Any]:
    """Everything that records make, for comparison."""
    return {
        "brokers": core.cluster.brokers,
        "controllers": core.cluster.controllers,
        "topics": {topic.name: (topic.id, topic.partitions) for topic in core.topics.by_id.values()},
        "in_sync": {broker: set(places) for broker, places in core.topics.in_sync.items()},
        "leaderless": set(core.topics.leaderless),
        "features": core.features.finalized,
        "configs": core.configs.by_key,
        "acls": core.acls.by_key,
        "quotas": core.client_quotas.by_key,
        "scram": core.scram.by_key,
        "producer_ids": core.producer_ids.next_producer_id,
    }
