"""What a client knows of the cluster, with a clock that is a number and answers that are made up."""

import pytest

from channel_kit import cluster_of, topic
from odradek.channel.backoff import Backoff
from odradek.channel.cluster import Cluster, PartitionInfo
from odradek.channel.metadata import Metadata
from odradek.channel.node import NO_NODE, Node
from odradek.protocol.errors import InvalidTopicException, SaslAuthenticationFailed, TopicAuthorizationFailed
from odradek.protocol.messages.k03_metadata import MetadataResponse

ONE, TWO = Node(1, "one", 9092), Node(2, "two", 9092)
ID, OTHER_ID = b"i" * 16, b"o" * 16
LATEST = 13


def made(**options):
    metadata = Metadata(backoff=Backoff(100, 1000), **options)
    metadata.bootstrap([("a", 1), ("b", 2)])
    return metadata


def told(metadata, *topics, now_ms=0, version=LATEST, nodes=(ONE, TWO)):
    ask = metadata.next_ask(now_ms)
    assert metadata.update(ask, cluster_of(*nodes, topics=topics), version, now_ms)
    return ask


def names(ask):
    return [each.name for each in ask.request.topics]


# The beginning


@pytest.mark.contract("A40")
def test_bootstrap_addresses_are_nodes_with_negative_numbers():
    metadata = made()
    assert metadata.cluster.nodes == [Node(-1, "a", 1), Node(-2, "b", 2)]
    assert metadata.cluster.is_bootstrap
    assert metadata.update_version == 1
    assert metadata.time_to_next_update_ms(0) == 0
    assert not metadata.next_ask(0).is_partial


def test_starting_over_forgets_the_brokers_and_keeps_the_topics():
    metadata = made()
    metadata.add_topic("t", 0)
    told(metadata, ("t", [1]))
    assert not metadata.cluster.is_bootstrap
    metadata.rebootstrap()
    assert [node.id for node in metadata.cluster.nodes] == [-1, -2]
    assert metadata.time_to_next_update_ms(0) == 0
    assert names(metadata.next_ask(0)) == ["t"]


# The snapshot


@pytest.mark.contract("A41")
def test_a_cluster_is_looked_at_from_every_side():
    metadata = made()
    metadata.set_topics(["t", "u"], 0)
    response = cluster_of(ONE, TWO, topics=[("t", [1, 2, -1], ID), ("u", [2])], controller_id=2)
    response.topics[1].is_internal = True
    metadata.update(metadata.next_ask(0), response, LATEST, 0)
    cluster = metadata.cluster
    assert cluster.nodes == [ONE, TWO]
    assert cluster.node(2) == TWO
    assert cluster.node(7) is None
    assert cluster.controller == TWO
    assert cluster.cluster_id == "c"
    assert cluster.topics == ["t", "u"]
    assert [info.partition for info in cluster.partitions("t")] == [0, 1, 2]
    assert [info.partition for info in cluster.available_partitions("t")] == [0, 1]
    assert cluster.partition("t", 1).leader_id == 2
    assert cluster.partition("t", 9) is None
    assert cluster.leader("t", 0) == ONE
    assert cluster.leader("t", 2) is None
    assert cluster.internal_topics == {"u"}
    assert cluster.topic_ids == {"t": ID}
    assert cluster.topic_names == {ID: "t"}
    assert cluster.partitions("nothing") == []


@pytest.mark.contract("A41")
def test_an_update_leaves_an_older_snapshot_as_it_was():
    metadata = made()
    metadata.add_topic("t", 0)
    told(metadata, ("t", [1]))
    before = metadata.cluster
    told(metadata, ("t", [(2, 1)]), now_ms=100)
    assert before.leader("t", 0) == ONE
    assert metadata.cluster.leader("t", 0) == TWO


@pytest.mark.contract("A42")
def test_a_cluster_without_a_controller_has_the_node_that_stands_for_none():
    assert Cluster().controller is NO_NODE
    assert PartitionInfo("t", 3, -1).place == ("t", 3)


# Topics


@pytest.mark.contract("A43")
def test_only_topics_that_were_asked_for_are_tracked():
    metadata = made()
    assert names(metadata.next_ask(0)) == []
    metadata.add_topic("t", 0)
    ask = told(metadata, ("t", [1]), ("stranger", [1]))
    assert names(ask) == ["t"]
    assert metadata.cluster.topics == ["t"]


@pytest.mark.contract("A26", "A43")
def test_a_topic_that_is_not_used_any_more_leaves():
    metadata = made(topic_idle_ms=1000)
    metadata.add_topic("used", 0)
    metadata.add_topic("idle", 0)
    told(metadata, ("used", [1]), ("idle", [1]))
    metadata.add_topic("used", 900)
    told(metadata, ("used", [1]), ("idle", [1]), now_ms=1000)
    assert metadata.topics == {"used"}
    assert metadata.cluster.topics == ["used"]


def test_a_new_topic_stays_until_it_was_told_of_however_long_that_takes():
    metadata = made(topic_idle_ms=1000)
    metadata.add_topic("t", 0)
    assert names(metadata.next_ask(5000)) == ["t"]
    told(metadata, ("t", [1]), now_ms=5000)
    assert metadata.cluster.topics == ["t"]
    told(metadata, ("t", [1]), now_ms=6000)
    assert metadata.topics == set()


def test_a_subscription_replaces_the_topics():
    metadata = made()
    metadata.set_topics(["a", "b"], 0)
    told(metadata, ("a", [1]), ("b", [1]))
    metadata.set_topics(["b", "c"], 0)
    assert metadata.topics == {"b", "c"}
    told(metadata, ("c", [1]))
    assert sorted(metadata.cluster.topics) == ["b", "c"]


def test_who_subscribes_to_a_pattern_asks_for_everything():
    metadata = made()
    metadata.want_all_topics()
    ask = told(metadata, ("a", [1]), ("b", [1]))
    assert ask.request.topics is None
    assert metadata.cluster.topics == ["a", "b"]


def test_a_pattern_that_comes_while_a_request_is_under_way_needs_another():
    metadata = made()
    under_way = metadata.next_ask(0)
    metadata.want_all_topics()
    metadata.update(under_way, cluster_of(ONE, topics=[]), LATEST, 0)
    assert metadata.is_update_requested, "the answer was to a question about no topic at all"
    ask = told(metadata, ("a", [1]), now_ms=100)
    assert ask.request.topics is None
    assert not ask.is_partial
    assert metadata.cluster.topics == ["a"]
    assert not metadata.is_update_requested


# Versions


@pytest.mark.contract("A44")
def test_a_new_topic_needs_a_partial_update_only():
    metadata = made()
    metadata.add_topic("a", 0)
    told(metadata, ("a", [1]))
    version = metadata.add_topic("b", 0)
    ask = metadata.next_ask(200)
    assert ask.is_partial
    assert names(ask) == ["b"]
    metadata.update(ask, cluster_of(ONE, TWO, topics=[("b", [2])]), LATEST, 200)
    assert metadata.update_version > version
    assert sorted(metadata.cluster.topics) == ["a", "b"]
    assert metadata.cluster.leader("a", 0) == ONE
    assert not metadata.is_update_requested


@pytest.mark.contract("A44")
def test_a_topic_that_was_added_while_a_request_was_under_way_needs_another():
    metadata = made()
    metadata.add_topic("a", 0)
    ask = metadata.next_ask(0)
    metadata.add_topic("b", 0)
    metadata.update(ask, cluster_of(ONE, topics=[("a", [1])]), LATEST, 0)
    assert metadata.is_update_requested
    assert names(metadata.next_ask(0)) == ["b"]


def test_a_partial_update_does_not_count_as_a_refresh():
    metadata = made(expire_ms=1000)
    metadata.add_topic("a", 0)
    told(metadata, ("a", [1]))
    metadata.add_topic("b", 500)
    assert told(metadata, ("b", [1]), now_ms=500).is_partial
    assert metadata.time_to_next_update_ms(600) == 400


@pytest.mark.contract("A44")
def test_an_update_request_gives_the_version_to_get_beyond():
    metadata = made()
    version = metadata.request_update()
    assert metadata.update_version == version
    told(metadata)
    assert metadata.update_version == version + 1


# Time


@pytest.mark.contract("A17", "A39")
def test_two_requests_are_at_least_a_back_off_apart():
    metadata = made()
    told(metadata, now_ms=1000)
    metadata.request_update()
    assert metadata.time_to_next_update_ms(1030) == 70
    assert metadata.time_to_next_update_ms(1100) == 0


@pytest.mark.contract("A25", "A39")
def test_metadata_expires():
    metadata = made(expire_ms=300_000)
    told(metadata, now_ms=0)
    assert metadata.time_to_next_update_ms(0) == 300_000
    assert metadata.time_to_next_update_ms(299_999) == 1
    metadata.add_topic("new", 300_000)
    assert not metadata.next_ask(300_000).is_partial  # it is time for everything


def test_each_failure_doubles_the_back_off():
    metadata = made()
    waits = []
    for _ in range(6):
        metadata.failed(0)
        waits.append(metadata.time_to_next_update_ms(0))
    assert waits == [100, 200, 400, 800, 1000, 1000]
    told(metadata)
    metadata.request_update()
    assert metadata.time_to_next_update_ms(0) == 100


# Answers


@pytest.mark.contract("A45")
def test_an_answer_without_brokers_is_not_taken_over():
    metadata = made()
    metadata.add_topic("t", 0)
    told(metadata, ("t", [1]))
    before, version = metadata.cluster, metadata.update_version
    metadata.request_update()
    assert not metadata.update(metadata.next_ask(0), MetadataResponse(), LATEST, 500)
    assert metadata.cluster is before
    assert metadata.update_version == version
    assert metadata.is_update_requested
    assert metadata.time_to_next_update_ms(500) == 100


def test_a_leader_epoch_never_goes_back():
    metadata = made()
    metadata.add_topic("t", 0)
    told(metadata, ("t", [(1, 5)], ID))
    told(metadata, ("t", [(2, 4)], ID))  # from a broker that has not heard of the election
    assert metadata.leader("t", 0) == ONE
    assert metadata.leader_epoch("t", 0) == 5
    told(metadata, ("t", [(2, 6)], ID))
    assert metadata.leader("t", 0) == TWO
    assert metadata.cluster.partition("t", 0).leader_epoch == 6


def test_a_topic_that_was_created_again_begins_anew():
    metadata = made()
    metadata.add_topic("t", 0)
    told(metadata, ("t", [(1, 5)], ID))
    told(metadata, ("t", [(2, 0)], OTHER_ID))
    assert metadata.leader("t", 0) == TWO
    assert metadata.leader_epoch("t", 0) == 0
    assert metadata.cluster.topic_ids["t"] == OTHER_ID


def test_epochs_of_old_versions_are_not_relied_on():
    metadata = made()
    metadata.add_topic("t", 0)
    told(metadata, ("t", [(1, 5)]))
    told(metadata, ("t", [(2, 4)]), version=8)
    assert metadata.leader("t", 0) == TWO
    assert metadata.leader_epoch("t", 0) == -1
    assert metadata.cluster.partition("t", 0).leader_epoch == -1


def test_a_newer_epoch_in_another_answer_makes_what_is_known_old():
    metadata = made()
    metadata.add_topic("t", 0)
    told(metadata, ("t", [(1, 5)]))
    assert not metadata.saw_leader_epoch("t", 0, 5)
    assert not metadata.saw_leader_epoch("t", 1, 9)  # of a partition that is not known
    assert not metadata.is_update_requested
    assert metadata.saw_leader_epoch("t", 0, 6)
    assert metadata.is_update_requested
    told(metadata, ("t", [(2, 5)]))  # still the old one: not taken
    assert metadata.leader("t", 0) == ONE


def test_an_error_that_passes_asks_for_another_update():
    metadata = made()
    metadata.add_topic("t", 0)
    ask = metadata.next_ask(0)
    response = cluster_of(ONE)
    response.topics = [topic("t", [], error_code=5)]
    metadata.update(ask, response, LATEST, 0)
    assert metadata.is_update_requested
    assert metadata.topic_errors == {}


def test_a_partition_without_a_leader_asks_for_another_update():
    metadata = made()
    metadata.add_topic("t", 0)
    response = cluster_of(ONE, topics=[("t", [1, -1])])
    response.topics[0].partitions[1].error_code = 5
    metadata.update(metadata.next_ask(0), response, LATEST, 0)
    assert metadata.is_update_requested
    assert metadata.leader("t", 0) == ONE


def test_errors_that_do_not_pass_are_kept_until_they_are_gone():
    metadata = made()
    metadata.set_topics(["bad name", "secret", "good"], 0)
    response = cluster_of(ONE, topics=[("good", [1])])
    response.topics += [topic("bad name", [], error_code=17), topic("secret", [], error_code=29)]
    metadata.update(metadata.next_ask(0), response, LATEST, 0)
    kinds = {name: type(error) for name, error in metadata.topic_errors.items()}
    assert kinds == {"bad name": InvalidTopicException, "secret": TopicAuthorizationFailed}
    assert metadata.cluster.invalid_topics == {"bad name"}
    assert metadata.cluster.unauthorized_topics == {"secret"}
    assert not metadata.is_update_requested
    told(metadata, ("good", [1]), ("secret", [1]))
    assert metadata.topic_errors == {}


def test_a_fatal_error_is_told_once():
    metadata = made()
    error = SaslAuthenticationFailed("no")
    metadata.fatal(error)
    assert metadata.take_fatal() is error
    assert metadata.take_fatal() is None
