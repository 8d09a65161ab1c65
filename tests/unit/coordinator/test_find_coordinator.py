"""FindCoordinator in every version, before the internal topic is there, after, and where it can never be."""

import pytest

from broker_kit import SimBroker, SimClient
from odradek.protocol import errors
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.sim.world import World

GROUP, TRANSACTION, SHARE = range(3)
WITH_MANY_KEYS = 4


def started(**properties):
    properties = {name.replace("_", "."): value for name, value in properties.items()}
    broker = SimBroker(World(seed=4), properties=properties).wait_until_ready()
    return broker, SimClient(broker.world, "client", broker.address)


def found(client, version, key_type=GROUP, *keys):
    """The code and the node of each key."""
    keys = keys or ("a",)
    if version < WITH_MANY_KEYS:
        answer = client.ask(FindCoordinatorRequest(key=keys[0], key_type=key_type), version)
        return [(answer.error_code, answer.node_id)]
    answer = client.ask(FindCoordinatorRequest(coordinator_keys=list(keys), key_type=key_type), version)
    assert [each.key for each in answer.coordinators] == list(keys)
    return [(each.error_code, each.node_id) for each in answer.coordinators]


@pytest.mark.parametrize("version", range(7))
def test_the_first_to_ask_comes_again(version):
    broker, client = started()
    assert found(client, version) == [(errors.CoordinatorNotAvailable.code, -1)]
    broker.world.run_for(2000)
    ((code, node_id),) = found(client, version)
    assert (code, node_id) == (0, broker.server.shared.node_id)


@pytest.mark.parametrize("version", range(WITH_MANY_KEYS, 7))
def test_many_keys_are_answered_one_by_one(version):
    broker, client = started()
    found(client, version, TRANSACTION)
    broker.world.run_for(2000)
    node_id = broker.server.shared.node_id
    assert found(client, version, TRANSACTION, "a", "b", "c") == [(0, node_id)] * 3
    assert found(client, version, GROUP, "a") == [(errors.CoordinatorNotAvailable.code, -1)]


def test_the_state_of_share_groups_has_a_coordinator_from_version_6_on():
    broker, client = started(share_coordinator_state_topic_replication_factor="1")
    key = "g:with:colons:AAAAAAAAAAAAAAAAAAAAAA:0"
    assert found(client, 5, SHARE, key) == [(errors.InvalidRequest.code, -1)]
    assert found(client, 6, SHARE, key) == [(errors.CoordinatorNotAvailable.code, -1)]
    broker.world.run_for(2000)
    assert found(client, 6, SHARE, key) == [(0, broker.server.shared.node_id)]


@pytest.mark.parametrize("key", ["", "g", "g:0", "g:AAAA:0", "g:AAAAAAAAAAAAAAAAAAAAAA:x", ":AAAAAAAAAAAAAAAAAAAAAA:0"])
def test_what_names_no_share_partition_has_no_coordinator(key):
    _, client = started()
    assert found(client, 6, SHARE, key) == [(errors.InvalidRequest.code, -1)]


@pytest.mark.parametrize(
    ("key_type", "config"),
    [(GROUP, "offsets_topic_replication_factor"), (TRANSACTION, "transaction_state_log_replication_factor")],
)
def test_more_replicas_than_brokers_are_waited_for(key_type, config):
    """The topic is not made with fewer than were asked for: its first partitions would never get more."""
    broker, client = started(**{config: "3"})
    for _ in range(3):
        assert found(client, 2, key_type) == [(errors.CoordinatorNotAvailable.code, -1)]
        broker.world.run_for(2000)
    assert not [name for name in broker.server.shared.cache.image.topics.by_name if name.startswith("__")]
