"""Which partition a record goes to if it names none: by key, sticky, or by what a program has plugged in."""

import collections

import pytest

from accumulator_kit import accumulator, executors
from odradek.channel.cluster import Cluster, PartitionInfo
from odradek.channel.node import Node
from odradek.client.producer.partitioners import (
    DefaultPartitioner,
    RoundRobinPartitioner,
    UniformStickyPartitioner,
    partitioner,
)
from odradek.config.errors import ConfigError
from odradek.records.murmur2 import partition_for
from odradek.sim.rng import SimRng

both = pytest.mark.parametrize("executor", executors())
VALUE = b"x" * 300  # three of them fill a batch of the kit


def send(made, key=None, value=VALUE):
    """The partition that the record went to."""
    return made.send("t", value, key).batch.queue.place[1]


def empty(made):
    for queue in made.topics["t"].queues:
        while queue.take() is not None:
            pass


def drawn(made, times=3000):
    """How often each partition became the sticky one."""
    topic = made.topics["t"]
    return collections.Counter(made.next_sticky(topic) for _ in range(times))


# The built-in one, of Kafka 3.3


@both
@pytest.mark.contract("A55", "A57")
def test_a_key_decides_with_all_partitions_also_those_without_a_leader(executor):
    made = accumulator(executor, partitions=5)
    made.set_topic("t", [1, -1, -1, 1, -1])
    keys = [b"k%d" % number for number in range(40)]
    assert [send(made, key) for key in keys] == [partition_for(key, 5) for key in keys]


@both
@pytest.mark.contract("A33")
def test_keys_are_ignored_if_that_is_what_is_wanted(executor):
    made = accumulator(executor, partitions=5, ignores_keys=True)
    assert len({send(made, b"k%d" % number, b"v") for number in range(20)}) == 1


@both
@pytest.mark.contract("A58", "A62")
def test_one_partition_is_kept_until_a_batch_is_full_of_it(executor):
    made = accumulator(executor, partitions=50)
    places = [send(made) for _ in range(300)]
    runs = [places[at : at + 3] for at in range(0, 300, 3)]
    assert all(len(set(run)) == 1 for run in runs), "three records a batch, and none is left half full"
    assert len({run[0] for run in runs}) > 20, "and then it is another one"


@both
@pytest.mark.contract("A62")
def test_what_is_counted_is_bytes_over_batches(executor):
    """Batches that go out early, as with linger 0, do not spread records thin: the partition stays the same."""
    made = accumulator(executor, partitions=50)
    places = []
    for _ in range(9):
        places.append(send(made))
        empty(made)
    assert len({*places[:3]}) == 1
    assert len(set(places)) > 1


@both
@pytest.mark.contract("A62")
def test_a_batch_that_is_begun_is_filled_before_it_moves_on(executor):
    made = accumulator(executor, partitions=50)
    first = send(made, value=b"x" * 700)
    empty(made)
    assert send(made, value=b"x" * 100) == first
    assert send(made, value=b"x" * 100) == first, "more than a batch's worth has gone there, but this one has room"
    assert made.topics["t"].produced_bytes > 900
    empty(made)
    assert send(made, value=b"x" * 100) != first, "and now nothing is begun there"


@both
@pytest.mark.contract("A62")
def test_records_with_a_key_or_a_partition_do_not_count(executor):
    made = accumulator(executor, partitions=50)
    first = send(made, value=b"v")
    counted = made.topics["t"].produced_bytes
    for number in range(20):
        send(made, b"k%d" % number)
    made.append(made.topics["t"], first, 5, None, VALUE, b"\0")
    assert made.topics["t"].produced_bytes == counted
    assert send(made, value=b"v") == first


@both
@pytest.mark.contract("A32")
def test_partitions_with_fewer_batches_waiting_are_chosen_more_often(executor):
    made = accumulator(executor, partitions=3)
    for _ in range(3):
        made.append(made.topics["t"], 1, 5, None, b"x" * 990, b"\0")
    made.append(made.topics["t"], 2, 5, None, b"x" * 990, b"\0")
    found = drawn(made)  # weights 4, 1, 3
    assert 1300 < found[0] < 1700 and 275 < found[1] < 475 and 950 < found[2] < 1300, found


@both
@pytest.mark.contract("A32")
def test_without_adaptive_partitioning_all_with_a_leader_are_alike(executor):
    made = accumulator(executor, partitions=4, adaptive=False)
    for _ in range(5):
        made.append(made.topics["t"], 1, 5, None, b"x" * 990, b"\0")
    made.set_topic("t", [1, 1, 1, -1])
    found = drawn(made)
    assert set(found) == {0, 1, 2} and min(found.values()) > 850, found


@both
@pytest.mark.contract("A32", "A60")
def test_one_whose_leader_takes_nothing_is_left_out(executor):
    made = accumulator(executor, partitions=3)
    made.topics["t"].queues[1].is_available = False
    assert set(drawn(made)) == {0, 2}
    made.topics["t"].queues[1].is_available = True
    assert set(drawn(made)) == {0, 1, 2}


@both
@pytest.mark.contract("A60")
def test_exactly_one_with_a_leader_is_that_one_and_without_any_it_is_any(executor):
    made = accumulator(executor, partitions=3)
    made.set_topic("t", [-1, 1, -1])
    assert set(drawn(made)) == {1}
    made.set_topic("t", [-1, -1, -1])
    assert set(drawn(made)) == {0, 1, 2}


# Those that a program names: Kafka's of before 3.3


def cluster(*leaders):
    """Of topic "t", whose partitions are led by these; -1: nobody."""
    return Cluster("c", [Node(1, "a", 1)], [PartitionInfo("t", at, leader) for at, leader in enumerate(leaders)])


def chance():
    return SimRng(3).stream("partitioner")


def ask(plugged, known, key=None):
    return plugged.partition("t", key, key, b"v", b"v", known)


@pytest.mark.contract("A58", "A59", "A61")
def test_the_sticky_one_changes_once_for_a_new_batch_whoever_comes_with_it():
    known = cluster(1, 1, 1, 1)
    plugged = UniformStickyPartitioner(chance())
    first = ask(plugged, known, b"key")
    assert [ask(plugged, known) for _ in range(5)] == [first] * 5
    plugged.on_new_batch("t", known, first)
    second = ask(plugged, known)
    assert second != first
    plugged.on_new_batch("t", known, first)  # another thread, whose batch is as old
    assert ask(plugged, known) == second
    plugged.on_new_batch("other", known, 0)
    assert ask(plugged, known) == second, "each topic has its own"


@pytest.mark.contract("A60")
def test_a_new_sticky_one_has_a_leader_and_is_another_if_there_is_another():
    plugged = UniformStickyPartitioner(chance())
    known = cluster(-1, 1, -1, 1)
    for _ in range(20):
        before = ask(plugged, known)
        plugged.on_new_batch("t", known, before)
        assert {before, ask(plugged, known)} == {1, 3}
    only = cluster(-1, 1, -1)
    plugged.on_new_batch("t", only, ask(plugged, known))
    plugged.on_new_batch("t", only, ask(plugged, only))
    assert ask(plugged, only) == 1
    none = cluster(-1, -1, -1)
    found = set()
    for _ in range(60):
        plugged.on_new_batch("t", none, ask(plugged, none))
        found.add(ask(plugged, none))
    assert found == {0, 1, 2}


@pytest.mark.contract("A56")
def test_the_default_of_3_0_hashes_keys_and_is_sticky_without_one():
    known = cluster(1, -1, 1, 1, -1)
    plugged = DefaultPartitioner(chance())
    keys = [b"k%d" % number for number in range(30)]
    assert [ask(plugged, known, key) for key in keys] == [partition_for(key, 5) for key in keys]
    assert len({ask(plugged, known) for _ in range(10)}) == 1


def test_round_robin_goes_round_those_with_a_leader_whatever_the_key():
    plugged = RoundRobinPartitioner()
    known = cluster(1, -1, 1, 1)
    assert [ask(plugged, known, b"k") for _ in range(5)] == [0, 2, 3, 0, 2]
    assert [ask(plugged, cluster(-1, -1)) for _ in range(3)] == [1, 0, 1]


class Chosen:
    """A program's own."""

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        return len(cluster.partitions(topic)) - 1


@pytest.mark.contract("A9")
@pytest.mark.parametrize("given", [Chosen(), Chosen, lambda topic, *_: 2, "org.apache.kafka.clients.producer.Nobody"])
def test_a_program_gives_an_object_a_class_a_function_or_a_name(given):
    if isinstance(given, str):
        with pytest.raises(ConfigError, match=r"partitioner\.class"):
            partitioner(given, chance())
    else:
        assert ask(partitioner(given, chance()), cluster(1, 1, 1)) == 2


@pytest.mark.contract("A9")
@pytest.mark.parametrize("name", ["RoundRobinPartitioner", "UniformStickyPartitioner", "internals.DefaultPartitioner"])
def test_kafkas_own_go_by_kafkas_names(name):
    made = partitioner(f"org.apache.kafka.clients.producer.{name}", chance())
    assert type(made).__name__ == name.rpartition(".")[2]
    assert ask(made, cluster(1)) == 0


def test_nothing_given_is_the_built_in_one_and_something_else_is_refused():
    assert partitioner(None, chance()) is None
    with pytest.raises(TypeError, match="int has neither"):
        partitioner(5, chance())
