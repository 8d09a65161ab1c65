"""What the groups with epochs have in common."""

import pytest

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.share.group import ShareGroup
from odradek.coordinator.group.streams.group import StreamsGroup

KINDS = pytest.mark.parametrize("kind", [ConsumerGroup, ShareGroup, StreamsGroup])


def test_a_target_is_fresh_for_an_interval_and_a_clock_that_was_set_back_does_not_make_it_fresh():
    group = ConsumerGroup("g")
    group.target_ms = 10_000
    told = [group.has_fresh_target(1000, now_ms) for now_ms in (10_000, 10_999, 11_000, 9999, 0)]
    assert told == [True, True, False, False, False]
    assert not group.has_fresh_target(0, 10_000), "without an interval nobody waits"


@KINDS
def test_a_copy_is_a_group_of_its_own(kind):
    group = kind("g")
    group.epoch, group.target_epoch, group.target_ms, group.metadata_hash = 7, 6, 5, 4
    copy = group.copy()
    assert type(copy) is kind
    assert [getattr(copy, name) for name in ("group_id", "epoch", "target_epoch", "target_ms", "metadata_hash")] == [
        "g",
        7,
        6,
        5,
        4,
    ]
    copy.target["m"] = {}
    copy.epoch = 8
    assert (group.epoch, group.target) == (7, {})


@KINDS
def test_a_target_is_never_ahead_of_its_group_and_only_for_members(kind):
    group = kind("g")
    group.validate()
    group.target_epoch = group.epoch + 1
    with pytest.raises(BrokenRuleError, match="the target is of epoch 2"):
        group.validate_epochs()
    group.target_epoch = group.epoch
    group.target["m"] = {}
    with pytest.raises(BrokenRuleError, match="m is in the target and no member"):
        group.validate_epochs()
