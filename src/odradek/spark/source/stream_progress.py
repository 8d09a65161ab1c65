"""How far a stream's next micro-batch goes: what the cluster has now, less what the limits hold back, and with an eye
on offsets that went back, partitions that have gone and topics that are no longer the ones they were.
"""

import logging
import time
from collections.abc import Mapping

from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.errors import DataLossError, about
from odradek.spark.options import SourceOptions
from odradek.spark.source.cluster_offsets import ClusterOffsets, Topics
from odradek.spark.source.offsets import Offsets
from odradek.spark.source.planning import limited, ranges_between, waiting_count
from odradek.spark.source.rules import is_moving

logger = logging.getLogger("odradek.spark")

_NEVER = float("-inf")


class StreamProgress:
    def __init__(self, options: SourceOptions, cluster: ClusterOffsets) -> None:
        self._options = options
        self._cluster = cluster
        self._pinned: Offsets | None = None  # the first offsets, until a batch has them
        self._frozen: Offsets | None = None  # where a run with AvailableNow ends
        self._topic_ids: dict[str, str] = {}
        self._triggered_at = _NEVER
        self.latest: Offsets | None = None  # as the cluster was when it was last asked

    def first(self) -> Offsets:
        topics = self._cluster.topics()
        self._topic_ids.update(topics.ids)
        found = self._cluster.resolved(self._options.starting, topics.partitions, "startingOffsets")
        if is_moving(self._options.starting):
            self._pinned = found
        return found

    def freeze(self) -> None:
        self._frozen = self._cluster.latest(self._cluster.topics().partitions)

    def next_end(self, start: Offsets, *, is_limited: bool) -> Offsets:
        topics = self._cluster.topics(may_miss=not self._options.fails_on_data_loss and bool(start))
        self.latest = self._cluster.latest(topics.partitions)
        pinned, self._pinned = self._pinned, None
        if pinned == start:
            return start
        self._look_for_lost_partitions(start, topics)
        end = {place: self._end(place, start, topics) for place in self._included(start, topics)}
        self._topic_ids.update(topics.ids)
        return self._within_limits(start, end) if is_limited else end

    def _included(self, start: Offsets, topics: Topics) -> list[TopicPartition]:
        """A run with AvailableNow does not begin with what has come since."""
        if self._frozen is None:
            return topics.partitions
        return [place for place in topics.partitions if place in self._frozen or place in start]

    # What is not as it was

    def _look_for_lost_partitions(self, start: Offsets, topics: Topics) -> None:
        gone = sorted(set(start) - set(topics.partitions))
        if gone:
            names = ", ".join(map(str, gone))
            self._lost(f"partitions {names} have gone, which were read up to {[start[place] for place in gone]}")

    def _end(self, place: TopicPartition, start: Offsets, topics: Topics) -> int:
        latest = _of(self.latest, place)
        end = latest if self._frozen is None else min(latest, self._frozen.get(place, latest))
        first = start.get(place)
        if first is None:
            return end
        known = self._topic_ids.get(place.topic)
        if known is not None and known != topics.ids[place.topic]:
            self._lost(
                f"topic {place.topic} was deleted and made again: its id was {known}, and is {topics.ids[place.topic]}"
            )
            return min(latest, max(first - 1, 0)) if first else end
        if latest >= first:
            return max(end, first)
        return self._end_gone_back(place, first, latest)

    def _end_gone_back(self, place: TopicPartition, first: int, latest: int) -> int:
        if self._options.is_read_committed:
            end = self._cluster.latest_uncommitted([place])[place]
            if end >= first:
                return first  # a transaction is open that an earlier run has read
        self._lost(
            f"{about(place)}: its offset was changed from {first} to {latest}: the topic was deleted and made again"
        )
        return latest

    def _lost(self, what: str) -> None:
        if self._options.fails_on_data_loss:
            raise DataLossError(
                f"{what}. Some data may have been lost; set failOnDataLoss=false to go on with what is there"
            )
        logger.warning("%s; failOnDataLoss=false: what is there now is read from its beginning", what)

    # Limits

    def _within_limits(self, start: Offsets, end: Offsets) -> Offsets:
        options, now = self._options, time.monotonic()
        if self._is_held_back(start, end, now):
            return start
        if waiting_count(start, end):
            self._triggered_at = now
        if options.max_offsets_per_trigger is not None:
            end = limited(start, end, options.max_offsets_per_trigger)
        if options.max_bytes_per_trigger is not None:
            end = limited(start, end, self._offsets_of_bytes(start, end, options.max_bytes_per_trigger))
        return end

    def _is_held_back(self, start: Offsets, end: Offsets, now: float) -> bool:
        """Not the first batch, and not when everything that there is is to be read."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._frozen is not None or self._triggered_at == _NEVER:
            return False
        is_late = (now - self._triggered_at) * 1000 >= self._options.max_trigger_delay_ms
        return not is_late and waiting_count(start, end) < least

    def _offsets_of_bytes(self, start: Offsets, end: Offsets, bytes_max: int) -> int:
        """How many offsets are about so many bytes, by what the records of these partitions take on disk."""
        ranges = ranges_between(start, end)
        sizes = self._cluster.bytes_per_offset([each.place for each in ranges])
        waiting_bytes = sum(each.size * sizes[each.place] for each in ranges)
        waiting = sum(each.size for each in ranges)
        return max(1, int(waiting * bytes_max / waiting_bytes)) if waiting_bytes > bytes_max else max(1, waiting)


def _of(offsets: Mapping[TopicPartition, int] | None, place: TopicPartition) -> int:
    return 0 if offsets is None else offsets[place]
