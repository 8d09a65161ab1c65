"""How many partitions the internal topics of a topology must have.

A repartition topic may bring its own number. One that does not gets the most partitions that any subtopology that
writes it reads; so the numbers flow along the topology, from the source topics on. A loop is cut where something is
known already. Topics that are read together (a copartition group) must agree, and those without a number of their own
follow the others. A changelog has as many partitions as its subtopology has tasks.

Each step looks at every mention of a topic once: the size of a topology is up to whoever sends it.
"""

from collections import deque
from collections.abc import Callable, Iterable

from odradek.coordinator.group.streams.topology import Subtopology, Topology, read_by
from odradek.protocol import errors

CountOf = Callable[[str], int | None]  # of a topic that there is


class IncorrectlyPartitionedError(Exception):
    """The topics do not fit together: not the request is wrong but the state of the cluster."""


def decide(topology: Topology, existing: CountOf) -> dict[str, int]:
    """The partitions of every internal topic. StreamsInvalidTopology if the topology leaves one open."""
    decided = {
        topic.name: topic.partitions
        for subtopology in topology.subtopologies
        for topic in subtopology.repartition_source_topics
        if topic.partitions
    }
    fixed = frozenset(decided)
    flexible = _Flow(topology, decided, existing).run(topology)

    def count_of(name: str) -> int | None:
        found = existing(name)
        return decided.get(name) if found is None else found

    for names in _copartitioned(topology):
        _agree(names, fixed, flexible, count_of, decided)
    for subtopology in topology.subtopologies:
        tasks = task_count(subtopology, count_of)
        decided.update((topic.name, tasks) for topic in subtopology.state_changelog_topics)
    return decided


def task_count(subtopology: Subtopology, count_of: CountOf) -> int:
    """One task for each partition of the topic that has the most."""
    most = max((count_of(name) or 0 for name in read_by(subtopology)), default=0)
    if not most:
        raise errors.StreamsInvalidTopology(f"No source topics found for subtopology {subtopology.subtopology_id}")
    return most


class _Flow:
    """From the topics that are known to the repartition topics that are not: each subtopology tells once."""

    __slots__ = ("_decided", "_existing", "_most", "_open", "_partial", "_readers", "_ready", "_told", "_waits")

    def __init__(self, topology: Topology, decided: dict[str, int], existing: CountOf) -> None:
        self._decided = decided
        self._open: dict[str, int] = {  # by topic, how many writers have yet to tell
            topic.name: 0
            for subtopology in topology.subtopologies
            for topic in subtopology.repartition_source_topics
            if topic.name not in decided
        }
        self._most: dict[str, int] = {}  # what those that have told told
        self._readers: dict[str, list[int]] = {name: [] for name in self._open}
        self._waits: list[int] = []  # by subtopology, for how many topics; -1 once it has told
        self._ready: deque[int] = deque()  # all that they read is known
        self._partial: deque[int] = deque()  # something is
        self._told: deque[str] = deque()  # topics that not all writers have told of
        self._existing = existing
        for index, subtopology in enumerate(topology.subtopologies):
            self._add(index, subtopology)

    def _add(self, index: int, subtopology: Subtopology) -> None:
        for sink in subtopology.repartition_sink_topics:
            if sink in self._open:
                self._open[sink] += 1
        reads = list(read_by(subtopology))
        waits_for = [name for name in reads if name in self._open]
        for name in waits_for:
            self._readers[name].append(index)
        self._waits.append(len(waits_for))
        if not waits_for:
            self._ready.append(index)
        elif len(waits_for) < len(reads):
            self._partial.append(index)

    def run(self, topology: Topology) -> frozenset[str]:
        """Decides all that are open, and says which they were."""
        names = frozenset(self._open)
        if not all(self._open.values()):
            raise errors.StreamsInvalidTopology(
                "Failed to compute number of partitions for all repartition topics, "
                "because a repartition source topic is never used as a sink topic."
            )
        while self._open and self._step(topology):
            pass
        if self._open:
            raise errors.StreamsInvalidTopology(
                "Failed to compute number of partitions for all repartition topics. "
                "There may be loops in the topology that cannot be resolved."
            )
        return names

    def _step(self, topology: Topology) -> bool:
        if self._ready or self._partial:
            index = self._ready.popleft() if self._ready else self._partial.popleft()
            self._tell(index, topology.subtopologies[index])
            return True
        if self._told:
            self._decide(self._told.popleft())
            return True
        return False

    def _tell(self, index: int, subtopology: Subtopology) -> None:
        if self._waits[index] < 0:
            return
        self._waits[index] = -1
        most = max((self._known(name) for name in read_by(subtopology)), default=0)
        for sink in subtopology.repartition_sink_topics:
            if sink not in self._open:
                continue
            self._open[sink] -= 1
            if most > self._most.get(sink, 0):
                self._most[sink] = most
            if self._open[sink]:
                self._told.append(sink)
            else:
                self._decide(sink)

    def _known(self, name: str) -> int:
        """0 if it is not known yet."""
        if name in self._open:
            return 0
        return self._decided.get(name) or self._existing(name) or 0

    def _decide(self, name: str) -> None:
        if name not in self._open or name not in self._most:
            return
        self._decided[name] = self._most[name]
        del self._open[name]
        for reader in self._readers[name]:
            if self._waits[reader] > 0:
                self._waits[reader] -= 1
                (self._partial if self._waits[reader] else self._ready).append(reader)


# Topics that are read together


def _copartitioned(topology: Topology) -> Iterable[set[str]]:
    for subtopology in topology.subtopologies:
        for group in subtopology.copartition_groups:
            names = {subtopology.source_topics[index] for index in group.source_topics}
            names.update(subtopology.repartition_source_topics[index].name for index in group.repartition_source_topics)
            if names:
                yield names


def _agree(
    names: set[str], fixed: frozenset[str], flexible: frozenset[str], count_of: CountOf, decided: dict[str, int]
) -> None:
    """Topics of the user rule; else repartition topics with a number of their own; else the largest."""
    repartition = {name for name in names if name in fixed or name in flexible}
    rulers = names - repartition or repartition & fixed
    counts = {name: count_of(name) or 0 for name in sorted(names)}
    agreed = max(counts[name] for name in rulers or names)
    if any(counts[name] != agreed for name in rulers):
        shown = ", ".join(f"{name}={count}" for name, count in counts.items() if name in rulers)
        raise IncorrectlyPartitionedError(f"Following topics do not have the same number of partitions: [{{{shown}}}]")
    for name in sorted(repartition):
        if name in fixed and counts[name] != agreed:
            raise IncorrectlyPartitionedError(
                f"Number of partitions [{counts[name]}] of repartition topic [{name}] doesn't match number of "
                f"partitions [{agreed}] of the source topic."
            )
        decided[name] = agreed
