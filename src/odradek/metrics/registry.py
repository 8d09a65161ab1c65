"""Every metric of a node by its Kafka name: group, type, name and tags, as in `kafka.server:type=...,name=...,topic=t`.

A component asks for its metric once and keeps it. Asking again for the same name gives the same object, so that two
components may count together; a gauge is replaced, because its owner may have been made anew.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from odradek.broken_rule import BrokenRuleError
from odradek.metrics.histogram import Histogram
from odradek.metrics.meter import Counter, Meter

Number = int | float | bool
Read = Callable[[], Number | None]
Tags = Mapping[str, str]


class MetricName(NamedTuple):
    """`name` is "" where Kafka's bean has none and its attributes are the metrics (`connection-count`)."""

    group: str
    type: str
    name: str
    attribute: str
    tags: tuple[tuple[str, str], ...]


class Gauge:
    """A value that is read when it is asked for; None while there is nothing to tell."""

    __slots__ = ("read",)

    def __init__(self, read: Read) -> None:
        self.read = read


Metric = Counter | Meter | Histogram | Gauge
M = TypeVar("M", Counter, Meter, Histogram, Gauge)

# A value that is there only while somebody looks: group, type, name, tags, value.
Collected = tuple[str, str, str, Tags, Number]
Collector = Callable[[], Iterable[Collected]]


class Registry:
    __slots__ = ("_before_reading", "_by_tag", "_collectors", "_metrics", "_mono_ms")

    def __init__(self, mono_ms: Callable[[], int] = lambda: 0) -> None:
        self._mono_ms = mono_ms
        self._metrics: dict[MetricName, Metric] = {}
        self._before_reading: list[Callable[[], object]] = []
        self._collectors: list[Collector] = []
        self._by_tag: dict[tuple[str, str], list[MetricName]] = {}  # for a topic that goes: there may be thousands

    def before_reading(self, callback: Callable[[], object]) -> None:
        """Called before the metrics are gone through: a hot path counts on slots of its own, and hands in there."""
        self._before_reading.append(callback)

    def meter(self, group: str, type_: str, name: str, tags: Tags | None = None) -> Meter:
        key = _key(group, type_, name, "", tags)
        found = self._metrics.get(key)
        if found is None:
            found = self._add(key, Meter(self._mono_ms()))
        if not isinstance(found, Meter):
            raise BrokenRuleError(f"{key} is a meter")
        return found

    def counter(self, group: str, type_: str, name: str, tags: Tags | None = None) -> Counter:
        key = _key(group, type_, name, "", tags)
        found = self._metrics.get(key)
        if found is None:
            found = self._add(key, Counter())
        if not isinstance(found, Counter):
            raise BrokenRuleError(f"{key} is a counter")
        return found

    def histogram(self, group: str, type_: str, name: str, tags: Tags | None = None) -> Histogram:
        key = _key(group, type_, name, "", tags)
        found = self._metrics.get(key)
        if found is None:
            found = self._add(key, Histogram(self._mono_ms()))
        if not isinstance(found, Histogram):
            raise BrokenRuleError(f"{key} is a histogram")
        return found

    def gauge(self, group: str, type_: str, name: str, read: Read, tags: Tags | None = None) -> Gauge:
        return self._add(_key(group, type_, name, "", tags), Gauge(read))

    def attribute(self, group: str, type_: str, attribute: str, read: Read, tags: Tags | None = None) -> Gauge:
        """An attribute of a bean without a name, as Kafka's clients and its network layer have them."""
        return self._add(_key(group, type_, "", attribute, tags), Gauge(read))

    def _add(self, key: MetricName, metric: M) -> M:
        if key not in self._metrics:
            for tag in key.tags:
                self._by_tag.setdefault(tag, []).append(key)
        self._metrics[key] = metric
        return metric

    def collect(self, collector: Collector) -> None:
        """Adds a source of metrics of which there are thousands, such as partitions': they are made when read."""
        self._collectors.append(collector)

    def remove(self, group: str, type_: str, name: str, tags: Tags | None = None) -> None:
        """Removes a metric, by its name or attribute, if it is there."""
        for key in (_key(group, type_, name, "", tags), _key(group, type_, "", name, tags)):
            if key in self._metrics:
                self._drop(key)

    def remove_tagged(self, **tags: str) -> None:
        """Removes every metric that has all these tags: those of a deleted topic or a closed connection."""
        wanted = set(tags.items())
        fewest = min((self._by_tag.get(tag, []) for tag in wanted), key=len)
        for key in [key for key in fewest if wanted <= set(key.tags)]:
            self._drop(key)

    def _drop(self, key: MetricName) -> None:
        del self._metrics[key]
        for tag in key.tags:
            tagged = self._by_tag[tag]
            tagged.remove(key)
            if not tagged:
                del self._by_tag[tag]

    def find(self, group: str, type_: str, name: str, tags: Tags | None = None) -> Metric | None:
        """The metric of this name, or None; it is not made."""
        return self._metrics.get(_key(group, type_, name, "", tags)) or self._metrics.get(
            _key(group, type_, "", name, tags)
        )

    def __iter__(self) -> Iterator[tuple[MetricName, Metric]]:
        """All metrics in the order of their names, so that those of one family stand together."""
        for callback in self._before_reading:
            callback()
        return iter(sorted([*self._metrics.items(), *self._collected()], key=lambda pair: pair[0]))

    def _collected(self) -> Iterator[tuple[MetricName, Metric]]:
        for collector in self._collectors:
            for group, type_, name, tags, value in collector():
                yield _key(group, type_, name, "", tags), Gauge(_always(value))

    def __len__(self) -> int:
        return len(self._metrics)

    def mono_ms(self) -> int:
        return self._mono_ms()


def _key(group: str, type_: str, name: str, attribute: str, tags: Tags | None) -> MetricName:
    return MetricName(group, type_, name, attribute, tuple(tags.items()) if tags else ())


def _always(value: Number) -> Read:
    return lambda: value
