"""What has come out of the pipeline, read back, and how it differs from what has to come out: to the row."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from demo_expected import BEST_SELLERS, CLICKS_DEAD, MINUTES, ORDERS_DEAD, SALES, Bag, Row
from odradek import KafkaConsumer, Record, TopicPartition

_SHOWN = 5


@dataclass(frozen=True)
class Outcome:
    """Of one result."""

    name: str
    expected: Bag
    found: Bag

    @property
    def missing(self) -> Bag:
        return self.expected - self.found

    @property
    def surplus(self) -> Bag:
        return self.found - self.expected

    @property
    def is_right(self) -> bool:
        return self.expected == self.found


def outcomes(expected: Mapping[str, Bag], found: Mapping[str, Bag]) -> list[Outcome]:
    return [Outcome(name, bag, found.get(name, Counter())) for name, bag in expected.items()]


def told(outcomes: list[Outcome]) -> Iterator[str]:
    """A table, and then the rows that differ."""
    yield f"  {'result':<20}{'expected':>10}{'found':>10}{'missing':>10}{'surplus':>10}"
    for each in outcomes:
        counts = "".join(f"{bag.total():>10,}" for bag in (each.expected, each.found, each.missing, each.surplus))
        yield f"  {each.name:<20}{counts}  {'ok' if each.is_right else 'WRONG'}"
    for each in outcomes:
        yield from _differences(each, "missing", each.missing)
        yield from _differences(each, "surplus", each.surplus)


def _differences(outcome: Outcome, word: str, bag: Bag) -> Iterator[str]:
    for row in sorted(bag, key=repr)[:_SHOWN]:
        yield f"  {outcome.name}: {word}: {row} x {bag[row]}"
    if len(bag) > _SHOWN:
        yield f"  {outcome.name}: {word}: and {len(bag) - _SHOWN} more"


def in_topics(bootstrap: str) -> dict[str, Bag]:
    """The results that are topics, as a reader of committed records sees them."""
    found = {name: Counter(map(_fields, _records(bootstrap, name))) for name in (MINUTES, BEST_SELLERS, SALES)}
    return found | {name: _dead(bootstrap, name) for name in (CLICKS_DEAD, ORDERS_DEAD)}


def _fields(record: Record) -> Row:
    return tuple(json.loads(record.value).values())


def _dead(bootstrap: str, topic: str) -> Bag:
    """Dead letters are at least once: one that came from the same place is the same."""
    by_place = {_place(record): (record.value,) for record in _records(bootstrap, topic)}
    return Counter(by_place.values())


def _place(record: Record) -> tuple[bytes | None, ...]:
    headers = dict(record.headers)
    return tuple(headers[f"odradek.{name}"] for name in ("topic", "partition", "offset"))


def _records(bootstrap: str, topic: str) -> list[Record]:
    configs = {"bootstrap_servers": bootstrap, "isolation_level": "read_committed", "auto_offset_reset": "earliest"}
    with KafkaConsumer(**configs) as consumer:
        consumer.assign([TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)])
        return list(consumer.records(until_end=True))
