"""Replica placement: even, over racks, never on a fenced broker if it can be helped."""

from collections import Counter

import pytest

from controllers import Harness
from odradek.controller.placement import Host, place
from odradek.protocol.errors import InvalidReplicationFactor
from odradek.sim.rng import SimRng


def stream(seed: int = 1):
    return SimRng(seed).stream("placement")


def hosts(count: int, racks: int = 0, fenced: frozenset[int] = frozenset()) -> list[Host]:
    return [Host(i, f"r{i % racks}" if racks else None, i in fenced) for i in range(count)]


def test_leaders_and_replicas_are_spread_evenly() -> None:
    placed = place(hosts(5), 100, 3, stream())
    assert set(Counter(replicas[0] for replicas in placed).values()) == {20}
    counts = Counter(broker for replicas in placed for broker in replicas)
    assert max(counts.values()) - min(counts.values()) <= 12
    assert all(len(set(replicas)) == 3 for replicas in placed)


def test_brokers_that_share_a_leader_do_not_share_all_followers() -> None:
    placed = place(hosts(6), 60, 3, stream())
    followers = {tuple(sorted(replicas[1:])) for replicas in placed if replicas[0] == 0}
    assert len(followers) > 2


@pytest.mark.parametrize(("count", "racks", "factor"), [(6, 3, 3), (6, 2, 2), (5, 2, 3), (7, 3, 5), (4, 4, 2)])
def test_a_rack_is_used_twice_only_when_every_rack_has_been_used(count: int, racks: int, factor: int) -> None:
    for replicas in place(hosts(count, racks), 50, factor, stream()):
        used = Counter(broker % racks for broker in replicas)
        assert len(used) == min(racks, factor), replicas


def test_fenced_brokers_come_last() -> None:
    fenced = frozenset({0, 3})
    for replicas in place(hosts(5, fenced=fenced), 20, 3, stream()):
        assert not fenced & set(replicas)
    for replicas in place(hosts(5, fenced=fenced), 20, 4, stream()):
        assert replicas[0] not in fenced
        assert len(fenced & set(replicas)) == 1


def test_refusals() -> None:
    with pytest.raises(InvalidReplicationFactor, match="only 2 broker"):
        place(hosts(2), 1, 3, stream())
    with pytest.raises(InvalidReplicationFactor, match="fenced"):
        place(hosts(2, fenced=frozenset({0, 1})), 1, 1, stream())


def test_the_same_stream_places_alike_and_another_starts_elsewhere() -> None:
    assert place(hosts(5), 10, 2, stream(3)) == place(hosts(5), 10, 2, stream(3))
    starts = {place(hosts(5), 1, 1, stream(seed))[0][0] for seed in range(30)}
    assert len(starts) > 2


def test_topics_on_a_cluster_with_racks() -> None:
    harness = Harness()
    harness.brokers(1, 2, 3, 4, 5, 6, racks={1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"})
    harness.create("t", partitions=12, replicas=3)
    for partition in harness.core.topics.by_name["t"].partitions.values():
        assert len({(broker - 1) // 2 for broker in partition.replicas}) == 3
        assert partition.isr == partition.replicas
    harness.core.validate()
