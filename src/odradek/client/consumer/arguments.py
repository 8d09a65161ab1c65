"""What programs hand to the methods of a consumer, as these take it."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from odradek.client.consumer.group_session import Subscription
from odradek.protocol.topic_partition import TopicPartition

FOR_EVER_MS = 1 << 40


def milliseconds(timeout: float) -> int:
    if timeout < 0:
        raise ValueError(f"a timeout is not negative: {timeout}")
    return FOR_EVER_MS if timeout * 1000 >= FOR_EVER_MS else int(timeout * 1000)


def subscription_of(topics: str | Iterable[str] | re.Pattern[str]) -> Subscription:
    if isinstance(topics, re.Pattern):
        return Subscription(pattern=topics)
    if topics is None or topics == "":
        raise TypeError("there are no topics: give names, or a pattern")
    return by_names([topics] if isinstance(topics, str) else topics)


def by_names(topics: Iterable[str]) -> Subscription:
    names = list(topics)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"{name!r} is no name of a topic")
    return Subscription(frozenset(names))


def place_of(given: TopicPartition) -> TopicPartition:
    return given if isinstance(given, TopicPartition) else TopicPartition(*given)


def topics_and_mapping(
    given: tuple[str | Mapping[str, object], ...],
) -> tuple[list[str], Mapping[str, object] | None]:
    names = [each for each in given if isinstance(each, str)]
    mappings = [each for each in given if not isinstance(each, str)]
    if len(mappings) > 1:
        raise TypeError("configs are given by one mapping")
    return names, mappings[0] if mappings else None


def flat(partitions: tuple[TopicPartition | Iterable[TopicPartition], ...]) -> list[TopicPartition]:
    """One by one, or all in one iterable."""
    found: list[TopicPartition] = []
    for each in partitions:
        if isinstance(each, TopicPartition):
            found.append(each)
        else:
            found += [TopicPartition(*one) for one in each]
    return found


def time_ms(when: datetime | int) -> int:
    return int(when.timestamp() * 1000) if isinstance(when, datetime) else when
