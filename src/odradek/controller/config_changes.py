"""AlterConfigs and IncrementalAlterConfigs: resource by resource, each as a whole or not at all."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from odradek.broken_rule import instance, present
from odradek.config import broker, client_metrics, group, topic
from odradek.config.definition import Definition, Table
from odradek.config.errors import ConfigError
from odradek.config.types import LIST, text_of
from odradek.config.vocabulary import BROKER, CLIENT_METRICS, GROUP, TOPIC
from odradek.controller.config_checks import check_broker_configs, check_configs, check_resource
from odradek.controller.state import ControllerState
from odradek.metadata.configs import ALL_BROKERS, config_record
from odradek.protocol.declare import Message
from odradek.protocol.errors import InvalidConfig, InvalidRequest, KafkaError, UnknownServerError
from odradek.protocol.messages import k33_alter_configs as k33
from odradek.protocol.messages import k44_incremental_alter_configs as k44
from odradek.protocol.messages.metadata_topics import ClearElrRecord, ConfigRecord

SET, DELETE, APPEND, SUBTRACT = range(4)
_OPERATIONS = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}
VALUE_CHARS_MAX = 32767
MIN_INSYNC_REPLICAS = "min.insync.replicas"

_TABLES: dict[int, Table] = {TOPIC: topic.TABLE, BROKER: broker.TABLE, CLIENT_METRICS: client_metrics.TABLE,
                             GROUP: group.TABLE}  # fmt: skip

R = TypeVar("R", k33.AlterConfigsResource, k44.AlterConfigsResource)
Wanted = Callable[[ControllerState, R, Mapping[str, str]], dict[str, str]]  # the configs of a resource after the change
Outcome = tuple[R, KafkaError | None]  # a resource of the request, and why it was refused
Changes = tuple[list[Message], list[Outcome[R]]]


def incremental(
    state: ControllerState, resources: Sequence[k44.AlterConfigsResource]
) -> Changes[k44.AlterConfigsResource]:
    """Single configs are set, deleted, or extended and cut as lists; the others stay."""
    return _each(state, resources, _incremented)


def replace_all(
    state: ControllerState, resources: Sequence[k33.AlterConfigsResource]
) -> Changes[k33.AlterConfigsResource]:
    """What is not named goes back to its default."""
    return _each(state, resources, _replaced)


def _each(state: ControllerState, resources: Sequence[R], wanted: Wanted[R]) -> Changes[R]:
    records: list[Message] = []
    outcomes: list[Outcome[R]] = []
    named = Counter((item.resource_type, item.resource_name) for item in resources)
    for item in resources:
        try:
            if named[item.resource_type, item.resource_name] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            records += _changed(state, item, wanted)
        except KafkaError as error:
            outcomes.append((item, error))
        else:
            outcomes.append((item, None))
    return records, outcomes


def _changed(state: ControllerState, item: R, wanted: Wanted[R]) -> list[Message]:
    names = [config.name for config in item.configs]
    if len(set(names)) != len(names):
        raise InvalidRequest("Error due to duplicate config keys")
    for config in item.configs:
        if config.value is None and getattr(config, "config_operation", SET) != DELETE:
            raise InvalidRequest(f"Null value not supported for : {config.name}")
    check_resource(state, item.resource_type, item.resource_name)
    before = state.configs.of(item.resource_type, item.resource_name)
    after = wanted(state, item, before)
    if item.resource_type == BROKER:
        check_broker_configs(state, item.resource_name, names, after)
    else:
        check_configs(state, item.resource_type, item.resource_name, after)
    return _records(state, item, before, after)


def _replaced(state: ControllerState, item: k33.AlterConfigsResource, before: Mapping[str, str]) -> dict[str, str]:
    return {config.name: _value(config) for config in item.configs}


def _incremented(state: ControllerState, item: k44.AlterConfigsResource, before: Mapping[str, str]) -> dict[str, str]:
    after = dict(before)
    for config in item.configs:
        if config.config_operation == SET:
            after[config.name] = _value(config)
        elif config.config_operation == DELETE:
            after.pop(config.name, None)
        elif config.config_operation in _OPERATIONS:
            after[config.name] = _edited_list(state, item.resource_type, config, after)
        else:
            raise UnknownServerError()  # so does Kafka
    return after


def _value(config: k33.AlterableConfig | k44.AlterableConfig) -> str:
    return present(config.value, "a config without a value was refused")


def _edited_list(
    state: ControllerState, resource_type: int, config: k44.AlterableConfig, values: Mapping[str, str]
) -> str:
    row = _TABLES[resource_type].find(config.name, state.release.name)
    if row is None or row.type is not LIST:
        verb, name = _OPERATIONS[config.config_operation], config.name
        raise InvalidConfig(f"Can't {verb} to key {name} because its type is not LIST.")
    items = _items(values[config.name] if config.name in values else _inherited(state, resource_type, row))
    named = _items(_value(config))
    if config.config_operation == APPEND:
        items += [name for name in named if name not in items]
    else:
        items = [name for name in items if name not in named]
    return ",".join(items)


def _inherited(state: ControllerState, resource_type: int, row: Definition) -> str:
    config = state.configs.layers.config
    if resource_type == BROKER:
        return text_of(config.get(row.name)) or ""
    for synonym in row.synonyms:
        if config.get(synonym.name) is not None:
            return text_of(config[synonym.name]) or ""
    return text_of(row.default) or ""


def _items(text: str) -> list[str]:
    try:
        parsed = instance(LIST.parse("", text), tuple, "a LIST is parsed into a tuple")
    except ConfigError:
        return []
    return [str(item) for item in parsed]


def _records(state: ControllerState, item: R, before: Mapping[str, str], after: Mapping[str, str]) -> list[Message]:
    """A value that is set again is written for brokers only: that is how they are told to read a keystore anew."""
    records: list[Message] = []
    resource = (item.resource_type, item.resource_name)
    set_again = {config.name for config in item.configs} if item.resource_type == BROKER else set()
    for name, value in after.items():
        if len(value) > VALUE_CHARS_MAX:
            raise InvalidConfig(
                "The configuration value cannot be added because it exceeds the maximum value size of"
                f" {VALUE_CHARS_MAX} bytes."
            )
        if before.get(name) != value or name in set_again:
            records.append(config_record(resource, name, value))
    records += [config_record(resource, name, None) for name in before if name not in after]
    if any(isinstance(record, ConfigRecord) and record.name == MIN_INSYNC_REPLICAS for record in records):
        records += _forget_eligible(state, item, after)
    return records


def _forget_eligible(state: ControllerState, item: R, after: Mapping[str, str]) -> list[Message]:
    """Eligible leader replicas were counted against the old minimum (KIP-966)."""
    if not state.features.has_eligible_leader_replicas or item.resource_type not in (TOPIC, BROKER):
        return []
    if item.resource_type == TOPIC:
        return [ClearElrRecord(topic_name=item.resource_name)]
    if item.resource_name != ALL_BROKERS:
        raise InvalidConfig("Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
    if MIN_INSYNC_REPLICAS not in after:
        raise InvalidConfig("Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
    return [ClearElrRecord()]
