"""GetTelemetrySubscriptions, version 0: which metrics a client shall push (KIP-714). None are wanted.

ApiVersions tells of it only if somebody receives the metrics; a client that asks all the same is answered.

Who may: everybody. Errors: none.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.handlers.telemetry import ACCEPTED_COMPRESSION_TYPES, PUSH_INTERVAL_MS, bytes_max, subscription_id
from odradek.protocol.declare import Uuid
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)


@serves(GetTelemetrySubscriptionsRequest, versions="0")
def get_telemetry_subscriptions(
    call: BrokerCall, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    instance_id = request.client_instance_id
    if instance_id == ZERO_UUID:
        instance_id = Uuid(call.services.rng.stream("telemetry").bytes(16))
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=subscription_id(instance_id),
        accepted_compression_types=list(ACCEPTED_COMPRESSION_TYPES),
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=bytes_max(call),
        delta_temporality=True,
    )
