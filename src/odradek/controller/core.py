"""The controller core: every decision about the cluster's metadata, as a method each.

Theory of operation. An event is a method: it reads the state (`state.py`) and the request, and returns a `Decision`:
the records that would change the state, and the response for when they are committed (`replicated/runtime.py`). It
writes nothing, raises a KafkaError to refuse the whole request, and puts refusals of single items into the response.
Only `replay` of the records that were appended changes the state.

When a broker was last heard of is not in the log: a controller that takes over gives each broker a fresh session, so a
broker is fenced late rather than wrongly.

The modules of the events know the state and not the core. They are imported when they are first needed: a start must
not wait for them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.controller.producer_ids import BLOCK_SIZE
from odradek.controller.state import ControllerState
from odradek.metadata import versions
from odradek.metadata.record_versions import Versioned, is_known_at
from odradek.protocol.declare import Message
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.replicated.decision import Decision

if TYPE_CHECKING:
    from typing import TypeGuard

    from odradek.controller.config_changes import Outcome
    from odradek.protocol.messages import k19_create_topics as k19
    from odradek.protocol.messages import k20_delete_topics as k20
    from odradek.protocol.messages import k30_create_acls as k30
    from odradek.protocol.messages import k31_delete_acls as k31
    from odradek.protocol.messages import k33_alter_configs as k33
    from odradek.protocol.messages import k37_create_partitions as k37
    from odradek.protocol.messages import k43_elect_leaders as k43
    from odradek.protocol.messages import k44_incremental_alter_configs as k44
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


class ControllerCore(ControllerState):
    __slots__ = ()

    # Events: taking over

    def became_active(self, now_ms: int) -> None:
        """Every broker gets a session that starts now."""
        for broker_id in self.cluster.brokers:
            self.sessions.begin(broker_id, now_ms)

    def bootstrap(self, records: Sequence[Versioned]) -> Decision[None]:
        """What a new leader writes first: the bootstrap records into an empty log, or the end of a cut transaction."""
        if self.in_transaction:
            return Decision([(cluster.AbortTransactionRecord(reason="the controller has changed"), 0)], None)
        if not self.is_empty:
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
        from odradek.controller import partition_creation

        return partition_creation.create_partitions(self, request)

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

    def alter_configs(
        self, resources: "Sequence[k33.AlterConfigsResource]", *, validate_only: bool
    ) -> "Decision[list[Outcome[k33.AlterConfigsResource]]]":
        """The response is a list of (resource, KafkaError or None), in the order of the request."""
        from odradek.controller import config_changes

        records, outcomes = config_changes.replace_all(self, resources)
        return Decision(self.versioned(() if validate_only else records), outcomes)

    def incremental_alter_configs(
        self, resources: "Sequence[k44.AlterConfigsResource]", *, validate_only: bool
    ) -> "Decision[list[Outcome[k44.AlterConfigsResource]]]":
        """The response is one as that of `alter_configs`."""
        from odradek.controller import config_changes

        records, outcomes = config_changes.incremental(self, resources)
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


def _is_metadata_version(record: Message) -> "TypeGuard[cluster.FeatureLevelRecord]":
    return isinstance(record, cluster.FeatureLevelRecord) and record.name == versions.METADATA_VERSION
