"""Whether a resource may have these configs. Each check raises the error that Kafka answers with."""

import re
from collections.abc import Iterable, Mapping

from odradek.config import broker, client_metrics, group
from odradek.config.definition import PER_BROKER
from odradek.config.errors import ConfigError
from odradek.config.sources import check_topic_overrides
from odradek.config.vocabulary import BROKER, CLIENT_METRICS, GROUP, TOPIC
from odradek.controller.state import ControllerState
from odradek.controller.topic_names import check_name
from odradek.metadata.configs import ALL_BROKERS
from odradek.protocol.errors import InvalidConfig, InvalidRequest, UnknownTopicOrPartition
from odradek.security import protections

INTERVAL_MS = (100, 3_600_000)  # of a client metrics subscription
_SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
_THREADS = ("num.io.threads", "num.network.threads", "num.replica.fetchers", "background.threads",
            "num.recovery.threads.per.data.dir")  # fmt: skip


def check_resource(state: ControllerState, resource_type: int, name: str) -> None:
    """Whether there is such a resource, and it may have configs."""
    if resource_type == TOPIC:
        if not name:
            raise InvalidRequest("Default topic resources are not allowed.")
        check_name(name)
        if name not in state.topics.by_name:
            raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")
    elif resource_type == BROKER:
        _check_broker(state, name)
    elif resource_type == CLIENT_METRICS and state.release.behaviour.has_client_metrics:
        if not name:
            raise InvalidRequest("Subscription name can't be empty")
    elif resource_type == GROUP and state.release.behaviour.has_group_configs:
        if not name:
            raise InvalidRequest("Default group resources are not allowed.")
    else:
        raise InvalidRequest(f"Unknown resource type {resource_type}")


def check_configs(state: ControllerState, resource_type: int, name: str, configs: Mapping[str, str]) -> None:
    """Whether the resource may have all of these together."""
    try:
        if resource_type == TOPIC:
            check_topic_overrides(state.configs.layers, configs)
        elif resource_type == CLIENT_METRICS:
            _check_client_metrics(configs)
        elif resource_type == GROUP:
            _check_group(state, configs)
    except ConfigError as error:
        raise InvalidConfig(str(error)) from None


def _check_broker(state: ControllerState, name: str) -> None:
    if name == ALL_BROKERS:
        return
    if not re.match(r"-?[0-9]{1,10}\Z", name):
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if int(name) not in state.cluster.brokers and int(name) not in state.cluster.controllers:
        raise InvalidRequest(f"Unexpected broker id, expected {state.node_id}, but received {name}")


def check_broker_configs(state: ControllerState, name: str, changed: Iterable[str], configs: Mapping[str, str]) -> None:
    """Names that may change while a broker runs, in the layer that they are meant for, with values that go together."""
    release = state.release.name
    shown = state.release.behaviour.names
    rows = {key: broker.TABLE.find(key, release) for key in changed}
    fixed = [key for key, row in rows.items() if row is not None and not row.is_dynamic]
    if fixed:
        raise InvalidRequest(f"Cannot update these configs dynamically: {shown(fixed)}")
    bare = [key for key, row in rows.items() if row is not None and _needs_listener(key)]
    if bare:
        raise InvalidRequest(
            "These security configs can be dynamically updated only per-listener using the listener prefix:"
            f" {shown(bare)}"
        )
    own = [key for key, row in rows.items() if row is not None and row.update_mode == PER_BROKER]
    if name == ALL_BROKERS and own:
        raise InvalidRequest(
            f"Cannot update these configs at default cluster level, broker id must be specified: {shown(own)}"
        )
    try:
        _check_layers(state, name, configs)
    except ConfigError as error:
        raise InvalidRequest(str(error)) from None


def _check_layers(state: ControllerState, name: str, configs: Mapping[str, str]) -> None:
    if name == ALL_BROKERS:
        layers = state.configs.layers_with(configs, state.configs.of(BROKER, str(state.node_id)))
    else:
        layers = state.configs.layers_with(state.configs.of(BROKER, ALL_BROKERS), configs)
    protections.check(layers.config)
    before = state.configs.layers.config
    for key in _THREADS:
        value, current = layers.config.get(key), before.get(key)
        if value is None or current is None or value == current:
            continue
        if value > 2 * current:
            raise _bad_thread_count(key, value, f"value should not be greater than double the current value {current}")
        if value < current // 2:
            raise _bad_thread_count(key, value, f"value should be at least half the current value {current}")


def _bad_thread_count(key: str, value: int, reason: str) -> ConfigError:
    return ConfigError(
        "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed"
        f" for {key}={value}, {reason} for configuration Invalid dynamic configuration"
    )


def _needs_listener(name: str) -> bool:
    return name.startswith("ssl.")


def _check_client_metrics(configs: Mapping[str, str]) -> None:
    rows = client_metrics.TABLE.at("4.3")
    for name, value in configs.items():
        if name not in rows:
            raise InvalidRequest(f"Unknown client metrics configuration: {name}")
        parsed = rows[name].parse(value)
        if name == "interval.ms" and not INTERVAL_MS[0] <= parsed <= INTERVAL_MS[1]:
            raise InvalidRequest(
                f"Invalid value {value} for interval.ms, interval must be between {INTERVAL_MS[0]} and"
                f" {INTERVAL_MS[1]} (1 hour)"
            )
        if name == "match":
            for pattern in parsed:
                _check_selector(pattern)


def _check_selector(pattern: str) -> None:
    selector, separator, expression = pattern.partition("=")
    try:
        re.compile(expression)
        is_legal = bool(separator) and selector.strip() in _SELECTORS
    except re.error:
        is_legal = False
    if not is_legal:
        raise InvalidConfig(f"Illegal client matching pattern: {pattern}")


def _check_group(state: ControllerState, configs: Mapping[str, str]) -> None:
    rows = group.TABLE.at("4.3")
    unknown = next((name for name in configs if name not in rows), None)
    if unknown is not None:
        raise InvalidConfig(f"Unknown group config name: {unknown}")
    limits = state.configs.layers.config
    values = {name: rows[name].parse(value) for name, value in configs.items()}
    for name, value in values.items():
        kind, _, rest = name.partition(".")
        limited = rest.removeprefix("num.")  # the limit of `num.standby.replicas` has no such word
        low, high = f"group.{kind}.min.{limited}", f"group.{kind}.max.{limited}"
        if low in limits and value < limits[low]:
            raise InvalidConfig(f"{name} must be greater than or equal to {low}")
        if high in limits and value > limits[high]:
            raise InvalidConfig(f"{name} must be less than or equal to {high}")
    for kind in ("consumer", "share", "streams"):
        session, beat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session in values and beat in values and values[session] <= values[beat]:
            raise InvalidConfig(f"{session} must be greater than {beat}")
