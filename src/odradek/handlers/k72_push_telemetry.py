"""PushTelemetry, version 0: a client's metrics (KIP-714). Nobody has asked for any: they are checked and dropped.

Who may: everybody. Errors: INVALID_REQUEST without a client instance id; UNKNOWN_SUBSCRIPTION_ID; TELEMETRY_TOO_LARGE
above telemetry.max.bytes; UNSUPPORTED_COMPRESSION_TYPE.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.handlers.telemetry import NONE, ZSTD, bytes_max, subscription_id
from odradek.protocol import errors
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k72_push_telemetry import PushTelemetryRequest, PushTelemetryResponse


@serves(PushTelemetryRequest, versions="0")
def push_telemetry(call: BrokerCall, request: PushTelemetryRequest) -> PushTelemetryResponse:
    if request.client_instance_id == ZERO_UUID:
        raise errors.InvalidRequest("A client that pushes metrics has a client instance id.")
    if request.subscription_id != subscription_id(request.client_instance_id):
        raise errors.UnknownSubscriptionId()
    if not NONE <= request.compression_type <= ZSTD:
        raise errors.UnsupportedCompressionType()
    if len(request.metrics) > bytes_max(call):
        raise errors.TelemetryTooLarge()
    return PushTelemetryResponse()
