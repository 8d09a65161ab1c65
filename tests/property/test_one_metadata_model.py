"""The controller and the image of a node replay the same log. Whatever it says, they know the same cluster (C8).

Records are drawn, and replayed one by one by the controller's state and by a delta. Both take a record or both refuse
it, and what they have kept is compared value by value: a rule that only one of them has shows as a difference.
"""

from hypothesis import example, given
from hypothesis import strategies as st

from controllers import CLUSTER_ID, Harness
from metadata_kit import broker, change, config, level, partition, topic, topic_id
from odradek.controller.state import ControllerState
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.directory_ids import MIGRATING, UNASSIGNED
from odradek.metadata.image import EMPTY
from odradek.metadata.replay_error import ReplayError
from odradek.protocol import releases
from odradek.protocol.messages import metadata_brokers as brokers
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.protocol.messages import metadata_topics as topics
from odradek.sim.world import World

few = st.integers(0, 2)
ids = few.map(topic_id)
names = few.map(lambda number: f"topic-{number}")
replicas = st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True)
directories = st.sampled_from([MIGRATING, UNASSIGNED, topic_id(501), topic_id(502)])
some_replicas = st.none() | replicas
some_directories = st.none() | st.lists(directories, max_size=3)


def new_partition(number, index, placed, directory):
    return partition(number, index, placed, leader=placed[0], directories=[directory] * len(placed))


records = st.one_of(
    st.builds(lambda number: topic(number)[0], few),
    st.builds(new_partition, few, few, replicas, directories),
    st.builds(
        lambda number, index, leader, isr, placed, adding, directories, elr, recovery: change(
            number, index, leader=leader, isr=isr, replicas=placed, adding_replicas=adding, directories=directories,
            eligible_leader_replicas=elr, leader_recovery_state=recovery,
        ),
        few, few, st.integers(-2, 3), some_replicas, some_replicas, some_replicas, some_directories, some_replicas,
        st.integers(-1, 1),
    ),
    st.builds(lambda topic_id: topics.RemoveTopicRecord(topic_id=topic_id), ids),
    st.builds(lambda name: topics.ClearElrRecord(topic_name=name), st.just("") | names),
    st.builds(config, st.sampled_from([2, 4, 32]), names | st.just(""), names, st.none() | names),
    st.builds(
        lambda number, epoch, fenced, directories, cordoned: broker(
            number, epoch, fenced=fenced, log_dirs=directories, cordoned_log_dirs=cordoned
        ),
        few, few, st.booleans(), st.lists(ids, max_size=2, unique=True), st.none() | st.lists(ids, max_size=2),
    ),
    st.builds(
        lambda number, epoch, fenced, shutdown, directories, cordoned: brokers.BrokerRegistrationChangeRecord(
            broker_id=number, broker_epoch=epoch, fenced=fenced, in_controlled_shutdown=shutdown, log_dirs=directories,
            cordoned_log_dirs=cordoned,
        ),
        few, few, st.integers(-1, 1), st.integers(0, 1), st.lists(ids, max_size=2),
        st.none() | st.lists(ids, max_size=2),
    ),
    st.builds(lambda number, epoch: brokers.FenceBrokerRecord(id=number, epoch=epoch), few, few),
    st.builds(lambda number, epoch: brokers.UnfenceBrokerRecord(id=number, epoch=epoch), few, few),
    st.builds(lambda number, epoch: brokers.UnregisterBrokerRecord(broker_id=number, broker_epoch=epoch), few, few),
    st.builds(lambda number: brokers.RegisterControllerRecord(controller_id=number, incarnation_id=topic_id(9)), few),
    st.builds(level, st.sampled_from(["metadata.version", "group.version"]), st.sampled_from([0, 7, 30])),
    st.builds(lambda n, name: cluster.AccessControlEntryRecord(id=n, resource_name=name), ids, names),
    st.builds(lambda n: cluster.RemoveAccessControlEntryRecord(id=n), ids),
    st.builds(lambda u, m, i: cluster.UserScramCredentialRecord(name=u, mechanism=m, iterations=i), names, few, few),
    st.builds(lambda u, m: cluster.RemoveUserScramCredentialRecord(name=u, mechanism=m), names, few),
    st.builds(lambda n: cluster.ProducerIdsRecord(broker_id=n, next_producer_id=n * 1000), few),
    st.builds(
        lambda name, key, value, remove: cluster.ClientQuotaRecord(
            entity=[cluster.EntityData(entity_type="user", entity_name=name)], key=key, value=value, remove=remove
        ),
        st.none() | names, names, few.map(float), st.booleans(),
    ),
    st.builds(lambda state: cluster.ZkMigrationStateRecord(zk_migration_state=state), few),
    st.builds(lambda token: cluster.DelegationTokenRecord(token_id=token, owner="o"), names),
    st.builds(lambda token: cluster.RemoveDelegationTokenRecord(token_id=token), names),
    st.just(cluster.NoOpRecord()),
    st.just(cluster.AccessControlRecord()),  # which nobody writes
)  # fmt: skip


def new_state():
    return ControllerState(
        node_id=1,
        cluster_id=CLUSTER_ID,
        release=releases.RELEASE_4_3,
        static_configs=Harness.STATIC,
        stream=World(1).node("controller").ports.rng.stream("controller"),
        session_timeout_ms=9000,
    )


def known_to_the_controller(state):
    return {
        "features": state.features.finalized,
        "metadata_version": state.features.metadata_version,
        "brokers": state.cluster.brokers,
        "controllers": state.cluster.controllers,
        "topics": {topic.name: (topic.id, topic.partitions) for topic in state.topics.by_id.values()},
        "names": {name: topic.id for name, topic in state.topics.by_name.items()},
        "configs": state.configs.by_key,
        "client_quotas": state.client_quotas.by_key,
        "producer_ids": state.producer_ids.image,
        "acls": state.acls.by_key,
        "scram": state.scram.by_key,
    }


def known_to_the_image(image):
    return {
        "features": image.features.finalized,
        "metadata_version": image.features.metadata_version,
        "brokers": dict(image.cluster.brokers),
        "controllers": dict(image.cluster.controllers),
        "topics": {topic.name: (topic.id, dict(topic.partitions)) for topic in image.topics.by_id.values()},
        "names": {name: topic.id for name, topic in image.topics.by_name.items()},
        "configs": dict(image.configs.by_resource),
        "client_quotas": dict(image.client_quotas.by_entity),
        "producer_ids": image.producer_ids,
        "acls": dict(image.acls.by_id),
        "scram": dict(image.scram.by_mechanism_and_user),
    }


def refusal_of(replay, record):
    try:
        replay(record)
    except ReplayError as error:
        return str(error)
    return None


MOVED = [*topic(1), change(1, replicas=[2, 1], adding_replicas=[2])]  # nobody has ever assigned a directory
ASSIGNED = [*topic(1, directories=[topic_id(501)]), change(1, replicas=[2])]  # the second is in the place of the first


@given(st.lists(records, max_size=40), st.sets(st.integers(0, 40)))
@example(MOVED, set())
@example(ASSIGNED, set())
@example([*ASSIGNED, change(1, replicas=[1, 2])], set())
def test_the_controller_and_the_image_know_the_same_cluster(history, cuts):
    """`cuts` are where an image is made of what was replayed, and the next delta begins."""
    state, delta = new_state(), MetadataDelta(EMPTY)
    for offset, record in enumerate(history):
        told = refusal_of(lambda record: state.replay(record, 0), record)
        assert told == refusal_of(delta.replay, record), f"{record} is refused by one of them"
        if offset in cuts:
            delta = MetadataDelta(delta.apply(offset, 1))
    assert known_to_the_controller(state) == known_to_the_image(delta.apply(len(history), 1))
    state.acls.validate()
    state.configs.validate()
