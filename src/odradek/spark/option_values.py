"""The values of options: text in, a checked value out, or one line that says what was expected."""

import json
import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.errors import SparkOptionError
from odradek.spark.source.rules import EARLIEST, EARLIEST_OFFSET, LATEST, AtOffsets, Before, OffsetRule

INT64_MAX = 2**63 - 1
_UNITS_MS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d+)\s*(us|ms|s|min|m|h|d)?")
_UNITS_BYTES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_BYTES = re.compile(r"(\d+)\s*([kmgt]?)(?:b|ib)?")
_OFFSETS_EXAMPLE = 'JSON such as {"orders":{"0":23,"1":-2}}'


def non_empty(name: str, text: str) -> str:
    if not text.strip():
        raise SparkOptionError(name, text, "must not be empty")
    return text.strip()


def boolean(name: str, text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise SparkOptionError(name, text, "must be true or false")
    return text.strip().lower() == "true"


def above_zero(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,19}", text.strip()) or not 0 < int(text) <= INT64_MAX:
        raise SparkOptionError(name, text, "must be a whole number above zero (it must be positive)")
    return int(text)


def milliseconds(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,19}", text.strip()) or int(text) > INT64_MAX:
        raise SparkOptionError(name, text, "must be a single whole number of milliseconds")
    return int(text)


def one_of(*words: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        if text.strip().lower() not in words:
            raise SparkOptionError(name, text, f"must be {' or '.join(words)}")
        return text.strip().lower()

    return parse


def duration_ms(name: str, text: str) -> int:
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise SparkOptionError(name, text, "must be a time such as 30s, 15m or 1h; a plain number is milliseconds")
    return int(int(match[1]) * _UNITS_MS[match[2] or "ms"])


def byte_count(name: str, text: str) -> int:
    match = _BYTES.fullmatch(text.strip().lower())
    if match is None or int(match[1]) == 0:
        raise SparkOptionError(name, text, "must be a size above zero such as 64m, 512k or 1g")
    return int(match[1]) * _UNITS_BYTES[match[2] or "b"]


def name_list(name: str, text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise SparkOptionError(name, text, "must name at least one topic")
    return names


def dir_list(name: str, text: str) -> tuple[str, ...]:
    """Whether they are there is for each task to see: it may run on another machine."""
    dirs = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not dirs or not all(each.startswith("/") for each in dirs):
        raise SparkOptionError(name, text, "must be whole paths of log dirs, separated by commas: /var/lib/kafka")
    return dirs


def pattern(name: str, text: str) -> str:
    """Spark's are Java's; what Python reads otherwise is rare (\\p{...}), and said."""
    if not text.strip():
        raise SparkOptionError(name, text, "must be a regular expression that a topic's name matches")
    try:
        re.compile(text.strip())
    except re.error as error:
        raise SparkOptionError(name, text, f"is no regular expression that Python knows: {error}") from None
    return text.strip()


def assigned_partitions(name: str, text: str) -> tuple[TopicPartition, ...]:
    example = 'must be JSON such as {"orders":[0,1]}'
    tree = _json(name, text, example)
    found = []
    for topic, numbers in tree.items():
        if not isinstance(numbers, list) or not all(type(each) is int and each >= 0 for each in numbers):
            raise SparkOptionError(name, text, example)
        found += [TopicPartition(topic, number) for number in numbers]
    if not found:
        raise SparkOptionError(name, text, f"names no partition; it {example}")
    return tuple(dict.fromkeys(found))


def starting_rule(name: str, text: str) -> OffsetRule:
    words = {"earliest": EARLIEST, "latest": LATEST}
    return _rule(name, text, words, f"must be earliest, latest, a time before now such as -10m, or {_OFFSETS_EXAMPLE}")


def ending_rule(name: str, text: str) -> OffsetRule:
    words = {"latest": LATEST}
    rule = _rule(name, text, words, f"must be latest, a time before now such as -10m, or {_OFFSETS_EXAMPLE}")
    for place, offset in rule.offsets.items() if isinstance(rule, AtOffsets) else ():
        if offset == EARLIEST_OFFSET:
            raise SparkOptionError(
                name, offset, f"topic {place.topic} partition {place.partition} cannot end at earliest"
            )
    return rule


def _rule(name: str, text: str, words: Mapping[str, OffsetRule], advice: str) -> OffsetRule:
    word = text.strip().lower()
    if word in words:
        return words[word]
    if word.startswith("-"):
        match = _DURATION.fullmatch(word[1:])
        if match is None or match[2] is None:
            raise SparkOptionError(name, text, advice)
        return Before(int(int(match[1]) * _UNITS_MS[match[2]]))
    return AtOffsets(_numbers(name, text, advice, least=EARLIEST_OFFSET))


def timestamps(name: str, text: str) -> dict[TopicPartition, int]:
    return _numbers(name, text, 'must be JSON such as {"orders":{"0":1700000000000}}', least=0)


def _numbers(name: str, text: str, advice: str, least: int) -> dict[TopicPartition, int]:
    """{"orders": {"0": 23}} as partitions."""
    found = {}
    for topic, numbers in _json(name, text, advice).items():
        if not isinstance(numbers, dict):
            raise SparkOptionError(name, text, advice)
        for partition, number in numbers.items():
            if not re.fullmatch(r"\d{1,9}", partition) or type(number) is not int or not least <= number <= INT64_MAX:
                raise SparkOptionError(name, text, advice)
            found[TopicPartition(topic, int(partition))] = number
    return found


def _json(name: str, text: str, advice: str) -> dict[str, object]:
    try:
        tree = json.loads(text)
    except ValueError:
        _refuse(name, text, advice)
    if not isinstance(tree, dict):
        _refuse(name, text, advice)
    return tree


def _refuse(name: str, text: str, advice: str) -> NoReturn:
    raise SparkOptionError(name, text, advice)
