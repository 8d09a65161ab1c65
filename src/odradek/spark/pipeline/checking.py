"""What has to be true of a pipeline as a whole: names, references, cycles, aggregations that could never end."""

from collections.abc import Mapping

from odradek.spark.pipeline.graph import Part, cycle, inputs_of, parts_by_name, upstream
from odradek.spark.pipeline.mistakes import Mistakes, PipelineError, did_you_mean
from odradek.spark.pipeline.model import APPEND, Declaration, FunctionStep, Sink, SqlStep, TopicSource
from odradek.spark.pipeline.sql_names import aggregates_without_watermark


def check(declaration: Declaration, mistakes: Mistakes) -> None:
    if not declaration.sources:
        mistakes.add(declaration.place, "the pipeline has no sources: name what it reads")
    if not declaration.sinks:
        mistakes.add(declaration.place, "the pipeline has no sinks: name where it writes to")
    _check_names(declaration, mistakes)
    if _has_readable_sql(declaration, mistakes):
        parts = parts_by_name(declaration)
        _check_references(declaration, parts, mistakes)
        if not _has_cycle(parts, mistakes):
            _check_sinks(declaration, parts, mistakes)


def _check_names(declaration: Declaration, mistakes: Mistakes) -> None:
    for parts in ((*declaration.sources, *declaration.steps), declaration.sinks):
        seen: dict[str, str] = {}
        for part in parts:
            if part.name.lower() in seen:
                mistakes.add(part.place, f"the name {part.name} is taken: {seen[part.name.lower()]}")
            seen.setdefault(part.name.lower(), f"see {part.place}")


def _has_readable_sql(declaration: Declaration, mistakes: Mistakes) -> bool:
    """Quotes that do not end are told here; nothing else can be said of such a text."""
    is_readable = True
    for step in declaration.steps:
        try:
            inputs_of(step)
        except PipelineError as error:
            is_readable = False
            for mistake in error.mistakes:
                mistakes.add(mistake.place, f"the step {step.name}: {mistake.text}")
    return is_readable


def _check_references(declaration: Declaration, parts: Mapping[str, Part], mistakes: Mistakes) -> None:
    names = [part.name for part in parts.values()]
    for step in declaration.steps:
        for read in inputs_of(step):
            if read.name.lower() not in parts:
                guess = did_you_mean(read.name, [name for name in names if name != step.name])
                mistakes.add(read.place, f"the step {step.name} reads {read.name!r}, which is not there{guess}")
        if isinstance(step, FunctionStep) and not step.inputs:
            mistakes.add(step.place, f"the step {step.name} has no inputs: name what its function is given")
    for sink in declaration.sinks:
        if sink.input and sink.input.lower() not in parts:
            guess = did_you_mean(sink.input, names)
            mistakes.add(sink.place, f"the sink {sink.name} writes {sink.input!r}, which is not there{guess}")


def _has_cycle(parts: Mapping[str, Part], mistakes: Mistakes) -> bool:
    found = cycle(parts)
    if found is not None:
        place, names = found
        mistakes.add(place, f"these steps wait for each other: {' reads '.join(names)}")
    return found is not None


def _check_sinks(declaration: Declaration, parts: Mapping[str, Part], mistakes: Mistakes) -> None:
    for sink in declaration.sinks:
        if sink.input.lower() not in parts:
            continue
        above = list(upstream(parts[sink.input.lower()], parts))
        is_whole = all(read.name.lower() in parts for part in above for read in inputs_of(part))
        if is_whole and not any(isinstance(part, TopicSource) for part in above):
            mistakes.add(sink.place, f"the sink {sink.name} reads no topic: there is nothing that would stream")
        _check_append(sink, above, parts, mistakes)


def _check_append(sink: Sink, above: list[Part], parts: Mapping[str, Part], mistakes: Mistakes) -> None:
    """Only what is certain: everything that the aggregation reads is a stream without a watermark, and all is SQL."""
    if sink.mode != APPEND or any(isinstance(part, FunctionStep) for part in above):
        return
    for step in (part for part in above if isinstance(part, SqlStep)):
        if not aggregates_without_watermark(step.text, step.place):
            continue
        read = [part for part in upstream(step, parts) if part is not step]
        sources = [part for part in read if not isinstance(part, SqlStep)]
        says_how_late = any("watermark" in part.text.lower() for part in read if isinstance(part, SqlStep))
        if (
            sources
            and not says_how_late
            and all(isinstance(part, TopicSource) and not part.watermark for part in sources)
        ):
            mistakes.add(
                step.place,
                f"the step {step.name} aggregates, and the sink {sink.name} is in mode append: give the source "
                f"{sources[0].name} event_time and watermark and group by a window, or the sink mode: update",
            )
