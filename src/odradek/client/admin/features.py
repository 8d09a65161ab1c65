"""Features of the cluster: which levels its nodes know, which one it is at, and how that is changed."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.channel.core import ANY_BROKER, THE_CONTROLLER, ByVersion, broker
from odradek.channel.network_client import SOFTWARE_NAME
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.results import Results
from odradek.client.admin.routing import CONTROLLER_PASSING
from odradek.protocol.errors import KafkaError, raise_for
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.k57_update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from odradek.protocol.vocabulary import UpgradeType
from odradek.version import VERSION

_UPGRADE_TYPES_FROM = 1  # the version of UpdateFeatures


class VersionRange(NamedTuple):
    low: int
    high: int


class FeatureMetadata(NamedTuple):
    """`finalized` is what the cluster is at, as of `finalized_epoch`; `supported` what the asked node knows."""

    finalized: Mapping[str, VersionRange]
    finalized_epoch: int | None
    supported: Mapping[str, VersionRange]


class FeatureUpdate(NamedTuple):
    """The level that a feature shall have, 0 to have it no more. A lower one than now takes a type that says so."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


async def describe_api_versions(
    asker: Asker, *, node_id: int | None = None, timeout: float | None = None
) -> dict[int, VersionRange]:
    """Which requests a node takes, by the numbers of their APIs, this one or any."""

    async def attempt(timeout_ms: int) -> dict[int, VersionRange]:
        response = await _asked(asker, node_id, timeout_ms)
        return {each.api_key: VersionRange(each.min_version, each.max_version) for each in response.api_keys}

    return await asker.one(attempt, timeout=timeout)


async def describe_features(
    asker: Asker, *, node_id: int | None = None, timeout: float | None = None
) -> FeatureMetadata:
    """As a node knows them, this one or any."""

    async def attempt(timeout_ms: int) -> FeatureMetadata:
        return _described(await _asked(asker, node_id, timeout_ms))

    return await asker.one(attempt, timeout=timeout)


async def _asked(asker: Asker, node_id: int | None, timeout_ms: int) -> ApiVersionsResponse:
    where = ANY_BROKER if node_id is None else broker(node_id)
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=VERSION)
    response = await asker.send(where, request, ApiVersionsResponse, timeout_ms)
    raise_for(response.error_code)
    return response


async def update_features(
    asker: Asker,
    updates: Mapping[str, FeatureUpdate],
    *,
    validate_only: bool = False,
    timeout: float | None = None,
) -> Results[str, None]:
    """All of them or none, with newer brokers: then all have the error of the first that could not be done."""

    async def attempt(names: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        def request(version: int) -> UpdateFeaturesRequest:
            keys = [_key(version, name, updates[name]) for name in names]
            return UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=keys, validate_only=validate_only)

        asked = ByVersion(UpdateFeaturesRequest.api_key, request)
        response = await asker.send(THE_CONTROLLER, asked, UpdateFeaturesResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        told = {each.feature: outcome(each.error_code, each.error_message, None) for each in response.results}
        return dict.fromkeys(names) | told

    return await asker.each(updates, attempt, timeout=timeout, passing=CONTROLLER_PASSING)


def _described(response: ApiVersionsResponse) -> FeatureMetadata:
    epoch = response.finalized_features_epoch
    return FeatureMetadata(
        {
            each.name: VersionRange(each.min_version_level, each.max_version_level)
            for each in response.finalized_features
        },
        None if epoch < 0 else epoch,
        {each.name: VersionRange(each.min_version, each.max_version) for each in response.supported_features},
    )


def _key(version: int, name: str, update: FeatureUpdate) -> FeatureUpdateKey:
    level, upgrade_type = update
    if version >= _UPGRADE_TYPES_FROM:
        return FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
    is_downgrade = upgrade_type != UpgradeType.UPGRADE
    return FeatureUpdateKey(feature=name, max_version_level=level, allow_downgrade=is_downgrade)
