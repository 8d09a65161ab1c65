"""The configs of one resource, with the chain of values that each has won over: what DescribeConfigs answers."""

from collections.abc import Mapping

from odradek.config import broker, client_metrics, group
from odradek.config.definition import Definition, Table
from odradek.config.sources import BrokerLayers, Described, SourcedValue, describe_broker, describe_topic
from odradek.config.types import text_of
from odradek.config.vocabulary import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_CLIENT_METRICS_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_GROUP_CONFIG,
    STATIC_BROKER_CONFIG,
    ConfigSource,
)
from odradek.protocol import releases

_IMPLIED = ("broker.id", "node.id")
_GROUP_PREFIX = "group."  # consumer.session.timeout.ms of a group stands over group.consumer.session.timeout.ms


def of_topic(layers: BrokerLayers, overrides: Mapping[str, str]) -> list[Described]:
    return [described for described in describe_topic(layers, overrides) if _is_shown(described, overrides)]


def of_broker(layers: BrokerLayers, dynamic: Mapping[str, str]) -> list[Described]:
    """`dynamic` as the metadata has it: a name that is a plugin's or nobody's is shown as well, without its value.

    A 3.3 lists its own internal configs, too.
    """
    given = {**layers.static, **dynamic}
    rows = broker.TABLE.at(layers.release)
    listed = describe_broker(
        layers, [name for name in layers.config if (broker.base_of_listener_config(name) or name) in rows]
    )
    shows_all = not releases.by_name(layers.release).behaviour.hides_internal_configs
    known = [_completed(layers, described) for described in listed if shows_all or _is_shown(described, given)]
    names = {described.name for described in known}
    others = [_unknown(name, STATIC_BROKER_CONFIG) for name in layers.static if name not in names]
    others += [_unknown(name, DYNAMIC_BROKER_CONFIG) for name in dynamic if name not in names]
    return known + others


def of_all_brokers(release: str, dynamic: Mapping[str, str]) -> list[Described]:
    """What is set for every broker, and nothing else: there is no file behind it."""
    described = []
    for name, value in dynamic.items():
        row = broker.TABLE.find(name, release)
        shown = None if row is None or row.is_sensitive else value
        chain = [SourcedValue(name, shown, DYNAMIC_DEFAULT_BROKER_CONFIG)]
        described.append(Described(name, shown, chain, row, is_read_only=row is None or not row.is_dynamic))
    return described


def of_client_metrics(release: str, overrides: Mapping[str, str]) -> list[Described]:
    rows = client_metrics.TABLE.at(release)
    return [
        _overriding(client_metrics.TABLE, row, overrides, DYNAMIC_CLIENT_METRICS_CONFIG, []) for row in rows.values()
    ]


def of_group(layers: BrokerLayers, overrides: Mapping[str, str]) -> list[Described]:
    rows = group.TABLE.at(layers.release)
    return [
        _overriding(group.TABLE, row, overrides, DYNAMIC_GROUP_CONFIG, _below_group(layers, row))
        for row in rows.values()
    ]


def _completed(layers: BrokerLayers, described: Described) -> Described:
    """What follows from another line of the file (broker.id from node.id) counts as if the file had it."""
    name = described.name
    implied = broker.TABLE.prepare(layers.static).get(name) if name in _IMPLIED else None
    if implied is None or name in layers.static:
        return described
    chain = [SourcedValue(name, text_of(implied), STATIC_BROKER_CONFIG), *described.synonyms]
    return Described(name, described.text, chain, described.definition, described.is_read_only)


def _is_shown(described: Described, given: Mapping[str, object]) -> bool:
    """An internal config is nobody's business unless it was set."""
    row = described.definition
    return described.name in given or (row is not None and not row.internal)


def _unknown(name: str, source: ConfigSource) -> Described:
    return Described(name, None, [SourcedValue(name, None, source)], None, is_read_only=True)


def _below_group(layers: BrokerLayers, row: Definition) -> list[SourcedValue]:
    chain = layers.chain(_GROUP_PREFIX + row.name)
    return chain or [SourcedValue(row.name, text_of(row.default), DEFAULT_CONFIG)]


def _overriding(
    table: Table, row: Definition, overrides: Mapping[str, str], source: ConfigSource, below: list[SourcedValue]
) -> Described:
    """A config that its own resource has set, else the first of the chain below it, else its default."""
    chain = list(below)
    if row.name in overrides:
        chain.insert(0, SourcedValue(row.name, overrides[row.name], source))
    value = chain[0].text if chain else text_of(row.default)
    return Described(row.name, value, chain, row, is_read_only=False)
