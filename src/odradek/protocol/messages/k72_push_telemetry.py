"""PushTelemetry, API key 72: a client pushes its metrics, in OTLP, to a broker (KIP-714).

Under the subscription id that GetTelemetrySubscriptions gave it.

Version 0, flexible. Not in Kafka 3.3; 3.9 and 4.3 have 0.
"""

from odradek.protocol.declare import Request, Response, boolean, bytes_, int8, int16, int32, uuid


class PushTelemetryRequest(Request, key=72, versions="0", flexible="0+"):
    client_instance_id = uuid()
    subscription_id    = int32()
    terminating        = boolean()
    compression_type   = int8()
    metrics            = bytes_()


class PushTelemetryResponse(Response, key=72, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
