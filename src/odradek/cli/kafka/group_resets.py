"""`--reset-offsets` of `kafka-consumer-groups.sh`: where groups without members go on.

A scope (topics, or all that the group has committed), a scenario (the earliest, a time, a file ...), and whether it is
done or only shown. The offsets that come of it always lie in the logs.
"""

import csv
import io
import sys
import time
from collections.abc import Callable, Iterable, Mapping

from odradek.cli.failure import Refusal
from odradek.cli.kafka.columns import line, widest
from odradek.cli.kafka.group_listing import consumer_groups, seconds
from odradek.cli.kafka.java_errors import as_java, words
from odradek.cli.kafka.java_order import in_java_order
from odradek.cli.kafka.options import Given, Misuse
from odradek.cli.kafka.partitions_named import named_partitions
from odradek.cli.kafka.times import duration_ms, time_ms
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.topics import EARLIEST, LATEST
from odradek.protocol.errors import GroupIdNotFound, KafkaError
from odradek.protocol.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]

_INACTIVE = ("Empty", "Dead")


def reset(given: Given, admin: AdminClient) -> None:
    timeout = seconds(given)
    names = list(consumer_groups(admin, timeout)) if given.has("all-groups") else given.values("group")
    described = admin.describe_groups(names, timeout=timeout)
    found: dict[str, Offsets] = {}
    for name in in_java_order(names):
        error = described.errors.get(name)
        if error is not None and not isinstance(error, GroupIdNotFound):
            raise error
        if error is None and described[name].state not in _INACTIVE:
            print(
                f"\nError: Assignments can only be reset if the group '{name}' is inactive, but the current state is "
                f"{described[name].state}."
            )
            found[name] = {}
        else:
            found[name] = _reset_group(given, admin, name, timeout)
    if given.has("export"):
        print(exported(found, names_group=len(given.values("group")) != 1))
    else:
        print_offsets_to_reset(found)


def _reset_group(given: Given, admin: AdminClient, group: str, timeout: float) -> Offsets:
    places = _scope(given, admin, group)
    offsets = _Scenario(given, admin, group, places).offsets()
    if given.has("execute"):
        try:
            admin.alter_group_offsets(group, offsets, timeout=timeout).raise_any()
        except KafkaError as error:
            raise Refusal(words(error)) from None
    return offsets


def _scope(given: Given, admin: AdminClient, group: str) -> list[TopicPartition]:
    if given.has("all-topics"):
        return list(admin.list_group_offsets(group)[group])
    if given.has("topic"):
        return existing_partitions(admin, given.values("topic"))
    if not given.has("from-file"):
        raise Misuse("One of the reset scopes should be defined: --all-topics, --topic.")
    return []


def existing_partitions(admin: AdminClient, topics: Iterable[str]) -> list[TopicPartition]:
    places, unknown = named_partitions(admin, topics)
    for error in unknown.values():
        raise Refusal(words(error))
    known = admin.describe_topics({place.topic for place in places})
    for error in known.errors.values():
        raise Refusal(words(error))
    strange = [place for place in places if place.partition not in range(len(known[place.topic].partitions))]
    if strange:
        raise Refusal(f'The partitions "{",".join(map(str, strange))}" do not exist')
    return places


class _Scenario:
    """Where the partitions of one group are reset to."""

    def __init__(self, given: Given, admin: AdminClient, group: str, places: list[TopicPartition]) -> None:
        self._given = given
        self._admin = admin
        self._group = group
        self._places = places

    def offsets(self) -> Offsets:
        ways: dict[str, Callable[[], Offsets]] = {
            "to-offset": lambda: self._within(dict.fromkeys(self._places, self._number("to-offset"))),
            "to-earliest": lambda: offsets_at(self._admin, self._places, EARLIEST),
            "to-latest": lambda: offsets_at(self._admin, self._places, LATEST),
            "shift-by": self._shifted,
            "to-datetime": lambda: offsets_at_time(self._admin, self._places, time_ms(self._given.text("to-datetime"))),
            "by-duration": self._some_time_ago,
            "from-file": self._from_file,
            "to-current": self._current,
        }
        for name, way in ways.items():
            if self._given.has(name):
                return way()
        names = ", ".join(f"[{name}]" for name in ways)
        raise Misuse(f"Option '[reset-offsets]' requires one of the following scenarios: [{names}]")

    def _number(self, name: str) -> int:
        return self._given.integer(name) or 0

    def _some_time_ago(self) -> Offsets:
        now_ms = time.time_ns() // 1_000_000
        return offsets_at_time(self._admin, self._places, now_ms - duration_ms(self._given.text("by-duration")))

    def _committed(self) -> Offsets:
        found = self._admin.list_group_offsets(self._group)[self._group]
        return {place: found[place].offset for place in self._places if place in found}

    def _shifted(self) -> Offsets:
        committed = self._committed()
        for place in self._places:
            if place not in committed:
                raise Refusal(f"Cannot shift offset for partition {place} since there is no current committed offset")
        by = self._number("shift-by")
        return self._within({place: offset + by for place, offset in committed.items()})

    def _current(self) -> Offsets:
        committed = self._committed()
        new = [place for place in self._places if place not in committed]
        return committed | offsets_at(self._admin, new, LATEST)

    def _from_file(self) -> Offsets:
        plan = read_plan(self._given.text("from-file"), self._given.values("group"))
        if self._group not in plan:
            print(f"\nError: No reset plan for group {self._group} found")
            return {}
        return self._within(plan[self._group])

    def _within(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """What lies outside of a log is moved to its nearer end, and that is said."""
        first, last = (offsets_at(self._admin, wanted, end) for end in (EARLIEST, LATEST))
        offsets = {}
        for place, offset in wanted.items():
            offsets[place] = min(max(offset, first[place]), last[place])
            if offsets[place] != offset:
                which = "higher than latest" if offset > last[place] else "lower than earliest"
                print(
                    f"WARN New offset ({offset}) is {which} offset for topic partition {place}. "
                    f"Value will be set to {offsets[place]}",
                    file=sys.stderr,
                )
        return offsets


def offsets_at(admin: AdminClient, places: Iterable[TopicPartition], when: int) -> Offsets:
    found = admin.list_offsets(dict.fromkeys(places, when))
    for error in found.errors.values():
        raise Refusal(as_java(error))
    return {place: each.offset for place, each in found.items()}


def offsets_at_time(admin: AdminClient, places: Iterable[TopicPartition], when_ms: int) -> Offsets:
    """Partitions that have nothing as new as that are reset to their ends."""
    found = offsets_at(admin, places, when_ms)
    late = [place for place in in_java_order(found) if found[place] < 0]
    for topic, number in late:
        print(f"\nWarn: Partition {number} from topic {topic} is empty. Falling back to latest known offset.")
    return found | offsets_at(admin, late, LATEST)


def read_plan(path: str, groups: list[str]) -> dict[str, Offsets]:
    """Lines `topic,partition,offset` for a single group, else `group,topic,partition,offset`."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError:
        raise Refusal(f"java.io.IOException: Unable to read file {path}") from None
    plan: dict[str, Offsets] = {}
    is_of_one = len(groups) == 1 and bool(rows) and len(rows[0]) == 3
    for row in rows:
        try:
            group, topic, partition, offset = [groups[0], *row] if is_of_one else row
            plan.setdefault(group.strip(), {})[TopicPartition(topic.strip(), int(partition))] = int(offset)
        except ValueError:
            if not is_of_one and len(row) == 3:  # a plan for a single group, and there are several
                continue
            raise Refusal(f"{path}: {','.join(row)} is no line of a reset plan") from None
    return plan


def exported(found: Mapping[str, Offsets], *, names_group: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for group in in_java_order(found):
        for place in in_java_order(found[group]):
            writer.writerow([*([group] if names_group else []), place.topic, place.partition, found[group][place]])
    return text.getvalue()


def print_offsets_to_reset(found: Mapping[str, Offsets]) -> None:
    topics = (place.topic for offsets in found.values() for place in offsets)
    widths = [widest(15, found), widest(15, topics), 10]
    if found:
        print(f"\n{line(widths, ['GROUP', 'TOPIC', 'PARTITION', 'NEW-OFFSET'])}")
    for group in in_java_order(found):
        for place in in_java_order(found[group]):
            print(line(widths, [group, place.topic, place.partition, found[group][place]]))
