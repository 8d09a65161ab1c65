"""`spark.read.format("odradek")`: offsets are resolved once, on the driver; tasks read ranges of them."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.errors import DataLossError, SourceError, SparkOptionError, about
from odradek.spark.options import SourceOptions
from odradek.spark.source.cluster_offsets import ClusterOffsets
from odradek.spark.source.offsets import Offsets
from odradek.spark.source.planning import OffsetRange, cut
from odradek.spark.source.pushdown import ReadBounds, bounds_of
from odradek.spark.source.rules import AtOffsets, AtTime
from odradek.spark.source.task_reading import logger, read_task

if TYPE_CHECKING:
    import pyarrow as pa


class RangePartition(InputPartition):
    """What one task reads."""

    def __init__(self, work: OffsetRange) -> None:
        super().__init__(None)
        self.work = work


class OdradekBatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self.options = options
        self.columns = columns

    def partitions(self) -> list[InputPartition]:
        return [RangePartition(work) for work in self._planned()]

    def _planned(self) -> list[OffsetRange]:
        _ensure_in_order(self.options)
        cluster = ClusterOffsets(self.options)
        try:
            ranges = self._ranges(cluster)
        finally:
            cluster.close()
        return cut(ranges, self.options.min_partitions, self.options.max_records_per_partition)

    def _ranges(self, cluster: ClusterOffsets) -> list[OffsetRange]:
        return batch_ranges(self.options, cluster)

    def read(self, partition: InputPartition | None) -> "Iterator[pa.RecordBatch]":
        """Spark has a task for None where there are no partitions."""
        if isinstance(partition, RangePartition):
            yield from read_task(self.options, self.columns, partition.work)


class PushdownBatchReader(OdradekBatchReader):
    """Spark refuses a reader that takes filters unless its own switch is on, so there is one that does not."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        super().__init__(options, columns)
        self.bounds = ReadBounds()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        self.bounds = bounds_of(filters)
        return filters

    def _ranges(self, cluster: ClusterOffsets) -> list[OffsetRange]:
        found = [bounded for each in super()._ranges(cluster) if (bounded := self.bounds.within(each)) is not None]
        if self.bounds.since_ms is None:
            return found
        first = cluster.resolved(AtTime(self.bounds.since_ms, True), [each.place for each in found], "timestamp")
        return [
            OffsetRange(each.place, max(each.start, first[each.place]), each.stop)
            for each in found
            if first[each.place] < each.stop
        ]


def batch_ranges(options: SourceOptions, cluster: ClusterOffsets) -> list[OffsetRange]:
    places = cluster.topics().partitions
    start = cluster.resolved(options.starting, places, "startingOffsets")
    end = cluster.resolved(options.ending, places, "endingOffsets")
    if isinstance(options.ending, AtOffsets):
        end = _within_log(options, end, cluster.latest(places))
    return [_range(place, start[place], end[place]) for place in places]


def _range(place: TopicPartition, start: int, end: int) -> OffsetRange:
    if start > end:
        raise SourceError(
            f"the resolved start offset {start} is greater than the resolved end offset {end} for {about(place)}"
        )
    return OffsetRange(place, start, end)


def _within_log(options: SourceOptions, end: Offsets, latest: Offsets) -> Offsets:
    """An end that the log does not reach would be waited for in vain."""
    for place in sorted(end):
        if end[place] <= latest[place]:
            continue
        text = (
            f"could not read records in offset [{latest[place]}, {end[place]}) for {about(place)}: the log ends there"
        )
        if options.fails_on_data_loss:
            raise DataLossError(f"{text}. Set endingOffsets to what there is, or failOnDataLoss=false to read that")
        logger.warning("%s; failOnDataLoss=false: it is skipped", text)
    return {place: min(offset, latest[place]) for place, offset in end.items()}


def _ensure_in_order(options: SourceOptions) -> None:
    starting, ending = options.starting, options.ending
    if not isinstance(starting, AtOffsets) or not isinstance(ending, AtOffsets):
        return
    for place, start in starting.offsets.items():
        end = ending.offsets.get(place, -1)
        if 0 <= end < start:
            raise SparkOptionError("startingOffsets", start, f"is greater than the end offset {end} for {about(place)}")
