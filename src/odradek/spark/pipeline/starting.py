"""Where the queries of a source begin, looked up once for all of them.

Two queries that begin at "latest" would each ask for themselves, and a record that comes in between would be in the one
and not in the other: as a bad record it would be dropped by the first and not be a dead letter of the second. Only a
new query looks at it: the checkpoint of an old one knows better.
"""

import json

from odradek.spark.options import source_options
from odradek.spark.pipeline.model import TopicSource
from odradek.spark.pipeline.topic_options import options_of_source
from odradek.spark.source.cluster_offsets import ClusterOffsets
from odradek.spark.source.offsets import tree_of


def starting_offsets(source: TopicSource) -> str:
    """As the option startingOffsets takes them."""
    options = source_options(options_of_source(source), True)
    cluster = ClusterOffsets(options)
    try:
        places = cluster.topics().partitions
        return json.dumps(tree_of(cluster.resolved(options.starting, places, "startingOffsets")))
    finally:
        cluster.close()
