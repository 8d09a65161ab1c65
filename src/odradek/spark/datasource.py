"""What Spark knows as `format("odradek")`. The names of the methods' parameters are Spark's: it calls by keyword."""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from odradek.spark import options as checked

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class OdradekDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "odradek"

    def schema(self) -> str:
        from odradek.spark.source.schema import schema_text

        return schema_text(checked.includes_headers(self.options))

    def reader(self, schema: "StructType") -> DataSourceReader:
        from odradek.spark.source.batch_reader import OdradekBatchReader, PushdownBatchReader
        from odradek.spark.source.schema import requested_columns

        options = checked.source_options(self.options, False)
        kind = PushdownBatchReader if options.pushes_down else OdradekBatchReader
        return kind(options, requested_columns(schema))

    def streamReader(self, schema: "StructType") -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from odradek.spark.source.schema import requested_columns
        from odradek.spark.source.stream_reader import OdradekStreamReader

        return OdradekStreamReader(checked.source_options(self.options, True), requested_columns(schema))

    def writer(self, schema: "StructType", overwrite: bool) -> DataSourceWriter:
        from odradek.spark.sink.writers import batch_writer  # type: ignore[import-not-found,unused-ignore]

        return batch_writer(checked.sink_options(self.options, False), schema, overwrite)

    def streamWriter(self, schema: "StructType", overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        from odradek.spark.sink.writers import stream_writer

        return stream_writer(checked.sink_options(self.options, True), schema, overwrite)
