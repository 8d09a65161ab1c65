"""ApiVersions, API key 18."""

from odradek.protocol.declare import Request, Response, Struct, array, boolean, int16, int32, int64, string


class ApiVersionsRequest(Request, key=18, versions="0-4", flexible="3+"):
    client_software_name    = string("3+", ignorable=True)
    client_software_version = string("3+", ignorable=True)


class ApiVersion(Struct):
    api_key     = int16()
    min_version = int16()
    max_version = int16()


class SupportedFeatureKey(Struct):
    name        = string()
    min_version = int16()
    max_version = int16()


class FinalizedFeatureKey(Struct):
    name              = string()
    max_version_level = int16()
    min_version_level = int16()


class ApiVersionsResponse(Response, key=18, versions="0-4", flexible="3+"):
    error_code               = int16()
    api_keys                 = array(ApiVersion)
    throttle_time_ms         = int32("1+", ignorable=True)
    supported_features       = array(SupportedFeatureKey, "3+", tag=0, ignorable=True)
    finalized_features_epoch = int64("3+", default=-1, tag=1, ignorable=True)
    finalized_features       = array(FinalizedFeatureKey, "3+", tag=2, ignorable=True)
    zk_migration_ready       = boolean("3+", tag=3, ignorable=True)
