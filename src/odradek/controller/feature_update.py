"""UpdateFeatures: several levels in one step, all of them or none.

A 3.3 answers for each feature by itself; a 4.3 gives the first refusal as the error of the whole request.
"""

from typing import TYPE_CHECKING

from odradek.controller.features import SAFE_DOWNGRADE, UPGRADE
from odradek.controller.state import ControllerState
from odradek.protocol.errors import NONE, KafkaError
from odradek.protocol.messages.k57_update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from odradek.replicated.decision import Decision, answer

if TYPE_CHECKING:
    from odradek.protocol.declare import Message

FeaturesDecision = Decision[UpdateFeaturesResponse]


def update(
    state: ControllerState, request: UpdateFeaturesRequest, version: int, kraft_version: int
) -> FeaturesDecision:
    records: list[Message] = []
    outcomes: dict[str, KafkaError | None] = {}
    for wanted in request.feature_updates:
        upgrade_type = wanted.upgrade_type
        if version == 0:
            upgrade_type = SAFE_DOWNGRADE if wanted.allow_downgrade else UPGRADE
        try:
            record = state.features.updated(wanted.feature, wanted.max_version_level, upgrade_type, kraft_version)
        except KafkaError as error:
            outcomes[wanted.feature] = error
        else:
            outcomes[wanted.feature] = None
            if record is not None:
                records.append(record)
    return _decide(state, request, records, outcomes)


def _decide(
    state: ControllerState,
    request: UpdateFeaturesRequest,
    records: "list[Message]",
    outcomes: dict[str, KafkaError | None],
) -> FeaturesDecision:
    failed = next((error for error in outcomes.values() if error is not None), None)
    is_together = state.release.behaviour.updates_features_together
    if failed is not None and is_together:
        why = f"The update failed for all features since the following feature had an error: {failed.message}"
        return answer(UpdateFeaturesResponse(error_code=failed.code, error_message=why))
    if failed is not None or request.validate_only:
        records = []
    top_message = None if is_together else ""
    results = [_result(state, feature, error) for feature, error in outcomes.items()]
    response = UpdateFeaturesResponse(error_code=NONE, error_message=top_message, results=results)
    return Decision(state.versioned(records), response)


def _result(state: ControllerState, feature: str, error: KafkaError | None) -> UpdatableFeatureResult:
    if error is not None:
        return UpdatableFeatureResult(feature=feature, error_code=error.code, error_message=error.message)
    told = "NONE" if state.release.behaviour.updates_features_together else None
    return UpdatableFeatureResult(feature=feature, error_message=told)
