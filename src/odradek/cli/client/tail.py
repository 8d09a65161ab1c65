"""`consume --tail N`: the last records of all partitions together, in the order of their times.

Nobody knows which partitions have the last ones, so N are read of each. Not every offset has a record (transactions end
with a marker, compaction leaves gaps): where too few were found, it is begun further back.
"""

import argparse
from collections.abc import Mapping
from heapq import nlargest

from odradek.cli.client.positions import Bounds
from odradek.cli.client.reading import Passes, Wanted, batches
from odradek.cli.client.record import Record
from odradek.cli.client.record_output import Printer
from odradek.protocol.topic_partition import TopicPartition

WIDER = 4


def print_last(
    options: argparse.Namespace, bounds: Mapping[TopicPartition, Bounds], printer: Printer, passes: Passes | None
) -> Wanted:
    """What comes afterwards."""
    ends = {place: limits.end for place, limits in bounds.items()}
    printer.show(_last(options, bounds, ends, passes))
    return Wanted(ends, None)


def _last(
    options: argparse.Namespace,
    bounds: Mapping[TopicPartition, Bounds],
    ends: Mapping[TopicPartition, int],
    passes: Passes | None,
) -> list[Record]:
    back = options.tail
    while True:
        starts = {place: max(limits.start, limits.end - back) for place, limits in bounds.items()}
        found = [
            record
            for records in batches(options, Wanted(starts, ends))
            for record in records
            if passes is None or passes(record)
        ]
        is_all = all(starts[place] == limits.start for place, limits in bounds.items())
        if len(found) >= options.tail or is_all:
            return sorted(nlargest(options.tail, found, key=_age), key=_age)
        back *= WIDER


def _age(record: Record) -> tuple[int, str, int, int]:
    return record.timestamp, record.topic, record.partition, record.offset
