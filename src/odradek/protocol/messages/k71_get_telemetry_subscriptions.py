"""GetTelemetrySubscriptions, API key 71: a client asks which metrics the cluster wants from it (KIP-714).

Any broker answers. A zero client instance id asks for a new one.

Version 0, flexible. Not in Kafka 3.3; 3.9 and 4.3 have 0.
"""

from odradek.protocol.declare import Request, Response, array, boolean, int8, int16, int32, string, uuid


class GetTelemetrySubscriptionsRequest(Request, key=71, versions="0", flexible="0+"):
    client_instance_id = uuid()


class GetTelemetrySubscriptionsResponse(Response, key=71, versions="0", flexible="0+"):
    throttle_time_ms           = int32()
    error_code                 = int16()
    client_instance_id         = uuid()
    subscription_id            = int32()
    accepted_compression_types = array(int8())
    push_interval_ms           = int32()
    telemetry_max_bytes        = int32()
    delta_temporality          = boolean()
    requested_metrics          = array(string())
