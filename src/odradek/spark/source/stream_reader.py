"""`spark.readStream.format("odradek")`: what Spark asks on the driver between micro-batches.

Spark keeps the offsets in its checkpoint before a batch runs, and asks for the same batch again after a crash; so what
a batch reads follows from its two offsets and the options alone (`planning`). How the traps of the interface are met:

- **The first offsets are pinned.** `initialOffset` is asked twice, and again when the first batch is run again. It is
  looked up once; and where it could be another one later (latest, a time), the first batch is empty, so that the
  checkpoint has it.
- **An end before its start means one thing**: the topic was deleted and made again, and is read from its first offset.
  Nothing else may give such an end: offsets that seem to go back (an open transaction that an earlier run has not
  waited for) leave the partition where it is.
- **`commit` and `stop` are not to be relied on**: Spark calls the first one batch late, and the second never.
"""

import logging
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from odradek.spark.options import SourceOptions
from odradek.spark.source.batch_reader import OdradekBatchReader, RangePartition
from odradek.spark.source.cluster_offsets import ClusterOffsets
from odradek.spark.source.group_offsets import GroupOffsets
from odradek.spark.source.offsets import Offsets, OffsetTree, offsets_of, tree_of
from odradek.spark.source.planning import cut, ranges_between
from odradek.spark.source.stream_progress import StreamProgress

logger = logging.getLogger("odradek.spark")

_NO_LIMIT = 2**63 - 1


class OdradekStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self.options = options
        self.columns = columns
        self.cluster = ClusterOffsets(options)
        self.progress = StreamProgress(options, self.cluster)
        self.group = GroupOffsets.of_source(options)
        self._first: Offsets | None = None

    def initialOffset(self) -> OffsetTree:  # noqa: N802 - Spark's name, as all of these
        if self._first is None:
            self._first = self.progress.first()
        return tree_of(self._first)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limits are applied here, for Spark knows of one at a time; what it hands back says whether to."""
        options = self.options
        limits = (options.max_offsets_per_trigger, options.min_offsets_per_trigger, options.max_bytes_per_trigger)
        if limits == (None, None, None):
            return ReadAllAvailable()
        return ReadMaxRows(options.max_offsets_per_trigger or _NO_LIMIT)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> OffsetTree:  # noqa: N802
        """Any: what a checkpoint holds. Spark asks for everything there is when it is to run once.

        It asks when the batch that ended at `start` is finished and written down, and not before.
        """
        finished = offsets_of(start)
        if self.group is not None:
            self.group.commit(finished)
        return tree_of(self.progress.next_end(finished, is_limited=not isinstance(limit, ReadAllAvailable)))

    def reportLatestOffset(self) -> OffsetTree | None:  # noqa: N802
        latest = self.progress.latest
        return None if latest is None else tree_of(latest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.progress.freeze()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        ranges = ranges_between(offsets_of(start), offsets_of(end))
        options = self.options
        return [RangePartition(work) for work in cut(ranges, options.min_partitions, options.max_records_per_partition)]

    read = OdradekBatchReader.read

    def commit(self, end: dict[str, Any]) -> None:
        """The checkpoint has them already."""

    def stop(self) -> None:
        self.cluster.close()
        if self.group is not None:
            self.group.close()
