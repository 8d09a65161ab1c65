"""ApiVersions, API key 18: the APIs and versions that a server speaks, and its features.

The first request on a connection; it may come before authentication. The response always has header version 0, since
the two do not know each other yet. A version that the server lacks is answered UNSUPPORTED_VERSION in a body of
version 0 that names only this API; the client then tries again.

Versions 0-4, flexible from 3. Kafka 3.3 has 0-3, 3.9 and 4.3 0-4.
On broker and controller listeners.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  flexible; name and version of the client (KIP-511); supported and finalized features as tags (KIP-584);
        the tag zk_migration_ready came under the same number after 3.3 (KIP-866)
     4  same fields; supported features whose lowest level is 0 are no longer left out
"""

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
