"""What the records of the metadata log amount to for the controller, and what every decision asks about it.

`replay` is the only writer: state built from a snapshot and the records behind it equals state built from all records.
What records do is said in `metadata/`, once for the controller and for the images (docs/decisions/0012); here are the
indexes that decisions need. One thing is not in the log: when a broker was last heard of (`sessions.py`).

The parts: `cluster` who is there, `topics` what they hold, `features`, `configs`, `acls`, `client_quotas`, `scram` and
`producer_ids`.
"""

from collections.abc import Iterable, Mapping, Sequence

from odradek.broken_rule import BrokenRuleError, require
from odradek.config.vocabulary import TOPIC
from odradek.controller.acls import Acls
from odradek.controller.cluster import Cluster
from odradek.controller.configs import Configs
from odradek.controller.features import Features
from odradek.controller.producer_ids import ProducerIds
from odradek.controller.sessions import Sessions
from odradek.controller.topics import Topics
from odradek.metadata import versions
from odradek.metadata.client_quotas import ClientQuotasReplay, Entity, Quotas
from odradek.metadata.entries import EntriesInPlace
from odradek.metadata.partition import NO_LEADER, PartitionRegistration
from odradek.metadata.record_versions import Versioned, version_of
from odradek.metadata.replay import SHARED_REPLAYS, Parts, Replays, no_place
from odradek.metadata.scram import MechanismAndUser, ScramCredential, ScramReplay
from odradek.metadata.transaction import TRANSACTION_RECORDS, MetadataTransaction
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
    ZkMigrationStateRecord,
)
from odradek.protocol.releases import Release
from odradek.reactor.ports import Stream

_TOPIC_ID_TRIES = 10
_DASH = 62  # the value that base64 writes as a dash

# What nobody decides upon here is kept by the images alone.
_REPLAYS: Replays[Parts] = {
    **SHARED_REPLAYS,
    ZkMigrationStateRecord: lambda parts, record: None,
    DelegationTokenRecord: lambda parts, record: None,
    RemoveDelegationTokenRecord: lambda parts, record: None,
}


class ClientQuotas(EntriesInPlace[Entity, Quotas], ClientQuotasReplay):
    __slots__ = ()


class Scram(EntriesInPlace[MechanismAndUser, ScramCredential], ScramReplay):
    __slots__ = ()


class ControllerState:
    __slots__ = (
        "_transaction",
        "acls",
        "client_quotas",
        "cluster",
        "cluster_id",
        "configs",
        "features",
        "node_id",
        "producer_ids",
        "release",
        "scram",
        "sessions",
        "stream",
        "topics",
    )

    def __init__(
        self,
        *,
        node_id: int,
        cluster_id: str,
        release: Release,
        static_configs: Mapping[str, object],
        stream: Stream,
        session_timeout_ms: int,
    ) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.release = release
        self.stream = stream
        self.cluster = Cluster()
        self.topics = Topics()
        self.features = Features(release, node_id, self.cluster)
        self.configs = Configs(static_configs, release.name, node_id)
        self.producer_ids = ProducerIds()
        self.acls = Acls()
        self.client_quotas = ClientQuotas()
        self.scram = Scram()
        self.sessions = Sessions(session_timeout_ms)
        self._transaction = MetadataTransaction()

    def replay(self, record: Message, offset: int) -> None:
        """The only writer. Records of a metadata transaction count when it ends (KIP-868)."""
        counted: Sequence[Message] = (record,)
        if self._transaction.is_open or type(record) in TRANSACTION_RECORDS:
            counted = self._transaction.take(record, offset)
        for each in counted:
            replay = _REPLAYS.get(type(each))
            if replay is None:
                raise no_place(each)
            replay(self, each)

    # What decisions ask

    @property
    def in_transaction(self) -> bool:
        """Whether a leader before us died in the middle of one: it has to be aborted first."""
        return self._transaction.is_open

    @property
    def is_empty(self) -> bool:
        """Whether no record has said anything about the cluster yet."""
        return not self.features.finalized and not self.cluster.brokers and not self.topics.by_id

    @property
    def has_directories(self) -> bool:
        return self.features.metadata_version >= versions.DIRECTORY_ASSIGNMENT

    def versioned(self, records: Iterable[Message | None]) -> Iterable[Versioned | None]:
        """Each with the version in which the cluster reads it; made one at a time if the records are."""
        level = self.features.metadata_version
        made = (None if record is None else (record, version_of(record, level)) for record in records)
        return list(made) if isinstance(records, Sequence) else made

    def is_unclean_election_enabled(self, topic_id: bytes) -> bool:
        topic = self.topics.by_id[topic_id]
        own = self.configs.of(TOPIC, topic.name).get("unclean.leader.election.enable")
        if own is not None:
            return own.strip().lower() == "true"
        return bool(self.configs.layers.config["unclean.leader.election.enable"])

    def new_id(self) -> bytes:
        """A random id in the form that Kafka's have: version 4, and no dash in front of what people read."""
        while True:
            value = bytearray(self.stream.bytes(16))
            value[6] = value[6] & 0x0F | 0x40
            value[8] = value[8] & 0x3F | 0x80
            if value[0] >> 2 != _DASH:
                return bytes(value)

    def new_topic_id(self) -> bytes:
        for _ in range(_TOPIC_ID_TRIES):
            topic_id = self.new_id()
            if topic_id not in self.topics.by_id:
                return topic_id
        raise BrokenRuleError("the source of chance does not repeat itself")

    def validate(self) -> None:
        """Derives every index anew; for simulation and tests, after each step."""
        self.topics.validate()
        self.cluster.validate()
        self.configs.validate()
        self.acls.validate()
        require(all(self.client_quotas.by_key.values()), "an entity without quotas has no entry")
        for topic in self.topics.by_id.values():
            for index, partition in topic.partitions.items():
                self._check_brokers(partition, f"{topic} {index} {partition}")

    def _check_brokers(self, partition: PartitionRegistration, shown: str) -> None:
        is_led = partition.leader != NO_LEADER
        require(not is_led or self.cluster.is_unfenced(partition.leader), f"a leader is unfenced: {shown}")
        fenced = [replica for replica in partition.isr if not self.cluster.is_unfenced(replica)]
        require(not fenced or len(partition.isr) == 1, f"C9: nobody fenced is in sync beside others: {shown}")
