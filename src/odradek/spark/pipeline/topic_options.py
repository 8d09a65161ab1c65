"""The options of a topic's source or sink, held against the one table of the format, each mistake with its line."""

from collections.abc import Mapping

from odradek.client.settings import RELEASE
from odradek.config.producer import TABLE as PRODUCER_TABLE
from odradek.spark.errors import SparkOptionError
from odradek.spark.options import sink_options, source_options
from odradek.spark.pipeline.given import Given
from odradek.spark.pipeline.mistakes import Mistakes, Place
from odradek.spark.pipeline.model import Sink, TopicSource

_SET_BY_THE_SOURCE = {"subscribe": "topic", "subscribepattern": "pattern", "assign": "assign"}
_SET_BY_THE_SINK = {"topic": "topic", "odradek.sink.guarantee": "guarantee", "checkpointlocation": "checkpoint"}


def options_of_source(source: TopicSource) -> dict[str, str]:
    """What `format("odradek")` is given."""
    return {**source.options, source.chosen_by: source.topics}


def options_of_sink(sink: Sink) -> dict[str, str]:
    guarantee = {} if sink.guarantee is None else {"odradek.sink.guarantee": sink.guarantee}
    return {**sink.options, "topic": str(sink.target), **guarantee}


def options_of_dead_letters(source: TopicSource) -> dict[str, str]:
    """To the same cluster: of the source's options those that a producer has, too."""
    known = {f"kafka.{name}" for name in PRODUCER_TABLE.at(RELEASE)}
    shared = {name: value for name, value in source.options.items() if name.lower() in known}
    return {**shared, "topic": str(source.dead_letters)}


def check_source_options(source: TopicSource, given: Mapping[str, Given], mistakes: Mistakes) -> None:
    _refuse_own(f"the source {source.name}", given, _SET_BY_THE_SOURCE, mistakes)
    try:
        source_options(options_of_source(source), True)
    except SparkOptionError as error:
        mistakes.add(_place(error, given, source.place), f"the source {source.name}: {error}")


def check_sink_options(sink: Sink, given: Mapping[str, Given], mistakes: Mistakes) -> None:
    _refuse_own(f"the sink {sink.name}", given, _SET_BY_THE_SINK, mistakes)
    try:
        sink_options(options_of_sink(sink), True)
    except SparkOptionError as error:
        mistakes.add(_place(error, given, sink.place), f"the sink {sink.name}: {error}")


def _refuse_own(what: str, given: Mapping[str, Given], fields: Mapping[str, str], mistakes: Mistakes) -> None:
    for name, each in given.items():
        if name.lower() in fields:
            mistakes.add(each.place, f"{what}: {name} is no option here but the field {fields[name.lower()]}")


def _place(error: SparkOptionError, given: Mapping[str, Given], otherwise: Place) -> Place:
    by_name = {name.lower(): each.place for name, each in given.items()}
    return by_name.get(error.option.lower(), otherwise)
