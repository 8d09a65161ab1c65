"""ListConfigResources, API key 74: names of the resources that have configs, for admins.

Until 4.0 it was called ListClientMetricsResources (KIP-1000).

Versions 0-1, flexible. Not in Kafka 3.3; 3.9 has 0, 4.3 0-1.

     1  types of resources to list, none for all; response: type of each, before only client metrics (KIP-1142)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int8, int16, int32, string


class ListConfigResourcesRequest(Request, key=74, versions="0-1", flexible="0+"):
    resource_types = array(int8(), "1+")


class ConfigResource(Struct):
    resource_name = string()
    resource_type = int8("1+", default=16, ignorable=True)


class ListConfigResourcesResponse(Response, key=74, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    config_resources = array(ConfigResource)
