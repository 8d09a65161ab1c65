"""The controller core: the state of the cluster's metadata, and every decision about it.

Theory of operation. The state is what the records of the metadata log amount to: `replay` is its only writer, and
state built from a snapshot and the records behind it equals state built from all records. An event is a method:
it reads the state and the request, and returns a `Decision`, the records that would change the state and the
response for when they are committed (see `replicated/runtime.py`). It writes nothing, raises a KafkaError to refuse
the whole request, and puts refusals of single items into the response.

One thing is not in the log: when a broker was last heard of (`sessions.py`). A controller that takes over gives each
broker a fresh session, so a broker is fenced late rather than wrongly.

The parts: `cluster` who is there, `topics` what they hold, `features`, `configs`, `acls`, `quotas`, `scram` and
`producer_ids`. The modules of the events are imported when they are first needed: a start must not wait for them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from odradek.controller.acls import Acls
from odradek.controller.cluster import Cluster
from odradek.controller.configs import TOPIC, Configs
from odradek.controller.directory_ids import is_online
from odradek.controller.features import Features
from odradek.controller.partition import Partition
from odradek.controller.producer_ids import BLOCK_SIZE, ProducerIds
from odradek.controller.quotas import Quotas
from odradek.controller.scram import Scram
from odradek.controller.sessions import Sessions
from odradek.controller.topics import Topics
from odradek.metadata import versions
from odradek.metadata.record_versions import is_known_at, version_of
from odradek.protocol.declare import Message
from odradek.protocol.messages import metadata_brokers as brokers
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.protocol.messages import metadata_topics as topics
from odradek.protocol.releases import Release
from odradek.reactor.ports import Stream
from odradek.replicated.decision import Decision

if TYPE_CHECKING:
    from odradek.protocol.messages import k19_create_topics as k19
    from odradek.protocol.messages import k20_delete_topics as k20
    from odradek.protocol.messages import k30_create_acls as k30
    from odradek.protocol.messages import k31_delete_acls as k31
    from odradek.protocol.messages import k37_create_partitions as k37
    from odradek.protocol.messages import k43_elect_leaders as k43
    from odradek.protocol.messages import k45_alter_partition_reassignments as k45
    from odradek.protocol.messages import k46_list_partition_reassignments as k46
    from odradek.protocol.messages import k49_alter_client_quotas as k49
    from odradek.protocol.messages import k51_alter_user_scram_credentials as k51
    from odradek.protocol.messages import k56_alter_partition as k56
    from odradek.protocol.messages import k57_update_features as k57
    from odradek.protocol.messages import k62_broker_registration as k62
    from odradek.protocol.messages import k63_broker_heartbeat as k63
    from odradek.protocol.messages import k64_unregister_broker as k64
    from odradek.protocol.messages import k67_allocate_producer_ids as k67
    from odradek.protocol.messages import k70_controller_registration as k70
    from odradek.protocol.messages import k73_assign_replicas_to_dirs as k73

Versioned = tuple[Message, int]

_TOPIC_ID_TRIES = 10


class ControllerCore:
    __slots__ = (
        "_replay",
        "_transaction",
        "acls",
        "cluster",
        "cluster_id",
        "configs",
        "features",
        "node_id",
        "producer_ids",
        "quotas",
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
        self.quotas = Quotas()
        self.scram = Scram()
        self.sessions = Sessions(session_timeout_ms)
        self._transaction: list[Message] | None = None  # records of a transaction that has not ended yet
        self._replay = self._replayers()

    # Records

    def replay(self, record: Message, offset: int) -> None:
        """The only writer. Records of a metadata transaction count when it ends (KIP-868)."""
        kind = type(record)
        if self._transaction is not None or kind in _TRANSACTION_RECORDS:
            self._replay_in_transaction(record, offset)
            return
        self._replay[kind](record)

    def _replayers(self) -> dict[type[Message], Callable[[Any], object]]:
        return {
            topics.TopicRecord: self.topics.replay_topic,
            topics.PartitionRecord: self.topics.replay_partition,
            topics.PartitionChangeRecord: self.topics.replay_partition_change,
            topics.RemoveTopicRecord: self._replay_remove_topic,
            topics.ClearElrRecord: self.topics.replay_clear_elr,
            topics.ConfigRecord: self.configs.replay,
            brokers.RegisterBrokerRecord: self.cluster.replay_register,
            brokers.UnregisterBrokerRecord: self.cluster.replay_unregister,
            brokers.BrokerRegistrationChangeRecord: self.cluster.replay_change,
            brokers.FenceBrokerRecord: self.cluster.replay_fence,
            brokers.UnfenceBrokerRecord: self.cluster.replay_unfence,
            brokers.RegisterControllerRecord: self.cluster.replay_controller,
            cluster.FeatureLevelRecord: self.features.replay,
            cluster.ProducerIdsRecord: self.producer_ids.replay,
            cluster.AccessControlEntryRecord: self.acls.replay,
            cluster.RemoveAccessControlEntryRecord: self.acls.replay_removal,
            cluster.ClientQuotaRecord: self.quotas.replay,
            cluster.UserScramCredentialRecord: self.scram.replay,
            cluster.RemoveUserScramCredentialRecord: self.scram.replay_removal,
            cluster.NoOpRecord: _ignore,
            cluster.ZkMigrationStateRecord: _ignore,
            cluster.DelegationTokenRecord: _ignore,  # kept in the image, and issued nowhere yet
            cluster.RemoveDelegationTokenRecord: _ignore,
        }

    def _replay_remove_topic(self, record: topics.RemoveTopicRecord) -> None:
        topic = self.topics.replay_remove(record)
        self.configs.forget_topic(topic.name)

    def _replay_in_transaction(self, record: Message, offset: int) -> None:
        if isinstance(record, cluster.BeginTransactionRecord):
            assert self._transaction is None, f"a metadata transaction begins inside another one at offset {offset}"
            self._transaction = []
        elif isinstance(record, cluster.EndTransactionRecord):
            held, self._transaction = self._transaction or [], None
            for item in held:
                self._replay[type(item)](item)
        elif isinstance(record, cluster.AbortTransactionRecord):
            self._transaction = None
        elif self._transaction is not None:
            self._transaction.append(record)

    # What events ask

    @property
    def in_transaction(self) -> bool:
        """A leader before us died in the middle of one: it has to be aborted first."""
        return self._transaction is not None

    @property
    def has_directories(self) -> bool:
        return self.features.metadata_version >= versions.DIRECTORY_ASSIGNMENT

    def versioned(self, records: Iterable[Message | None]) -> Iterable[Versioned | None]:
        """Each with the version in which the cluster reads it; made one at a time if the records are."""
        level = self.features.metadata_version
        made = (None if record is None else (record, version_of(record, level)) for record in records)
        return list(made) if isinstance(records, Sequence) else made

    def has_online_directory(self, broker_id: int, partition: Partition) -> bool:
        broker = self.cluster.brokers[broker_id]
        return is_online(partition.directory_of(broker_id), broker.directories)

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
        raise AssertionError("the source of chance repeats itself")

    def validate(self) -> None:
        """Derives every index anew; for simulation and tests, after each step."""
        self.topics.validate()
        self.cluster.validate()
        self.configs.validate()
        self.acls.validate()
        self.quotas.validate()
        for topic in self.topics.by_id.values():
            for partition in topic.partitions.values():
                leader = self.cluster.brokers.get(partition.leader)
                assert partition.leader < 0 or (leader is not None and not leader.is_fenced), (topic, partition)
                fenced = [replica for replica in partition.isr if not self._is_unfenced(replica)]
                assert not fenced or len(partition.isr) == 1, f"C9: {topic} {partition} has fenced {fenced} in sync"

    def _is_unfenced(self, broker_id: int) -> bool:
        broker = self.cluster.brokers.get(broker_id)
        return broker is not None and not broker.is_fenced

    # Events: taking over

    def became_active(self, now_ms: int) -> None:
        """Every broker gets a session that starts now."""
        for broker_id in self.cluster.brokers:
            self.sessions.begin(broker_id, now_ms)

    def bootstrap(self, records: "list[Versioned]", current_is_empty: bool) -> Decision[None]:
        """What a new leader writes first: the bootstrap records into an empty log, or the end of a cut transaction."""
        if self.in_transaction:
            return Decision([(cluster.AbortTransactionRecord(reason="the controller has changed"), 0)], None)
        if not current_is_empty:
            return Decision((), None)
        level = next((r.feature_level for r, _ in records if _is_metadata_version(r)), versions.LOWEST)
        if level < versions.TRANSACTIONS:
            return Decision(records, None)
        begin = cluster.BeginTransactionRecord(name="Bootstrap records")
        return Decision([(begin, 0), *records, (cluster.EndTransactionRecord(), 0)], None)

    def no_op(self) -> Decision[None]:
        is_known = is_known_at(cluster.NoOpRecord, self.features.metadata_version)
        return Decision([(cluster.NoOpRecord(), 0)] if is_known else (), None)

    # Events: brokers

    def register_broker(
        self, now_ms: int, request: "k62.BrokerRegistrationRequest", next_offset: int, *, is_own_lock_held: bool
    ) -> "Decision[k62.BrokerRegistrationResponse]":
        from odradek.controller import registering

        return registering.register_broker(self, now_ms, request, next_offset, is_own_lock_held=is_own_lock_held)

    def unregister_broker(self, broker_id: int) -> "Decision[k64.UnregisterBrokerResponse]":
        from odradek.controller import registering

        return registering.unregister_broker(self, broker_id)

    def register_controller(
        self, request: "k70.ControllerRegistrationRequest"
    ) -> "Decision[k70.ControllerRegistrationResponse]":
        from odradek.controller import registering

        return registering.register_controller(self, request)

    def heartbeat(
        self, now_ms: int, request: "k63.BrokerHeartbeatRequest", next_offset: int
    ) -> "Decision[k63.BrokerHeartbeatResponse]":
        from odradek.controller import heartbeats

        return heartbeats.heartbeat(self, now_ms, request, next_offset)

    def expire(self, now_ms: int) -> Decision[int | None]:
        from odradek.controller import heartbeats

        return heartbeats.expire(self, now_ms)

    def allocate_producer_ids(
        self, request: "k67.AllocateProducerIdsRequest"
    ) -> "Decision[k67.AllocateProducerIdsResponse]":
        from odradek.protocol.messages.k67_allocate_producer_ids import AllocateProducerIdsResponse

        self.cluster.check_epoch(request.broker_id, request.broker_epoch)
        start = self.producer_ids.next_producer_id
        record = self.producer_ids.next_block(request.broker_id, request.broker_epoch)
        response = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=BLOCK_SIZE)
        return Decision(self.versioned([record]), response)

    # Events: topics and partitions

    def create_topics(self, request: "k19.CreateTopicsRequest") -> "Decision[k19.CreateTopicsResponse]":
        from odradek.controller import topic_creation

        return topic_creation.create_topics(self, request)

    def create_partitions(self, request: "k37.CreatePartitionsRequest") -> "Decision[k37.CreatePartitionsResponse]":
        from odradek.controller import topic_creation

        return topic_creation.create_partitions(self, request)

    def delete_topics(self, request: "k20.DeleteTopicsRequest", version: int) -> "Decision[k20.DeleteTopicsResponse]":
        from odradek.controller import topic_deletion

        return topic_deletion.delete_topics(self, request, version)

    def alter_partition(
        self, request: "k56.AlterPartitionRequest", version: int
    ) -> "Decision[k56.AlterPartitionResponse]":
        from odradek.controller import isr

        return isr.alter_partition(self, request, version)

    def elect_leaders(self, request: "k43.ElectLeadersRequest") -> "Decision[k43.ElectLeadersResponse]":
        from odradek.controller import elections

        return elections.elect_leaders(self, request)

    def elect_uncleanly(self) -> Decision[None]:
        from odradek.controller import elections

        return Decision(self.versioned(elections.elect_uncleanly(self)), None, is_atomic=False)

    def balance(self) -> Decision[None]:
        from odradek.controller import elections

        return Decision(self.versioned(elections.balance(self)), None, is_atomic=False)

    def alter_reassignments(
        self, request: "k45.AlterPartitionReassignmentsRequest"
    ) -> "Decision[k45.AlterPartitionReassignmentsResponse]":
        from odradek.controller import reassignment

        return reassignment.alter(self, request)

    def list_reassignments(
        self, request: "k46.ListPartitionReassignmentsRequest"
    ) -> "Decision[k46.ListPartitionReassignmentsResponse]":
        from odradek.controller import reassignment

        return reassignment.list_ongoing(self, request)

    def assign_replicas_to_dirs(
        self, request: "k73.AssignReplicasToDirsRequest"
    ) -> "Decision[k73.AssignReplicasToDirsResponse]":
        from odradek.controller import directories

        return directories.assign(self, request)

    # Events: the cluster as a whole

    def alter_configs(self, resources: Iterable[Any], *, is_incremental: bool, validate_only: bool) -> Decision[Any]:
        """The response is a list of (resource, KafkaError or None), in the order of the request."""
        from odradek.controller import config_changes

        change = config_changes.incremental if is_incremental else config_changes.replace_all
        records, outcomes = change(self, list(resources))
        return Decision(self.versioned(() if validate_only else records), outcomes)

    def update_features(
        self, request: "k57.UpdateFeaturesRequest", version: int, kraft_version: int
    ) -> "Decision[k57.UpdateFeaturesResponse]":
        from odradek.controller import feature_update

        return feature_update.update(self, request, version, kraft_version)

    def create_acls(self, request: "k30.CreateAclsRequest") -> "Decision[k30.CreateAclsResponse]":
        from odradek.controller import acl_changes

        return acl_changes.create_acls(self, request)

    def delete_acls(self, request: "k31.DeleteAclsRequest") -> "Decision[k31.DeleteAclsResponse]":
        from odradek.controller import acl_changes

        return acl_changes.delete_acls(self, request)

    def alter_client_quotas(self, request: "k49.AlterClientQuotasRequest") -> "Decision[k49.AlterClientQuotasResponse]":
        from odradek.controller import quota_changes

        return quota_changes.alter_client_quotas(self, request)

    def alter_scram_credentials(
        self, request: "k51.AlterUserScramCredentialsRequest"
    ) -> "Decision[k51.AlterUserScramCredentialsResponse]":
        from odradek.controller import scram_changes

        return scram_changes.alter_credentials(self, request)


_DASH = 62  # the value that base64 writes as a dash
_TRANSACTION_RECORDS = frozenset(
    {cluster.BeginTransactionRecord, cluster.EndTransactionRecord, cluster.AbortTransactionRecord}
)


def _ignore(record: Message) -> None:
    """A record that says nothing about what this controller decides."""


def _is_metadata_version(record: Message) -> bool:
    return isinstance(record, cluster.FeatureLevelRecord) and record.name == versions.METADATA_VERSION
