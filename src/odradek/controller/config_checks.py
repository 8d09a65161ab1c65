"""Whether a resource may have these configs. Each check raises the error that Kafka answers with."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from odradek.config import broker, client_metrics, group
from odradek.config.definition import PER_BROKER
from odradek.config.errors import ConfigError
from odradek.config.sources import check_topic_overrides
from odradek.controller.configs import BROKER, CLIENT_METRICS, CLUSTER_DEFAULT, GROUP, TOPIC
from odradek.controller.topic_names import check_name
from odradek.protocol.errors import InvalidConfig, InvalidRequest, UnknownTopicOrPartition
from odradek.security import protections

if TYPE_CHECKING:
    from odradek.controller.core import ControllerCore

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


def check_resource(core: "ControllerCore", resource_type: int, name: str) -> None:
    """Whether there is such a resource, and it may have configs."""
    if resource_type == TOPIC:
        if not name:
            raise InvalidRequest("Default topic resources are not allowed.")
        check_name(name)
        if name not in core.topics.by_name:
            raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")
    elif resource_type == BROKER:
        _check_broker(core, name)
    elif resource_type == CLIENT_METRICS and core.release.behaviour.has_client_metrics:
        if not name:
            raise InvalidRequest("Subscription name can't be empty")
    elif resource_type == GROUP and core.release.behaviour.has_group_configs:
        if not name:
            raise InvalidRequest("Default group resources are not allowed.")
    else:
        raise InvalidRequest(f"Unknown resource type {resource_type}")


def check_configs(core: "ControllerCore", resource_type: int, name: str, configs: Mapping[str, str]) -> None:
    """Whether the resource may have all of these together."""
    try:
        if resource_type == TOPIC:
            check_topic_overrides(core.configs.layers, configs)
        elif resource_type == CLIENT_METRICS:
            _check_client_metrics(configs)
        elif resource_type == GROUP:
            _check_group(core, configs)
    except ConfigError as error:
        raise InvalidConfig(str(error)) from None


def _check_broker(core: "ControllerCore", name: str) -> None:
    if name == CLUSTER_DEFAULT:
        return
    if not re.match(r"-?[0-9]{1,10}\Z", name):
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if int(name) not in core.cluster.brokers and int(name) not in core.cluster.controllers:
        raise InvalidRequest(f"Unexpected broker id, expected {core.node_id}, but received {name}")


def check_broker_configs(core: "ControllerCore", name: str, changed: Iterable[str], configs: Mapping[str, str]) -> None:
    """Names that may change while a broker runs, in the layer that they are meant for, with values that go together."""
    release = core.release.name
    shown = core.release.behaviour.names
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
    if name == CLUSTER_DEFAULT and own:
        raise InvalidRequest(
            f"Cannot update these configs at default cluster level, broker id must be specified: {shown(own)}"
        )
    try:
        _check_layers(core, name, configs)
    except ConfigError as error:
        raise InvalidRequest(str(error)) from None


def _check_layers(core: "ControllerCore", name: str, configs: Mapping[str, str]) -> None:
    if name == CLUSTER_DEFAULT:
        layers = core.configs.layers_with(configs, core.configs.of(BROKER, str(core.node_id)))
    else:
        layers = core.configs.layers_with(core.configs.of(BROKER, CLUSTER_DEFAULT), configs)
    protections.check(layers.config)
    before = core.configs.layers.config
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


def _check_group(core: "ControllerCore", configs: Mapping[str, str]) -> None:
    rows = group.TABLE.at("4.3")
    unknown = next((name for name in configs if name not in rows), None)
    if unknown is not None:
        raise InvalidConfig(f"Unknown group config name: {unknown}")
    limits = core.configs.layers.config
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
