"""ListConfigResources, versions 0-1: the names under which configs can be described.

     0  client metrics subscriptions only; it was called ListClientMetricsResources
     1  any kinds, or without a list all of them

Topics and brokers are listed whether or not anything was set for them; groups and subscriptions only if.

Who may: DESCRIBE_CONFIGS on the cluster. Errors: UNSUPPORTED_VERSION for an unknown kind.
"""

from collections.abc import Iterable

from odradek.handlers.call import BrokerCall
from odradek.handlers.config_resources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, is_known
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.metadata.image import MetadataImage
from odradek.protocol import errors
from odradek.protocol.messages.k74_list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from odradek.security.acl import DESCRIBE_CONFIGS

_ALL = (GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC)


@serves(ListConfigResourcesRequest, versions="0-1", allow=on_cluster(DESCRIBE_CONFIGS))
def list_config_resources(call: BrokerCall, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    wanted = [CLIENT_METRICS] if call.version == 0 else request.resource_types or _ALL
    if not all(is_known(call.services.release, kind) for kind in wanted):
        raise errors.UnsupportedVersion("A resource type is unknown.")
    image = call.services.metadata.image
    resources = [
        ConfigResource(resource_name=name, resource_type=kind)
        for kind in _ALL
        if kind in wanted
        for name in _names(image, kind)
    ]
    return ListConfigResourcesResponse(config_resources=resources)


def _names(image: MetadataImage, kind: int) -> Iterable[str]:
    if kind == TOPIC:
        return image.topics.by_name
    if kind in (BROKER, BROKER_LOGGER):
        return [str(broker.id) for broker in image.cluster.brokers.values() if not broker.fenced]
    return [name for resource_type, name in image.configs.by_resource if resource_type == kind]
