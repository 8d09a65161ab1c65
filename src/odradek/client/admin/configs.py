"""The configs of topics, brokers, loggers, groups and metrics subscriptions: described, changed, listed."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.channel.core import ANY_BROKER, Destination, broker
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.results import Results
from odradek.client.admin.topics import config_text
from odradek.config import vocabulary
from odradek.config.vocabulary import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, SOURCES, TOPIC
from odradek.protocol.errors import KafkaError, raise_for
from odradek.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.k74_list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

SET, DELETE, APPEND, SUBTRACT = range(4)  # what is done to one config

_WHERE = {TOPIC: "topic", BROKER: "broker", BROKER_LOGGER: "logger", CLIENT_METRICS: "metrics", GROUP: "group"}


class ConfigResource(NamedTuple):
    """What has the configs: use `ConfigResource.topic("orders")` and the like. A broker's name is its number, and
    nothing for the configs of all brokers.
    """

    kind: int
    name: str

    @classmethod
    def topic(cls, name: str) -> "ConfigResource":
        return cls(TOPIC, name)

    @classmethod
    def broker(cls, node_id: int | None = None) -> "ConfigResource":
        return cls(BROKER, "" if node_id is None else str(node_id))

    @classmethod
    def broker_logger(cls, node_id: int) -> "ConfigResource":
        return cls(BROKER_LOGGER, str(node_id))

    @classmethod
    def group(cls, name: str) -> "ConfigResource":
        return cls(GROUP, name)

    @classmethod
    def client_metrics(cls, name: str) -> "ConfigResource":
        return cls(CLIENT_METRICS, name)

    def __str__(self) -> str:
        return f"{_WHERE.get(self.kind, self.kind)} {self.name}".strip()


class ConfigSynonym(NamedTuple):
    name: str
    value: str | None
    source: str


class ConfigEntry(NamedTuple):
    """`value` is None for a secret. `source` is Kafka's word for where the value comes from; `synonyms` are all that
    could have given one, in the order in which they count.
    """

    name: str
    value: str | None
    source: str
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source == vocabulary.DEFAULT_CONFIG.name


class ConfigChange(NamedTuple):
    """`operation`: `SET`, `DELETE` (back to the default), `APPEND` or `SUBTRACT` for lists."""

    name: str
    value: object = None
    operation: int = SET


async def describe_configs(
    asker: Asker,
    resources: Iterable[ConfigResource],
    *,
    names: Iterable[str] | None = None,
    synonyms: bool = False,
    documentation: bool = False,
    timeout: float | None = None,
) -> Results[ConfigResource, dict[str, ConfigEntry]]:
    """By name, all of each resource or those `names`."""
    keys = None if names is None else list(names)

    async def ask(
        where: Destination, some: list[ConfigResource], timeout_ms: int
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
        wanted = [
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for kind, name in some
        ]
        request = DescribeConfigsRequest(
            resources=wanted, include_synonyms=synonyms, include_documentation=documentation
        )
        response = await asker.send(where, request, DescribeConfigsResponse, timeout_ms)
        return {
            ConfigResource(found.resource_type, found.resource_name): outcome(
                found.error_code, found.error_message, _entries(found)
            )
            for found in response.results
        }

    async def attempt(
        some: list[ConfigResource], timeout_ms: int
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
        places = {each: _place(each) for each in some}
        return await asker.spread(places, lambda where, few: ask(where, few, timeout_ms))

    return await asker.each(resources, attempt, timeout=timeout)


async def incremental_alter_configs(
    asker: Asker,
    changes: Mapping[ConfigResource, Iterable[ConfigChange]],
    *,
    validate_only: bool = False,
    timeout: float | None = None,
) -> Results[ConfigResource, None]:
    """All changes of a resource or none of them."""
    wanted = {resource: list(each) for resource, each in changes.items()}

    async def ask(
        where: Destination, some: list[ConfigResource], timeout_ms: int
    ) -> dict[ConfigResource, KafkaError | None]:
        altered = [
            AlterConfigsResource(resource_type=each.kind, resource_name=each.name, configs=_alterable(wanted[each]))
            for each in some
        ]
        request = IncrementalAlterConfigsRequest(resources=altered, validate_only=validate_only)
        response = await asker.send(where, request, IncrementalAlterConfigsResponse, timeout_ms)
        return {
            ConfigResource(done.resource_type, done.resource_name): outcome(done.error_code, done.error_message, None)
            for done in response.responses
        }

    async def attempt(some: list[ConfigResource], timeout_ms: int) -> dict[ConfigResource, KafkaError | None]:
        places = {each: _place(each) for each in some}
        return await asker.spread(places, lambda where, few: ask(where, few, timeout_ms))

    return await asker.each(wanted, attempt, timeout=timeout)


async def list_config_resources(
    asker: Asker, kinds: Iterable[int] = (), *, timeout: float | None = None
) -> list[ConfigResource]:
    """Whatever may have configs of its own, of all kinds if none is given."""
    request = ListConfigResourcesRequest(resource_types=list(kinds))

    async def attempt(timeout_ms: int) -> list[ConfigResource]:
        response = await asker.send(ANY_BROKER, request, ListConfigResourcesResponse, timeout_ms)
        raise_for(response.error_code)
        return [ConfigResource(each.resource_type, each.resource_name) for each in response.config_resources]

    return await asker.one(attempt, timeout=timeout)


def _place(resource: ConfigResource) -> Destination:
    """The configs of one broker are its own affair; those of others any broker knows."""
    if resource.kind in (BROKER, BROKER_LOGGER) and resource.name.isdigit():
        return broker(int(resource.name))
    return ANY_BROKER


def _alterable(changes: list[ConfigChange]) -> list[AlterableConfig]:
    return [
        AlterableConfig(name=name, value=config_text(value), config_operation=operation)
        for name, value, operation in changes
    ]


def _entries(found: DescribeConfigsResult) -> dict[str, ConfigEntry]:
    return {config.name: _entry(config) for config in found.configs}


def _entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    synonyms = tuple(ConfigSynonym(each.name, each.value, _source(each.source)) for each in config.synonyms)
    source = _source(config.config_source)
    return ConfigEntry(
        config.name, config.value, source, config.read_only, config.is_sensitive, synonyms, config.documentation
    )


def _source(code: int) -> str:
    return SOURCES[code].name if code in SOURCES else "UNKNOWN"
