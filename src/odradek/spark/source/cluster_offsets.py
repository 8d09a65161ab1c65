"""What the driver asks the brokers: which partitions there are, and where they begin and end.

One admin client, made when it is first needed and never pickled. What fails by something that passes is tried again as
often as the options say; an error names the topics.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.topics import EARLIEST, LATEST
from odradek.protocol.errors import KafkaError, UnknownTopicOrPartition
from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.errors import SourceError, SparkOptionError, about
from odradek.spark.options import SourceOptions
from odradek.spark.source.offsets import Offsets
from odradek.spark.source.rules import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    AtEdge,
    AtOffsets,
    AtTime,
    AtTimes,
    Before,
    OffsetRule,
)

logger = logging.getLogger("odradek.spark")

T = TypeVar("T")

_PATIENCE = {"request.timeout.ms": "10000", "default.api.timeout.ms": "20000"}  # of each attempt


class Topics:
    """The partitions that a query reads as the cluster has them now, and the id of each topic."""

    def __init__(self, partitions: Iterable[TopicPartition], ids: Mapping[str, str]) -> None:
        self.partitions = sorted(partitions)
        self.ids = dict(ids)


class ClusterOffsets:
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._client: AdminClient | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Any: a pickle's state. A client stays in its process."""
        return {"_options": self._options, "_client": None}

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    # Topics

    def topics(self, *, may_miss: bool = False) -> Topics:
        """SourceError names the topics that are missing, unless they may be."""
        return self._tried(lambda: self._topics(may_miss or self._options.topic_pattern is not None))

    def _topics(self, may_miss: bool) -> Topics:
        options = self._options
        described = self._admin().describe_topics(self._names())
        missing = sorted(name for name, error in described.errors.items() if isinstance(error, UnknownTopicOrPartition))
        if missing and not may_miss:  # one that a pattern has just found may be gone again
            raise SourceError(f"topic {', '.join(missing)} does not exist ({options.described()}): create it first")
        for name, error in described.errors.items():
            if name not in missing:
                _refuse(f"topic {name} cannot be read", error)
        found = described.values_ok
        there = {TopicPartition(name, each.partition) for name, topic in found.items() for each in topic.partitions}
        ids = {name: topic.topic_id for name, topic in found.items()}
        return Topics(there if options.assigned is None else self._assigned(there, may_miss), ids)

    def _names(self) -> list[str]:
        options = self._options
        if options.topics is not None:
            return list(options.topics)
        if options.topic_pattern is not None:
            pattern = re.compile(options.topic_pattern)
            return [name for name in self._admin().list_topics() if pattern.fullmatch(name)]
        return sorted({place.topic for place in options.assigned or ()})

    def _assigned(self, there: set[TopicPartition], may_miss: bool) -> list[TopicPartition]:
        wanted = self._options.assigned or ()
        for place in wanted:
            if place not in there and not may_miss:
                raise SourceError(f"{about(place)} does not exist ({self._options.described()})")
        return [place for place in wanted if place in there]

    # Offsets

    def earliest(self, places: Iterable[TopicPartition]) -> Offsets:
        return self._listed(dict.fromkeys(places, EARLIEST))

    def latest(self, places: Iterable[TopicPartition]) -> Offsets:
        """For readers of committed records the first offset of the oldest open transaction, if there is one."""
        return self._listed(dict.fromkeys(places, LATEST))

    def latest_uncommitted(self, places: Iterable[TopicPartition]) -> Offsets:
        """The high watermark, whatever is committed."""
        times = dict.fromkeys(places, LATEST)
        return self._tried(lambda: self._asked(times, committed_only=False))

    def bytes_per_offset(self, places: list[TopicPartition]) -> dict[TopicPartition, float]:
        """What an offset of each takes in its leader's log, on average."""
        return self._tried(lambda: self._bytes_per_offset(places)) if places else {}

    def _bytes_per_offset(self, places: list[TopicPartition]) -> dict[TopicPartition, float]:
        topics = self._admin().describe_topics({place.topic for place in places})
        leaders = {each.leader.id for topic in topics.values() for each in topic.partitions if each.leader is not None}
        sizes: dict[TopicPartition, int] = {}
        for dirs in self._admin().describe_log_dirs(leaders).values():
            for found in dirs.values():
                sizes.update(
                    {place: max(each.size_bytes, sizes.get(place, 0)) for place, each in found.replicas.items()}
                )
        first, last = self.earliest(places), self.latest_uncommitted(places)
        return {place: sizes.get(place, 0) / max(1, last[place] - first[place]) for place in places}

    def resolved(self, rule: OffsetRule, places: list[TopicPartition], option: str) -> Offsets:
        """Where `rule` puts each of the partitions; `option` is for errors."""
        match rule:
            case AtEdge():
                return self.earliest(places) if rule.offset == EARLIEST_OFFSET else self.latest(places)
            case AtOffsets():
                _ensure_same(rule.offsets, places, option)
                return self._specific(rule.offsets)
            case AtTimes():
                _ensure_same(rule.timestamps_ms, places, f"{option}ByTimestamp")
                return self._at_times(rule.timestamps_ms, rule.may_be_end)
            case AtTime():
                return self._at_times(dict.fromkeys(places, rule.timestamp_ms), rule.may_be_end)
            case Before():
                at_ms = max(0, int(time.time() * 1000) - rule.milliseconds)
                return self._at_times(dict.fromkeys(places, at_ms), may_be_end=True)

    def _specific(self, offsets: Mapping[TopicPartition, int]) -> Offsets:
        first = self.earliest([place for place, offset in offsets.items() if offset == EARLIEST_OFFSET])
        last = self.latest([place for place, offset in offsets.items() if offset == LATEST_OFFSET])
        return {**offsets, **first, **last}

    def _at_times(self, times: Mapping[TopicPartition, int], may_be_end: bool) -> Offsets:
        found = self._listed(times)
        without = [place for place, offset in found.items() if offset < 0]
        if without and not may_be_end:
            raise SparkOptionError(
                "startingTimestamp",
                times[without[0]],
                f"{about(without[0])} has no record at or after it: no offset matched; "
                "startingOffsetsByTimestampStrategy=latest begins at the end instead",
            )
        return {**found, **self.latest(without)}

    def _listed(self, times: Mapping[TopicPartition, int]) -> Offsets:
        is_committed = self._options.is_read_committed
        return self._tried(lambda: self._asked(times, committed_only=is_committed)) if times else {}

    def _asked(self, times: Mapping[TopicPartition, int], *, committed_only: bool) -> Offsets:
        results = self._admin().list_offsets(times, committed_only=committed_only)
        for place, error in results.errors.items():
            _refuse(f"the offsets of {about(place)} could not be looked up", error)
        return {place: found.offset for place, found in results.items()}

    # Asking

    def _admin(self) -> AdminClient:
        if self._client is None:
            configs = {"client.id": self._options.client_id, **_PATIENCE, **self._options.admin_configs()}
            self._client = AdminClient(configs)
        return self._client

    def _tried(self, ask: Callable[[], T]) -> T:
        """Anew with a new client, as often as fetchOffset.numRetries says."""
        options = self._options
        for left in range(options.fetch_offset_retries - 1, -1, -1):
            try:
                return ask()
            except KafkaError as error:
                self.close()
                servers = options.clients["bootstrap.servers"]
                if not left:
                    raise SourceError(
                        f"{options.described()}: the cluster at {servers} did not answer: {error}"
                    ) from error
                logger.warning("%s: the cluster at %s is asked again: %s", options.described(), servers, error)
                time.sleep(options.fetch_offset_retry_ms / 1000)
        raise AssertionError("at least one attempt is made")


def _refuse(what: str, error: KafkaError) -> NoReturn:
    """What passes by itself is tried again; the rest is for the user to see."""
    if error.retriable:
        raise error
    raise SourceError(f"{what}: {error}") from error


def _ensure_same(named: Iterable[TopicPartition], places: list[TopicPartition], option: str) -> None:
    """Spark wants every partition to be named: one that was forgotten would be read from somewhere."""
    given = set(named)
    if given != set(places):
        missing = ", ".join(map(str, sorted(set(places) - given))) or "none"
        extra = ", ".join(map(str, sorted(given - set(places)))) or "none"
        advice = f"has to name every partition that is read, and no other: missing are {missing}, not read are {extra}"
        raise SparkOptionError(option, None, advice)
