"""Where the dead letters of a source begin, so that no bad record is lost between them and the sinks.

Two queries that begin at "latest" would each ask for themselves, and a record that comes in between would be in the one
and not in the other: as a bad record it would be dropped by the sink and be no dead letter. So where all are new, they
begin at the same offsets, looked up once. Where a sink goes on from its checkpoint and the dead letters are new (they
were declared because a bad record had ended the query), these begin with the first record that there is: that is early
enough, wherever the sink stands. A query with a checkpoint goes on from there, whatever it is told here.
"""

import json
from dataclasses import dataclass

from odradek.spark.options import source_options
from odradek.spark.pipeline.model import TopicSource
from odradek.spark.pipeline.topic_options import options_of_source
from odradek.spark.source.cluster_offsets import ClusterOffsets
from odradek.spark.source.offsets import tree_of


@dataclass(frozen=True)
class Beginnings:
    """As the option startingOffsets takes them; None leaves it to the options of the source."""

    sinks: str | None = None
    dead_letters: str | None = None


def beginnings(source: TopicSource, sinks_go_on: bool, dead_letters_go_on: bool) -> Beginnings:
    if dead_letters_go_on:
        return Beginnings()
    if sinks_go_on:
        return Beginnings(dead_letters="earliest")
    offsets = starting_offsets(source)
    return Beginnings(offsets, offsets)


def starting_offsets(source: TopicSource) -> str:
    """As the option startingOffsets takes them."""
    options = source_options(options_of_source(source), True)
    cluster = ClusterOffsets(options)
    try:
        places = cluster.topics().partitions
        return json.dumps(tree_of(cluster.resolved(options.starting, places, "startingOffsets")))
    finally:
        cluster.close()
