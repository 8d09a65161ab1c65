"""DescribeConfigs, versions 0-4: the configs of topics, brokers, broker loggers, client metrics and groups.

     1  where a value comes from, in the place of is_default; synonyms, if asked for (KIP-226)
     2  same fields; a throttled answer is sent at once
     3  the type, and if asked for the documentation (KIP-569)
     4  same fields in the flexible encoding

A broker answers for itself and for what is set for all brokers. A secret has no value, a name that no table knows
might be one.

Who may: DESCRIBE_CONFIGS on the topic or group, for the rest on the cluster.
Errors, per resource: UNKNOWN_TOPIC_OR_PARTITION; INVALID_TOPIC_EXCEPTION; INVALID_REQUEST for another broker's id, one
that is no number, an empty name, or a type that the release does not know.
"""

from collections.abc import Mapping

from odradek.config.sources import Described
from odradek.config.vocabulary import DYNAMIC_BROKER_LOGGER_CONFIG
from odradek.controller.topic_names import check_name
from odradek.handlers import described_configs
from odradek.handlers.call import AnyCall
from odradek.handlers.config_resources import BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, is_known
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from odradek.reactor.slices import Slices
from odradek.security import acl


def refuse_describe_configs(
    request: DescribeConfigsRequest, error: errors.KafkaError, version: int
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_refused(resource, error) for resource in request.resources])


@serves(DescribeConfigsRequest, versions="0-4", on="both", refuse=refuse_describe_configs)
async def describe_configs(call: AnyCall, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    slices = Slices(call.services.loop)
    asked = _Asked(call, request)
    results, denied = [], []
    for resource in request.resources:
        refusal = _denial(call, resource)
        if refusal is None:
            results.append(_described(asked, resource))
        else:
            denied.append(_refused(resource, refusal))
        if slices.is_over:
            await slices.pause()
    return DescribeConfigsResponse(results=results + denied)


class _Asked:
    """One request. Topics without configs of their own all have the same ones, which are described once."""

    __slots__ = ("call", "image", "layers", "request", "topics")

    def __init__(self, call: AnyCall, request: DescribeConfigsRequest) -> None:
        self.call = call
        self.request = request
        self.image = call.services.metadata.image
        self.layers = call.services.configs.current
        self.topics: dict[tuple[tuple[str, str], ...], list[DescribeConfigsResourceResult]] = {}

    def topic(self, overrides: Mapping[str, str]) -> list[DescribeConfigsResourceResult]:
        key = tuple(sorted(overrides.items()))
        found = self.topics.get(key)
        if found is None:
            described = described_configs.of_topic(self.layers, overrides)
            found = self.topics[key] = [_result(self.request, config) for config in described]
        return found


def _denial(call: AnyCall, resource: DescribeConfigsResource) -> errors.KafkaError | None:
    kind, name = acl.CLUSTER, acl.CLUSTER_NAME
    if resource.resource_type == TOPIC:
        kind, name = acl.TOPIC, resource.resource_name
    elif resource.resource_type == GROUP:
        kind, name = acl.GROUP, resource.resource_name
    return None if call.authorize(acl.DESCRIBE_CONFIGS, kind, name) else acl.REFUSALS[kind]()


def _described(asked: _Asked, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    try:
        configs = _configs(asked, resource)
    except errors.KafkaError as error:
        return _refused(resource, error)
    wanted = resource.configuration_keys
    if wanted:
        configs = [config for config in configs if config.name in wanted]
    return DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, configs=configs
    )


def _refused(resource: DescribeConfigsResource, error: errors.KafkaError) -> DescribeConfigsResult:
    is_plain = isinstance(error, errors.UnknownTopicOrPartition)  # Kafka has no words for it here
    return DescribeConfigsResult(
        error_code=error.code,
        error_message="" if is_plain else error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _configs(asked: _Asked, resource: DescribeConfigsResource) -> list[DescribeConfigsResourceResult]:
    kind, name = resource.resource_type, resource.resource_name
    if not is_known(asked.call.services.release, kind):
        raise errors.InvalidRequest(f"There are no configs of the resource type {kind}.")
    if kind == BROKER_LOGGER:
        return _loggers(asked.call, name)
    if kind == TOPIC:
        return _of_topic(asked, name)
    return [_result(asked.request, described) for described in _found(asked, kind, name)]


def _of_topic(asked: _Asked, name: str) -> list[DescribeConfigsResourceResult]:
    check_name(name)
    if name not in asked.image.topics.by_name:
        raise errors.UnknownTopicOrPartition()
    return asked.topic(asked.image.configs.of(TOPIC, name))


def _found(asked: _Asked, kind: int, name: str) -> list[Described]:
    overrides = asked.image.configs.of(kind, name)
    if kind == CLIENT_METRICS:
        _check_named(name, "Client metrics subscription name")
        return described_configs.of_client_metrics(asked.layers.release, overrides)
    if kind == GROUP:
        _check_named(name, "Group name")
        return described_configs.of_group(asked.layers, overrides)
    if not name:
        return described_configs.of_all_brokers(asked.layers.release, overrides)
    _check_own_id(asked.call, name, "Unexpected broker id, expected {} or empty string, but received {}")
    return described_configs.of_broker(asked.layers, overrides)


def _check_named(name: str, what: str) -> None:
    if not name:
        raise errors.InvalidRequest(f"{what} must not be empty")


def _check_own_id(call: AnyCall, name: str, mismatch: str) -> None:
    try:
        broker_id = int(name)
    except ValueError:
        raise errors.InvalidRequest(f"Broker id must be an integer, but it is: {name}") from None
    if broker_id != call.services.node_id:
        raise errors.InvalidRequest(mismatch.format(call.services.node_id, name))


def _loggers(call: AnyCall, name: str) -> list[DescribeConfigsResourceResult]:
    if not name:
        raise errors.InvalidRequest("Broker id must not be empty")
    _check_own_id(call, name, "Unexpected broker id, expected {} but received {}")
    return [
        DescribeConfigsResourceResult(name=logger, value=level, config_source=DYNAMIC_BROKER_LOGGER_CONFIG.code)
        for logger, level in call.services.log_levels.all().items()
    ]


def _result(request: DescribeConfigsRequest, described: Described) -> DescribeConfigsResourceResult:
    row = described.definition
    result = DescribeConfigsResourceResult(
        name=described.name,
        value=described.text,
        read_only=described.is_read_only,
        config_source=described.source.code,
        is_sensitive=described.is_sensitive,
        config_type=0 if row is None else row.type.code,
        documentation=row.doc if row is not None and request.include_documentation else None,
    )
    if request.include_synonyms:
        result.synonyms = [
            DescribeConfigsSynonym(name=value.name, value=value.text, source=value.source.code)
            for value in described.synonyms
        ]
    return result
