"""Where a value comes from: the topic, the broker at run time, all brokers at run time, the file, or the table.

The broker's own configs come in four layers, each of which hides the next: set for this broker, set for all brokers, in
the file, the default. A topic config that is not set takes the first of its broker synonyms that has a value, in
whatever layer; the unit is converted. DescribeConfigs shows the whole chain.
"""

from collections.abc import Iterable, Mapping

from odradek.config import broker, topic
from odradek.config.broker import base_of_listener_config
from odradek.config.definition import Definition
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config, check_rules
from odradek.config.types import text_of
from odradek.config.vocabulary import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
    ConfigSource,
)

# The same limit in several units, the most precise first. The scheduler's interval only stands in for the other.
_FAMILIES = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
_SYNONYMS = {name: family for family in _FAMILIES for name in family}
_SYNONYMS["log.flush.interval.ms"] = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The names under which a broker config may be set, the strongest first."""
    base = base_of_listener_config(name)
    return (name, *broker_synonyms(base)) if base is not None else _SYNONYMS.get(name, (name,))


class SourcedValue:
    """A name, the text that it was given (None for a secret) and who gave it."""

    __slots__ = ("name", "source", "text")

    def __init__(self, name: str, text: str | None, source: ConfigSource) -> None:
        self.name = name
        self.text = text
        self.source = source

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SourcedValue) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{self.name}={self.text} ({self.source.name})"


class Described:
    """One config as DescribeConfigs answers it: `definition` is None for a name that no table knows."""

    __slots__ = ("definition", "is_read_only", "is_sensitive", "name", "source", "synonyms", "text")

    def __init__(
        self,
        name: str,
        text: str | None,
        synonyms: list[SourcedValue],
        definition: Definition | None,
        is_read_only: bool,
    ) -> None:
        self.name = name
        self.definition = definition
        self.is_sensitive = definition is None or definition.is_sensitive
        self.text = None if self.is_sensitive else text
        self.synonyms = synonyms
        self.source = synonyms[0].source if synonyms else DEFAULT_CONFIG
        self.is_read_only = is_read_only

    def __repr__(self) -> str:
        return f"Described({self.name}={self.text}, {self.source.name}, {self.synonyms})"


class BrokerLayers:
    """The layers of a broker's configs, and the configs that they amount to."""

    __slots__ = ("_layers", "config", "release")

    def __init__(
        self,
        static: Mapping[str, object],
        dynamic_default: Mapping[str, object] | None = None,
        dynamic_broker: Mapping[str, object] | None = None,
        release: str = "4.3",
    ) -> None:
        self.release = release
        self._layers: tuple[tuple[ConfigSource, Mapping[str, object]], ...] = (
            (DYNAMIC_BROKER_CONFIG, dynamic_broker or {}),
            (DYNAMIC_DEFAULT_BROKER_CONFIG, dynamic_default or {}),
            (STATIC_BROKER_CONFIG, static),
        )
        merged = {**static, **(dynamic_default or {}), **(dynamic_broker or {})}
        self.config = broker.TABLE.parse(merged, release)

    @property
    def static(self) -> Mapping[str, object]:
        return self._layers[2][1]

    def with_dynamic(self, for_all: Mapping[str, object], for_this: Mapping[str, object]) -> "BrokerLayers":
        """The layers of this broker with other dynamic configs over its file; ConfigError if they do not agree."""
        return BrokerLayers(self.static, for_all, for_this, self.release)

    def chain(self, name: str) -> list[SourcedValue]:
        """Every value of the name and its synonyms, the strongest layer first; what hides the name itself comes off."""
        names = broker_synonyms(name)
        found = [
            self._sourced(synonym, values[synonym], source)
            for source, values in self._layers
            for synonym in names
            if synonym in values
        ]
        rows = broker.TABLE.at(self.release)
        defaults = [rows[synonym] for synonym in names if synonym in rows]
        found += [
            self._sourced(row.name, row.default, DEFAULT_CONFIG)
            for row in defaults
            if row.default is not None and not row.is_required
        ]
        while found and found[0].name != name:
            del found[0]
        return found

    def _sourced(self, name: str, value: object, source: ConfigSource) -> SourcedValue:
        row = broker.TABLE.find(name, self.release)
        is_hidden = row is None or row.is_sensitive
        return SourcedValue(name, None if is_hidden else text_of(value), source)


def topic_config(layers: BrokerLayers, overrides: Mapping[str, object]) -> Config:
    """The configs of one topic: its own, else what the broker's amount to. ConfigError for a bad one."""
    rows = topic.TABLE.at(layers.release)
    values = {
        name: row.parse(overrides[name]) if name in overrides else _inherited(row, layers.config)
        for name, row in rows.items()
    }
    unknown = tuple(f"{name} is no config of a topic: ignored" for name in overrides if name not in rows)
    config = Config(topic.TABLE, layers.release, values, frozenset(overrides) & rows.keys(), unknown)
    check_rules(config)
    return config


def check_topic_overrides(layers: BrokerLayers, overrides: Mapping[str, object]) -> Config:
    """The config of a topic with what a client asks to set; ConfigError for a bad value or an unknown name."""
    rows = topic.TABLE.at(layers.release)
    unknown = next((name for name in overrides if name not in rows), None)
    if unknown is not None:
        raise ConfigError(f"Unknown topic config name: {unknown}")
    return topic_config(layers, overrides)


def _inherited(row: Definition, config: Config) -> object:
    for synonym in row.synonyms:
        value = synonym.convert(config.get(synonym.name))
        if value is not None:
            # any negative time is for ever
            return max(value, -1) if row.name == "retention.ms" else value
    return row.default


def describe_topic(layers: BrokerLayers, overrides: Mapping[str, object]) -> list[Described]:
    """Every config of the topic with the chain that its value won over."""
    config = topic_config(layers, overrides)
    rows = topic.TABLE.at(layers.release)
    return [_described_topic(layers, overrides, row, config[name]) for name, row in rows.items()]


def _described_topic(
    layers: BrokerLayers, overrides: Mapping[str, object], row: Definition, value: object
) -> Described:
    chain = layers.chain(row.synonyms[0].name) if row.synonyms else []
    if row.name in overrides:
        chain.insert(0, SourcedValue(row.name, text_of(value), DYNAMIC_TOPIC_CONFIG))
    return Described(row.name, text_of(value), chain, row, is_read_only=False)


def describe_broker(layers: BrokerLayers, names: Iterable[str] | None = None) -> list[Described]:
    """The broker's configs, or those of `names` that it has."""
    wanted = layers.config if names is None else [name for name in names if name in layers.config]
    return [_described_broker(layers, name) for name in wanted]


def _described_broker(layers: BrokerLayers, name: str) -> Described:
    row = broker.TABLE.find(name, layers.release)
    # a listener's own value is as good as read-only here: Kafka reports it so
    is_read_only = row is None or not row.is_dynamic or base_of_listener_config(name) is not None
    return Described(name, text_of(layers.config[name]), layers.chain(name), row, is_read_only)
