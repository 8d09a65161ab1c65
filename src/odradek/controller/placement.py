"""Where new replicas go: striped over the brokers, over the racks first, and never drawn by chance alone.

The brokers are put in one ring in which racks alternate. A partition's first replica, its preferred leader, is the
next broker of the ring after that of the partition before; the others follow it at a shift that grows with every
round, so that two brokers that share a leader do not share all followers. A rack is used twice only when every rack
has been used. Where the ring starts is drawn, so that small topics do not all begin at the same broker.

Brokers that are fenced get replicas only when there are not enough others, and never the first.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from odradek.protocol.errors import InvalidReplicationFactor
from odradek.reactor.ports import Stream


class Host(NamedTuple):
    """A broker that may get replicas."""

    id: int
    rack: str | None
    is_fenced: bool


def place(
    hosts: Iterable[Host], count: int, replication_factor: int, stream: Stream, first: int = 0
) -> list[list[int]]:
    """The replicas of `count` partitions from number `first` on, each list with its preferred leader in front."""
    every = sorted(hosts)
    unfenced = [host for host in every if not host.is_fenced]
    if not unfenced:
        raise InvalidReplicationFactor("All brokers are currently fenced.")
    if replication_factor > len(every):
        raise InvalidReplicationFactor(
            f"The target replication factor of {replication_factor} cannot be reached because only"
            f" {len(every)} broker(s) are registered"
        )
    if len(every) == 1:
        return [[every[0].id]] * count
    ring = _alternate_racks(unfenced)
    spare = _alternate_racks([host for host in every if host.is_fenced])
    start = stream.below(len(ring))
    shift = stream.below(len(ring))
    return [
        _replicas(ring, spare, start + index, shift + index // len(ring), replication_factor)
        for index in range(first, first + count)
    ]


def _alternate_racks(hosts: Sequence[Host]) -> list[Host]:
    by_rack: dict[str, list[Host]] = {}
    for host in hosts:
        by_rack.setdefault(host.rack or "", []).append(host)
    longest = max(map(len, by_rack.values()), default=0)
    columns = [by_rack[rack] for rack in sorted(by_rack)]
    return [column[row] for row in range(longest) for column in columns if row < len(column)]


def _replicas(ring: list[Host], spare: list[Host], leader: int, shift: int, count: int) -> list[int]:
    size = len(ring)
    first = leader % size
    rest = [ring[(first + 1 + (shift + step) % (size - 1)) % size] for step in range(size - 1)] if size > 1 else []
    chosen = [ring[first]]
    _choose(chosen, rest, count)
    if len(chosen) < count:
        turn = leader % len(spare)
        _choose(chosen, spare[turn:] + spare[:turn], count)
    return [host.id for host in chosen]


def _choose(chosen: list[Host], candidates: list[Host], count: int) -> None:
    """Appends candidates up to `count`: first those whose rack is new, then the others in their order."""
    racks = {host.rack for host in chosen}
    passed_over = []
    for host in candidates:
        if len(chosen) == count:
            return
        if host.rack is not None and host.rack in racks:
            passed_over.append(host)
        else:
            chosen.append(host)
            racks.add(host.rack)
    chosen.extend(passed_over[: count - len(chosen)])
