"""What would run, as text: sources, steps in their order, and the query that each sink is."""

from collections.abc import Iterator

from odradek.spark.pipeline.graph import in_order, inputs_of
from odradek.spark.pipeline.model import (
    AVAILABLE_NOW,
    CONSOLE,
    TOPIC,
    Declaration,
    Decoder,
    FunctionStep,
    Sink,
    SqlStep,
    TableSource,
    TopicSource,
    target_text,
)

_SQL_SHOWN_MAX = 88


def plan_text(declaration: Declaration) -> str:
    return "\n".join(_lines(declaration))


def query_names(declaration: Declaration) -> list[str]:
    """One for each sink, and one for the dead letters of each source that has them."""
    return [
        *(dead_letters_query(each) for each in with_dead_letters(declaration)),
        *(s.name for s in declaration.sinks),
    ]


def with_dead_letters(declaration: Declaration) -> list[TopicSource]:
    return [each for each in declaration.sources if isinstance(each, TopicSource) and each.dead_letters is not None]


def dead_letters_query(source: TopicSource) -> str:
    return f"{source.name}-dead-letters"


def _lines(declaration: Declaration) -> Iterator[str]:
    yield f"pipeline {declaration.name}"
    yield f"  checkpoint  {declaration.checkpoint}"
    yield f"  trigger     {_trigger(declaration.trigger)}"
    for part in in_order(declaration):
        yield ""
        if isinstance(part, (TopicSource, TableSource)):
            yield from _source(part)
        else:
            yield from _step(part)
    for sink in declaration.sinks:
        yield ""
        yield from _sink(sink, declaration)
    for source in with_dead_letters(declaration):
        yield ""
        yield f"query {dead_letters_query(source)}"
        yield f"  writes      topic {source.dead_letters}: what of {source.name} does not decode, with the reason"
        yield f"  checkpoint  {checkpoint_of(declaration, dead_letters_query(source))}"


def checkpoint_of(declaration: Declaration, query: str) -> str:
    return f"{declaration.checkpoint.rstrip('/')}/{query}"


def _trigger(trigger: str | None) -> str:
    if trigger is None:
        return "as soon as there is something"
    return "what is there now, then the end" if trigger == AVAILABLE_NOW else f"every {trigger}"


def _source(source: TopicSource | TableSource) -> Iterator[str]:
    yield f"source {source.name}  ({source.place})"
    if isinstance(source, TableSource):
        yield f"  reads       table {source.path} ({source.format})"
        return
    yield f"  reads       {described_topics(source)}"
    yield f"  decodes     {described_decoder(source.decoder)}"
    if source.event_time is not None:
        late = f", late by {source.watermark} at most" if source.watermark else ""
        yield f"  event time  {source.event_time}{late}"
    if source.dead_letters is None:
        yield "  bad records end the query"
    else:
        yield f"  bad records go to the topic {source.dead_letters}"


def described_topics(source: TopicSource) -> str:
    if source.chosen_by == "subscribe":
        return f"{'topics' if ',' in source.topics else 'topic'} {source.topics}"
    return f"topics like {source.topics}" if source.chosen_by == "subscribePattern" else f"partitions {source.topics}"


def described_decoder(decoder: Decoder) -> str:
    by = f" by {decoder.registry}" if decoder.registry else ""
    schema = " ".join((decoder.schema or decoder.message or "").split())
    return f"{decoder.kind}{by}{': ' if schema else ''}{_cut(schema)}"


def _step(step: SqlStep | FunctionStep) -> Iterator[str]:
    yield f"step {step.name}  ({step.place})"
    reads = ", ".join(dict.fromkeys(read.name for read in inputs_of(step)))
    yield f"  reads       {reads or 'nothing by name'}"
    if isinstance(step, SqlStep):
        yield f"  sql         {_cut(' '.join(step.text.split()))}"
    else:
        yield f"  function    {target_text(step.function)}"


def _sink(sink: Sink, declaration: Declaration) -> Iterator[str]:
    yield f"query {sink.name}  ({sink.place})"
    yield f"  reads       {sink.input}"
    yield f"  writes      {described_sink(sink)}, mode {sink.mode}"
    yield f"  checkpoint  {checkpoint_of(declaration, sink.name)}"


def described_sink(sink: Sink) -> str:
    if sink.kind == CONSOLE:
        return "console"
    said = f"{sink.kind} {target_text(sink.target)}"
    if sink.kind == TOPIC:
        said += f" as {sink.encoder}, {sink.guarantee}"
    return said + (f", merged on {', '.join(sink.merge_on)}" if sink.merge_on else "")


def _cut(text: str) -> str:
    return text if len(text) <= _SQL_SHOWN_MAX else f"{text[: _SQL_SHOWN_MAX - 3]}..."
