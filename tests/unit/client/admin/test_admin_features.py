"""Features: their levels, and changes of them."""

import pytest
from admin_kit import kinds, until

from odradek import errors
from odradek.client.admin.features import FeatureUpdate, VersionRange
from odradek.protocol.vocabulary import UpgradeType

NODE = 1
STREAMS = "streams.version"


def test_the_levels_of_the_cluster_and_of_the_node(admin):
    found = admin.describe_features()
    assert found.finalized["metadata.version"] == VersionRange(30, 30)
    assert found.supported["transaction.version"] == VersionRange(0, 2)
    assert found.finalized_epoch > 0
    assert admin.describe_features(node_id=NODE).supported == found.supported


def test_a_node_that_is_not_there(admin):
    with pytest.raises(errors.RequestTimedOut, match="node 99 is not known"):
        admin.describe_features(node_id=99, timeout=1)


def test_a_level_goes_down_and_up(admin):
    lower, higher = FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE), FeatureUpdate(1)
    assert admin.update_features({STREAMS: lower})[STREAMS] is None
    until(lambda: STREAMS not in admin.describe_features().finalized)
    assert admin.update_features({STREAMS: higher})[STREAMS] is None
    until(lambda: admin.describe_features().finalized.get(STREAMS) == VersionRange(1, 1))


def test_what_is_only_validated_does_not_change(admin):
    lower = FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)
    assert admin.update_features({"group.version": lower}, validate_only=True)["group.version"] is None
    assert admin.describe_features().finalized["group.version"] == VersionRange(1, 1)


def test_all_have_the_error_of_the_first(admin):
    updated = admin.update_features({"no.such.feature": FeatureUpdate(1), "group.version": FeatureUpdate(1)})
    assert kinds(updated) == dict.fromkeys(["no.such.feature", "group.version"], errors.InvalidUpdateVersion)
    assert "no.such.feature" in updated.errors["group.version"].message


def test_a_lower_level_takes_a_type_that_says_so(admin):
    updated = admin.update_features({"group.version": FeatureUpdate(0)})
    assert kinds(updated) == {"group.version": errors.InvalidUpdateVersion}
