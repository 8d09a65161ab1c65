"""ApiVersions, versions 0-4: what this listener serves, and the features of the cluster.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once
     3  request: name and version of the client's software (KIP-511); response: features (KIP-584)
     4  features whose lowest level is 0 are told as well

Who may: everybody, before authentication too. Errors: INVALID_REQUEST for a software name or version that is no plain
word; UNSUPPORTED_VERSION, in version 0 and with the right range, for a version that is not served (by the dispatcher).
"""

import re
from collections.abc import Mapping

from odradek.handlers import table
from odradek.handlers.call import AnyCall
from odradek.handlers.serves import serves
from odradek.handlers.services import Services
from odradek.protocol import errors, releases
from odradek.protocol.apis import API_VERSIONS
from odradek.protocol.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

SOFTWARE_CHARACTERS_MAX = 128  # that are kept of a name: a connection must not cost what its peer likes to tell

_PLAIN_WORD = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?\Z")
_KRAFT_VERSION = "kraft.version"


@serves(ApiVersionsRequest, versions="0-4", on="both")
def api_versions(call: AnyCall, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if call.version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not (_PLAIN_WORD.match(name) and _PLAIN_WORD.match(version)):
            return ApiVersionsResponse(error_code=errors.InvalidRequest.code)
        call.connection.client_software_name = name[:SOFTWARE_CHARACTERS_MAX]
        call.connection.client_software_version = version[:SOFTWARE_CHARACTERS_MAX]
    return _described(call.services, call.version)


def _described(services: Services, version: int) -> ApiVersionsResponse:
    """What a listener of this kind tells everybody who asks in this version.

    Its parts are made once per image of the metadata: every client begins with this request, and who sends nothing
    else must not get far with it.
    """
    state = (services.metadata.image, services.raft.kraft_version)
    told = services.told_versions.get(version)
    if told is None or told[0] != state:
        told = services.told_versions[version] = (state, _made(services, version))
    model = told[1]
    response = ApiVersionsResponse()
    response.api_keys = model.api_keys
    response.supported_features = model.supported_features
    response.finalized_features_epoch = model.finalized_features_epoch
    response.finalized_features = model.finalized_features
    return response


def _made(services: Services, version: int) -> ApiVersionsResponse:
    release, kind = services.release, services.kind
    told = table.advertised(release, kind, has_telemetry=False)  # nobody receives what clients would push
    response = ApiVersionsResponse()
    response.api_keys = [
        ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in told.items()
    ]
    response.supported_features = [
        SupportedFeatureKey(name=name, min_version=levels[0], max_version=levels[1])
        for name, levels in release.supported_features(version, kind).items()
    ]
    if release.tells_finalized_features(kind):
        _tell_finalized(services, response)
    return response


def _tell_finalized(services: Services, response: ApiVersionsResponse) -> None:
    """The epoch of the features is the offset of the metadata that they were read from."""
    image = services.metadata.image
    if image.offset < 0:
        return
    response.finalized_features_epoch = image.offset
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in _finalized(services, image.features.finalized).items()
        if level > 0
    ]


def _finalized(services: Services, in_image: Mapping[str, int]) -> dict[str, int]:
    """The quorum's own feature stands in its log as a control record, which the image does not see."""
    levels = {_KRAFT_VERSION: services.raft.kraft_version, **in_image}
    return dict(sorted(levels.items()))


def unsupported_version(release: releases.Release, kind: str) -> ApiVersionsResponse:
    """What a client reads in version 0 after it has asked in one that is not served: nothing but the right range."""
    low, high = release.api_versions(kind)[API_VERSIONS]
    only = ApiVersion(api_key=API_VERSIONS, min_version=low, max_version=high)
    return ApiVersionsResponse(error_code=errors.UnsupportedVersion.code, api_keys=[only])
