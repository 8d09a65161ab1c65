"""Offsets of finished micro-batches as those of a consumer group, so that every tool of Kafka's shows a query's lag.

The checkpoint alone says where a query goes on; a group is told for people to see. A commit that fails is a line in the
log, never the end of a query. There are two ways, which may be used together:

- the option `commitOffsetsToGroup`: the reader commits where a batch has ended when Spark asks it for the next one,
  after the last one as well;
- `commit_offsets_to_groups(spark, {"query": "group"}, ...)`: a listener commits as soon as Spark tells of the batch,
  which matters where triggers are far apart.
"""

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from odradek.client.admin.admin_client import AdminClient
from odradek.protocol.errors import KafkaError
from odradek.spark.options import SourceOptions, admin_configs, client_configs
from odradek.spark.source.offsets import Offsets, offsets_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQueryListener

logger = logging.getLogger("odradek.spark")

TIMEOUT_S = 30.0


class GroupOffsets:
    """Commits for one group, each offset once. The client is made when it is needed, and never pickled."""

    def __init__(self, group: str, configs: Mapping[str, str]) -> None:
        self.group = group
        self._configs = dict(configs)
        self._committed: Offsets = {}
        self._client: AdminClient | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Any: a pickle's state."""
        return {**self.__dict__, "_client": None}

    @classmethod
    def of_source(cls, options: SourceOptions) -> "GroupOffsets | None":
        if options.committed_group is None:
            return None
        return cls(options.committed_group, {"client.id": options.client_id, **options.admin_configs()})

    def commit(self, offsets: Offsets) -> None:
        news = {place: offset for place, offset in offsets.items() if self._committed.get(place) != offset}
        if not news:
            return
        try:
            self._admin().alter_group_offsets(self.group, news, timeout=TIMEOUT_S).raise_any()
        except KafkaError as error:
            logger.warning(
                "offsets were not committed to group %s, its lag is not what it seems: %s", self.group, error
            )
        else:
            self._committed.update(news)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _admin(self) -> AdminClient:
        if self._client is None:
            self._client = AdminClient(self._configs)
        return self._client


def commit_offsets_to_groups(
    spark: "SparkSession", groups: Mapping[str, str], options: Mapping[str, str]
) -> "StreamingQueryListener":
    """From now on, what the named queries have read is committed: `groups` has a group for each query's name, `options`
    the `kafka.*` options of the cluster. `spark.streams.removeListener` ends it.
    """
    listener = _listener({name: GroupOffsets(group, _configs(options)) for name, group in groups.items()})
    spark.streams.addListener(listener)
    return listener


def _configs(options: Mapping[str, str]) -> dict[str, str]:
    return admin_configs(client_configs(options))


def _listener(groups: Mapping[str, GroupOffsets]) -> "StreamingQueryListener":
    from pyspark.sql.streaming import StreamingQueryListener

    class GroupOffsetsListener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name, as all of these
            pass

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            group = groups.get(event.progress.name)
            if group is not None:
                for source in event.progress.sources:
                    group.commit(finished_offsets(source.endOffset))

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            pass

    return GroupOffsetsListener()


def finished_offsets(text: str | None) -> Offsets:
    """Of a source's endOffset; nothing where the source has others than partitions of topics."""
    try:
        tree = json.loads(text or "{}")
        return offsets_of(tree) if isinstance(tree, dict) else {}
    except (AttributeError, TypeError, ValueError):
        return {}
