"""Makes the model of what a front end has read: which fields each part has, and of what type."""

from collections.abc import Collection, Mapping

from odradek.spark.pipeline.ddl import check_ddl
from odradek.spark.pipeline.fields import Fields, plain_texts
from odradek.spark.pipeline.given import Given
from odradek.spark.pipeline.mistakes import Mistakes, PipelineError
from odradek.spark.pipeline.model import (
    APPEND,
    AVAILABLE_NOW,
    AVRO,
    CONSOLE,
    CSV,
    DECODERS,
    DELTA,
    ENCODERS,
    FUNCTION,
    ICEBERG,
    JSON,
    MODES,
    PARQUET,
    PROTOBUF,
    RAW,
    SINKS,
    TABLE_FORMATS,
    TOPIC,
    Declaration,
    Decoder,
    FunctionStep,
    Sink,
    SqlStep,
    TableSource,
    TopicSource,
)
from odradek.spark.pipeline.topic_options import check_sink_options, check_source_options

# The fields beside `options`: a front end that has no nesting tells them by their names.
SOURCE_FIELDS = frozenset(
    [
        "topic",
        "topics",
        "pattern",
        "assign",
        "table",
        "format",
        "decode",
        "schema",
        "registry",
        "message",
        "descriptor",
        "event_time",
        "watermark",
        "dead_letters",
    ]
)
SINK_FIELDS = frozenset(
    [
        "name",
        "from",
        "mode",
        "encode",
        "key",
        "guarantee",
        "partition_by",
        "merge_on",
        "latest_by",
        "delete_when",
        "catalog",
        "rows",
    ]
) | frozenset(SINKS)

_CHOSEN_BY = {"topic": "subscribe", "topics": "subscribe", "pattern": "subscribePattern", "assign": "assign"}
_WITH_DDL = (JSON, CSV)
_GUARANTEES = ("at-least-once", "exactly-once")
_WHY_CHECKPOINT = "name a directory that outlives the pipeline, such as checkpoint: /var/lib/orders"


def declared(root: Given, default_name: str, mistakes: Mistakes) -> Declaration:
    """The model, as far as it can be made: `mistakes` has what could not."""
    fields = Fields("the pipeline", root, mistakes)
    name = fields.text("pipeline") or default_name
    checkpoint = fields.needed("checkpoint", _WHY_CHECKPOINT)
    trigger = _trigger(fields)
    common = _common_options(fields)
    conf = plain_texts(fields.settings("spark"))
    sources = [_source(each, part, common, mistakes) for each, part in fields.parts("sources").items()]
    steps = [_step(each, part, mistakes) for each, part in fields.parts("steps").items()]
    sinks = [_sink(each, part, common, mistakes) for each, part in fields.parts("sinks").items()]
    fields.finish()
    return Declaration(
        name=name,
        place=root.place,
        checkpoint=checkpoint,
        trigger=trigger,
        options=plain_texts(common),
        conf=conf,
        sources=tuple(each for each in sources if each is not None),
        steps=tuple(each for each in steps if each is not None),
        sinks=tuple(each for each in sinks if each is not None),
    )


def _trigger(fields: Fields) -> str | None:
    place = fields.place_of("trigger")
    found = fields.take("trigger")
    if found is None or found.value == AVAILABLE_NOW:
        return None if found is None else AVAILABLE_NOW
    again = Fields(fields.what, Given({"trigger": found}, place), fields.mistakes)
    return again.duration("trigger")


def _common_options(fields: Fields) -> dict[str, Given]:
    common = fields.settings("options")
    for name, each in common.items():
        if not name.lower().startswith("kafka."):
            fields.wrong(each.place, f"the option {name} belongs to one source or sink: the pipeline has kafka.* alone")
    return {name: each for name, each in common.items() if name.lower().startswith("kafka.")}


def _source(
    name: str, part: Given, common: Mapping[str, Given], mistakes: Mistakes
) -> TopicSource | TableSource | None:
    fields = Fields(f"the source {name}", part, mistakes)
    chosen = _only_one(fields, (*_CHOSEN_BY, "table"), "the topic or the table that it reads")
    source = None
    if chosen == "table":
        source = _table_source(name, fields)
    elif chosen is not None:
        return _topic_source(name, fields, chosen, common)
    if chosen is not None:
        fields.finish()
    return source


def _only_one(fields: Fields, names: Collection[str], what: str) -> str | None:
    chosen = [name for name in names if fields.has(name)]
    if len(chosen) == 1:
        return chosen[0]
    said = f"only one of {', '.join(chosen)} can be its" if chosen else f"give {what}: one of {', '.join(names)}"
    fields.wrong(fields.place, f"{fields.what}: {said}")
    return None


def _table_source(name: str, fields: Fields) -> TableSource:
    path = fields.text("table") or ""
    form = fields.choice("format", TABLE_FORMATS, PARQUET)
    schema = _ddl(fields)
    options = plain_texts(fields.settings("options"))
    return TableSource(name=name, place=fields.place, path=path, format=form, schema=schema, options=options)


def _ddl(fields: Fields) -> str | None:
    place = fields.place_of("schema")
    text = fields.text("schema")
    if text is not None:
        try:
            check_ddl(text, place)
        except PipelineError as error:
            for mistake in error.mistakes:
                fields.wrong(mistake.place, f"{fields.what}: {mistake.text}")
    return text


def _topic_source(name: str, fields: Fields, chosen: str, common: Mapping[str, Given]) -> TopicSource:
    topics = ",".join(fields.texts(chosen)) if chosen == "topics" else fields.text(chosen) or ""
    decoder = _decoder(fields)
    own = fields.settings("options")
    source = TopicSource(
        name=name,
        place=fields.place,
        chosen_by=_CHOSEN_BY[chosen],
        topics=topics,
        decoder=decoder,
        options=plain_texts({**common, **own}),
        event_time=fields.text("event_time"),
        watermark=fields.duration("watermark"),
        dead_letters=fields.text("dead_letters"),
    )
    fields.finish()
    if source.watermark is not None and source.event_time is None:
        fields.wrong(fields.place, f"{fields.what} has a watermark and no event_time: name the column that is the time")
    check_source_options(source, {**common, **own}, fields.mistakes)
    return source


def _decoder(fields: Fields) -> Decoder:
    place = fields.place_of("decode")
    kind = fields.choice("decode", DECODERS, RAW)
    schema = _ddl(fields) if kind in _WITH_DDL else fields.text("schema")
    decoder = Decoder(
        kind=kind,
        schema=schema,
        registry=fields.text("registry"),
        message=fields.text("message"),
        descriptor=fields.text("descriptor"),
    )
    for wrong in _wrong_in_decoder(decoder):
        fields.wrong(place, f"{fields.what}: {wrong}")
    return decoder


def _wrong_in_decoder(decoder: Decoder) -> list[str]:
    kind, wrong = decoder.kind, []
    if kind in _WITH_DDL and decoder.schema is None:
        wrong.append(f"decode: {kind} needs a schema, such as schema: id BIGINT, name STRING")
    if kind == AVRO and decoder.schema is None and decoder.registry is None:
        wrong.append("decode: avro needs a schema (Avro's own, in JSON) or the address of a registry")
    if kind == PROTOBUF:
        wrong += _wrong_in_protobuf(decoder)
    elif decoder.message is not None or decoder.descriptor is not None:
        wrong.append(f"message and descriptor belong to decode: protobuf, not to {kind}")
    if decoder.registry is not None and kind not in (AVRO, PROTOBUF):
        wrong.append(f"registry belongs to decode: avro and protobuf, not to {kind}")
    if decoder.schema is not None and kind not in (*_WITH_DDL, AVRO):
        wrong.append(f"schema belongs to decode: json, csv and avro, not to {kind}")
    return wrong


def _wrong_in_protobuf(decoder: Decoder) -> list[str]:
    if decoder.message is None:
        return ["decode: protobuf needs a message: module:Class, or a full name together with descriptor: FILE"]
    if decoder.descriptor is None and ":" not in decoder.message:
        return [f"message {decoder.message} needs descriptor: FILE (protoc --descriptor_set_out), or be module:Class"]
    return []


def _step(name: str, part: Given, mistakes: Mistakes) -> SqlStep | FunctionStep | None:
    fields = Fields(f"the step {name}", part, mistakes)
    chosen = _only_one(fields, ("sql", FUNCTION), "what it does")
    step: SqlStep | FunctionStep | None = None
    if chosen == "sql":
        place = fields.place_of("sql")
        step = SqlStep(name=name, place=place, text=fields.text("sql") or "")
    elif chosen == FUNCTION:
        function = fields.function(FUNCTION)
        inputs = fields.texts("inputs")
        step = (
            None if function is None else FunctionStep(name=name, place=fields.place, inputs=inputs, function=function)
        )
    if chosen is not None:
        fields.finish()
    return step


def _sink(name: str, part: Given, common: Mapping[str, Given], mistakes: Mistakes) -> Sink | None:
    fields = Fields(f"the sink {name}", part, mistakes)
    source = fields.needed("from", "name the source or the step that it writes")
    kind = _only_one(fields, SINKS, "where it writes to")
    if kind is None:
        return None
    function = fields.function(kind) if kind == FUNCTION else None
    target = _console(fields) if kind == CONSOLE else fields.text(kind) if kind != FUNCTION else function
    own = fields.settings("options")
    sink = Sink(
        name=name,
        place=fields.place,
        input=source,
        kind=kind,
        target=target or "",
        mode=fields.choice("mode", MODES, APPEND),
        encoder=fields.choice("encode", ENCODERS, JSON) if kind == TOPIC else JSON,
        key=fields.text("key") if kind == TOPIC else None,
        guarantee=fields.choice("guarantee", _GUARANTEES, _GUARANTEES[0]) if kind == TOPIC else None,
        partition_by=fields.texts("partition_by") if kind in (PARQUET, DELTA) else (),
        merge_on=fields.texts("merge_on") if kind == DELTA else (),
        latest_by=fields.texts("latest_by") if kind == DELTA else (),
        delete_when=fields.text("delete_when") if kind == DELTA else None,
        catalog=plain_texts(fields.settings("catalog")) if kind == ICEBERG else {},
        rows=fields.count("rows", 20) if kind == CONSOLE else 20,
        options=plain_texts({**common, **own} if kind == TOPIC else own),
    )
    fields.finish()
    for wrong in _wrong_in_sink(sink):
        fields.wrong(fields.place, f"{fields.what}: {wrong}")
    if kind == TOPIC:
        check_sink_options(sink, {**common, **own}, fields.mistakes)
    elif own and kind != PARQUET:
        fields.wrong(next(iter(own.values())).place, f"{fields.what}: a sink of the kind {kind} has no options")
    return sink


def _console(fields: Fields) -> str | None:
    found = fields.take(CONSOLE)
    if found is not None and found.value is not True:
        fields.wrong(found.place, f"console of {fields.what} is to be true")
    return CONSOLE


def _wrong_in_sink(sink: Sink) -> list[str]:
    wrong = []
    if sink.kind in (PARQUET, ICEBERG) and sink.mode != APPEND:
        wrong.append(f"{sink.kind} is written in mode append, not {sink.mode}")
    if sink.kind == DELTA and sink.mode != APPEND and not (sink.mode == "update" and sink.merge_on):
        wrong.append("delta is written in mode append, or in mode update with merge_on")
    if bool(sink.merge_on) != bool(sink.latest_by):
        wrong.append(
            "merge_on (the columns that name a row) and latest_by (which of two changes is the later) go together"
        )
    if sink.delete_when and not sink.merge_on:
        wrong.append("delete_when needs merge_on")
    if sink.merge_on and sink.partition_by:
        wrong.append("partition_by is for delta without merge_on")
    if sink.kind == ICEBERG and not sink.catalog:
        wrong.append(
            "iceberg needs a catalog, such as catalog: {type: sql, uri: 'sqlite:////srv/catalog.db', warehouse: /srv}"
        )
    if sink.kind == ICEBERG and isinstance(sink.target, str) and "." not in sink.target:
        wrong.append(f"an iceberg table is named namespace.table, not {sink.target!r}")
    return wrong
