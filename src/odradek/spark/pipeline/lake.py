"""Tables of Delta and Iceberg as sinks, without a jar: the driver collects each micro-batch as Arrow and commits it.

A batch that is repeated after a crash has the same number. Delta's transaction log keeps the newest number of each
query (an application transaction), an Iceberg snapshot has it in its properties; a batch that is there is left out. The
id of the query comes from its checkpoint: a new checkpoint is a new query, whose batches count from 0 again.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import compute
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from odradek.serde.extras import library
from odradek.spark.pipeline.encoding import own_columns
from odradek.spark.pipeline.model import Sink

EXTRA = "lake"
_DELETED, _RANK = "_odradek_deleted", "_odradek_rank"
QUERY_PROPERTY, BATCH_PROPERTY = "odradek.query-id", "odradek.batch-id"

QueryId = Callable[[], str]  # known once the query runs


class DeltaTable:
    """Appends, or merges by the columns that name a row: of its changes in a batch the latest counts."""

    def __init__(self, sink: Sink, query_id: QueryId) -> None:
        self._delta: Any = library("deltalake", EXTRA)  # Any: it is only there where the extra is
        self._sink = sink
        self._path = str(sink.target)
        self._query_id = query_id

    def write(self, frame: DataFrame, batch_id: int) -> None:
        table = self._table()
        if table is not None and _number(table.transaction_version(self._query_id())) >= batch_id:
            return
        if self._sink.merge_on:
            self._merge(table, frame, batch_id)
        else:
            self._append(own_columns(frame).toArrow(), batch_id)

    def _table(self) -> Any:
        return self._delta.DeltaTable(self._path) if self._delta.DeltaTable.is_deltatable(self._path) else None

    def _append(self, rows: pa.Table, batch_id: int) -> None:
        partition_by = list(self._sink.partition_by) or None
        commit = self._commit(batch_id)
        self._delta.write_deltalake(
            self._path, rows, mode="append", partition_by=partition_by, commit_properties=commit
        )

    def _merge(self, table: Any, frame: DataFrame, batch_id: int) -> None:
        rows = own_columns(latest_changes(frame, self._sink)).toArrow()
        if table is None:
            kept = compute.invert(rows[_DELETED])
            self._append(rows.filter(kept).drop_columns([_DELETED]), batch_id)
            return
        on = " AND ".join(f"target.`{name}` = source.`{name}`" for name in self._sink.merge_on)
        columns = {f"`{name}`": f"source.`{name}`" for name in rows.column_names if name != _DELETED}
        merge = table.merge(rows, on, "source", "target", commit_properties=self._commit(batch_id))
        merge = merge.when_matched_delete(f"source.{_DELETED}").when_matched_update(columns)
        merge.when_not_matched_insert(columns, f"NOT source.{_DELETED}").execute()

    def _commit(self, batch_id: int) -> Any:
        transaction = self._delta.Transaction(self._query_id(), batch_id)
        return self._delta.CommitProperties(app_transactions=[transaction])


def _number(version: int | None) -> int:
    return -1 if version is None else version


def latest_changes(frame: DataFrame, sink: Sink) -> DataFrame:
    """Of each row its last change, and whether that is its end."""
    newest = Window.partitionBy(*sink.merge_on).orderBy(*(F.desc(name) for name in sink.latest_by))
    deleted = F.coalesce(F.expr(sink.delete_when), F.lit(False)) if sink.delete_when else F.lit(False)
    ranked = frame.withColumn(_DELETED, deleted).withColumn(_RANK, F.row_number().over(newest))
    return ranked.where(F.col(_RANK) == 1).drop(_RANK)


class IcebergTable:
    """Appends. The namespace and the table are made with the first batch if they are not there."""

    def __init__(self, sink: Sink, query_id: QueryId) -> None:
        catalogs: Any = library("pyiceberg.catalog", EXTRA)  # Any: as above
        properties = {key: value for key, value in sink.catalog.items() if key != "name"}
        self._catalog = catalogs.load_catalog(sink.catalog.get("name", "default"), **properties)
        self._name = str(sink.target)
        self._query_id = query_id

    def write(self, frame: DataFrame, batch_id: int) -> None:
        rows = in_utc(own_columns(frame).toArrow())
        table = self._table(rows.schema)
        if batch_id > newest_batch(_summaries(table), self._query_id()) and rows.num_rows:
            properties = {QUERY_PROPERTY: self._query_id(), BATCH_PROPERTY: str(batch_id)}
            table.append(rows, snapshot_properties=properties)

    def _table(self, schema: pa.Schema) -> Any:
        self._catalog.create_namespace_if_not_exists(self._name.rpartition(".")[0])
        return self._catalog.create_table_if_not_exists(self._name, schema)


def _summaries(table: Any) -> list[Mapping[str, str]]:
    """Any: the table is pyiceberg's."""
    return [snapshot.summary.additional_properties for snapshot in table.metadata.snapshots if snapshot.summary]


def newest_batch(summaries: list[Mapping[str, str]], query_id: str) -> int:
    """-1 if there is none of this query."""
    own = (int(each[BATCH_PROPERTY]) for each in summaries if each.get(QUERY_PROPERTY) == query_id)
    return max(own, default=-1)


def in_utc(rows: pa.Table) -> pa.Table:
    """Iceberg knows no time zone but this: the same moments, said otherwise."""
    return rows.cast(pa.schema([_utc(field) for field in rows.schema]))


def _utc(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return field.with_type(pa.timestamp(kind.unit, tz="UTC"))
    return field
