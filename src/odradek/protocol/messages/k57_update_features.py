"""UpdateFeatures, API key 57: an admin raises or lowers finalized feature levels (KIP-584).

The controller decides.

Versions 0-2, flexible. Kafka 3.3 and 3.9 have 0-1, 4.3 0-2.
On broker and controller listeners; a broker forwards it to the controller.

     1  request: upgrade type in the place of allow_downgrade, validate_only (KIP-778)
     2  response: one error for all of the request, no results per feature
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    nullable_string,
    string,
)


class FeatureUpdateKey(Struct):
    feature           = string()
    max_version_level = int16()
    allow_downgrade   = boolean("0")
    upgrade_type      = int8("1+", default=1)


class UpdateFeaturesRequest(Request, key=57, versions="0-2", flexible="0+"):
    timeout_ms      = int32(default=60000)
    feature_updates = array(FeatureUpdateKey)
    validate_only   = boolean("1+")


class UpdatableFeatureResult(Struct):
    feature       = string()
    error_code    = int16()
    error_message = nullable_string(default="")


class UpdateFeaturesResponse(Response, key=57, versions="0-2", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
    results          = array(UpdatableFeatureResult, "0-1", ignorable=True)
