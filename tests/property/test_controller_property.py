"""Random events on a controller whose log commits late, and now and then loses its tail with the lead.

After each step every index can be derived anew, and replay of the log from scratch gives the same state; after a loss
the state is that of the committed prefix. No producer id is issued twice.
"""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controllers import Harness, state_of
from odradek.controller.core import ControllerCore
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages import k30_create_acls as k30
from odradek.protocol.messages import k43_elect_leaders as k43
from odradek.protocol.messages import k44_incremental_alter_configs as k44
from odradek.protocol.messages import k45_alter_partition_reassignments as k45
from odradek.protocol.messages import k49_alter_client_quotas as k49
from odradek.protocol.messages import k56_alter_partition as k56
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from odradek.protocol.messages.k63_broker_heartbeat import BrokerHeartbeatRequest
from odradek.protocol.messages.k67_allocate_producer_ids import AllocateProducerIdsRequest

BROKERS = st.integers(1, 5)
NAMES = st.sampled_from(["a", "b", "a.b", "a_b", "c"])


class ControllerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.harness = Harness()
        self.incarnations: dict[int, int] = {}
        self.issued: list[int] = []
        self.harness.brokers(1, 2, 3)

    def _run(self, event: Any) -> Any:
        """The answer, or None while it waits or if it is refused."""
        return self._settle(self.harness.controller.run(event))

    def _settle(self, pending: Any) -> Any:
        pending.is_observed = True
        self.harness.node.attend()
        self.harness.world.run_for(1)
        if not pending.is_done or isinstance(pending.error, KafkaError):
            return None
        return pending.value()

    # Brokers

    @rule(broker_id=BROKERS, is_new=st.booleans(), has_lock=st.booleans())
    def register(self, broker_id: int, is_new: bool, has_lock: bool) -> None:
        self.incarnations[broker_id] = self.incarnations.get(broker_id, 0) + is_new
        self.harness.is_own_lock_held = has_lock
        request = self.harness.registration(broker_id, self.incarnations[broker_id])
        self._settle(self.harness.controller.register_broker(request))

    @rule(broker_id=BROKERS, want_fence=st.booleans(), want_shut_down=st.booleans())
    def beat(self, broker_id: int, want_fence: bool, want_shut_down: bool) -> None:
        broker = self.harness.core.cluster.brokers.get(broker_id)
        if broker is not None:
            request = BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=broker.epoch,
                current_metadata_offset=self.harness.quorum.log_end_offset,
                want_fence=want_fence,
                want_shut_down=want_shut_down,
            )
            self._settle(self.harness.controller.heartbeat(request))

    @rule(broker_id=BROKERS)
    def unregister(self, broker_id: int) -> None:
        self._run(lambda core: core.unregister_broker(broker_id))

    @rule(seconds=st.integers(1, 6))
    def time_passes(self, seconds: int) -> None:
        self.harness.world.run_for(seconds * 1000)

    @rule(broker_id=BROKERS)
    def allocate(self, broker_id: int) -> None:
        broker = self.harness.core.cluster.brokers.get(broker_id)
        request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=broker.epoch if broker else -1)
        response = self._run(lambda core: core.allocate_producer_ids(request))
        if response is not None:
            assert response.producer_id_start not in self.issued
            self.issued.append(response.producer_id_start)

    # Topics

    @rule(name=NAMES, partitions=st.integers(1, 4), replicas=st.integers(1, 3), unclean=st.booleans())
    def create(self, name: str, partitions: int, replicas: int, unclean: bool) -> None:
        configs = {"unclean_leader_election_enable": "true"} if unclean else {}
        request = Harness.request_to_create(name, partitions, replicas, **configs)
        self._run(lambda core: core.create_topics(request))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self._run(lambda core: core.delete_topics(DeleteTopicsRequest(topic_names=[name]), 5))

    @rule(name=NAMES, isr=st.sets(BROKERS, min_size=1))
    def alter_isr(self, name: str, isr: set[int]) -> None:
        core = self.harness.core
        topic = core.topics.by_name.get(name)
        if topic is None:
            return
        partition = topic.partitions[0]
        leader = core.cluster.brokers.get(partition.leader)
        members = [replica for replica in partition.replicas if replica in isr or replica == partition.leader]
        data = k56.PartitionData(
            partition_index=0,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=[k56.BrokerState(broker_id=member) for member in members],
        )
        request = k56.AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=leader.epoch if leader else -1,
            topics=[k56.TopicData(topic_id=topic.id, partitions=[data])],
        )
        self._run(lambda core: core.alter_partition(request, 3))

    @rule(name=NAMES, replicas=st.none() | st.lists(BROKERS, min_size=1, max_size=3, unique=True))
    def reassign(self, name: str, replicas: list[int] | None) -> None:
        item = k45.ReassignablePartition(partition_index=0, replicas=replicas)
        request = k45.AlterPartitionReassignmentsRequest(topics=[k45.ReassignableTopic(name=name, partitions=[item])])
        self._run(lambda core: core.alter_reassignments(request))

    @rule(kind=st.integers(0, 1))
    def elect(self, kind: int) -> None:
        self._run(lambda core: core.elect_leaders(k43.ElectLeadersRequest(election_type=kind, topic_partitions=None)))

    # The rest

    @rule(
        name=NAMES, key=st.sampled_from(["retention.ms", "segment.ms"]), value=st.integers(-2, 5), op=st.integers(0, 1)
    )
    def configure(self, name: str, key: str, value: int, op: int) -> None:
        config = k44.AlterableConfig(name=key, config_operation=op, value=str(value))
        resource = k44.AlterConfigsResource(resource_type=2, resource_name=name, configs=[config])
        self._run(lambda core: core.incremental_alter_configs([resource], validate_only=False))

    @rule(name=NAMES)
    def add_acl(self, name: str) -> None:
        creation = k30.AclCreation(
            resource_type=2,
            resource_name=name,
            resource_pattern_type=3,
            principal="User:u",
            host="*",
            operation=3,
            permission_type=3,
        )
        self._run(lambda core: core.create_acls(k30.CreateAclsRequest(creations=[creation])))

    @rule(name=NAMES, value=st.integers(1, 3), remove=st.booleans())
    def set_quota(self, name: str, value: int, remove: bool) -> None:
        entry = k49.EntryData(
            entity=[k49.EntityData(entity_type="user", entity_name=name)],
            ops=[k49.OpData(key="producer_byte_rate", value=float(value), remove=remove)],
        )
        self._run(lambda core: core.alter_client_quotas(k49.AlterClientQuotasRequest(entries=[entry])))

    # The log

    @rule()
    def stop_committing(self) -> None:
        self.harness.quorum.is_committing = False

    @rule()
    def commit_again(self) -> None:
        self.harness.quorum.is_committing = True
        self.harness.quorum.commit()
        self.harness.node.attend()
        self.harness.world.run_for(1)

    @precondition(lambda self: self.harness.controller.is_active)
    @rule()
    def lose_the_lead(self) -> None:
        quorum = self.harness.quorum
        quorum.lose_leadership()
        self.harness.node.attend()
        self.harness.world.run_for(1)
        assert not self.harness.controller.is_active
        assert state_of(self.harness.core) == state_of(self._replayed())
        quorum.is_committing = True
        quorum.elect()
        self.harness.node.attend()
        self.harness.world.run_for(1)
        assert self.harness.controller.is_active

    def _replayed(self) -> ControllerCore:
        core = ControllerCore(
            node_id=1,
            cluster_id=self.harness.core.cluster_id,
            release=self.harness.release,
            static_configs=self.harness.static,
            stream=self.harness.node.ports.rng.stream("replay"),
            session_timeout_ms=9000,
        )
        for offset, record in enumerate(self.harness.quorum.messages()):
            core.replay(record, offset)
        return core

    @invariant()
    def indexes_hold(self) -> None:
        self.harness.core.validate()
        assert self.harness.faults == []

    @invariant()
    def replay_gives_the_same_state(self) -> None:
        assert state_of(self._replayed()) == state_of(self.harness.core)


ControllerMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestController = ControllerMachine.TestCase
