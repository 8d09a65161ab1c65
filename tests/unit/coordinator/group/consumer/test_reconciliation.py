"""The table of `reconciliation.py`, row by row."""

import pytest

from odradek.coordinator.group.consumer.member import (
    STABLE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    ConsumerMember,
)
from odradek.coordinator.group.consumer.reconciliation import reconcile

T = b"T"
NAMES = {STABLE: "STABLE", UNREVOKED_PARTITIONS: "UNREVOKED", UNRELEASED_PARTITIONS: "UNRELEASED"}


def parts(*numbers):
    return {T: frozenset(numbers)} if numbers else {}


def since(epoch, *numbers):
    return {T: dict.fromkeys(numbers, epoch)} if numbers else {}


def told(member):
    assigned = sorted(member.assigned.get(T, ()))
    pending = sorted(member.pending_revocation.get(T, ()))
    return f"{NAMES[member.state]} @{member.epoch} {assigned} gives back {pending}"


@pytest.mark.parametrize(
    ("state", "assigned", "pending", "target", "owned", "taken", "expected"),
    [
        # state, assigned, pending, target at epoch 3, what it says it owns, what others have, after
        (STABLE, (0, 1), (), (0, 1), None, (), "STABLE @3 [0, 1] gives back []"),
        (STABLE, (0, 1), (), (0,), None, (), "UNREVOKED @2 [0] gives back [1]"),
        (STABLE, (0, 1), (), (0,), (0, 1), (), "UNREVOKED @2 [0] gives back [1]"),
        (STABLE, (0, 1), (), (0,), (0,), (), "STABLE @3 [0] gives back []"),
        (STABLE, (0,), (), (0, 1), None, (), "STABLE @3 [0, 1] gives back []"),
        (STABLE, (0,), (), (0, 1, 2), None, (2,), "UNRELEASED @3 [0, 1] gives back []"),
        (STABLE, (0,), (), (1,), (0,), (), "UNREVOKED @2 [] gives back [0]"),
        (UNREVOKED_PARTITIONS, (0,), (1,), (0,), None, (), "UNREVOKED @2 [0] gives back [1]"),
        (UNREVOKED_PARTITIONS, (0,), (1,), (0,), (0, 1), (), "UNREVOKED @2 [0] gives back [1]"),
        (UNREVOKED_PARTITIONS, (0,), (1,), (0,), (0,), (), "STABLE @3 [0] gives back []"),
        (UNREVOKED_PARTITIONS, (0,), (1,), (0, 2), (0,), (2,), "UNRELEASED @3 [0] gives back []"),
        (UNREVOKED_PARTITIONS, (0, 2), (1,), (0,), (0, 1, 2), (), "UNREVOKED @2 [0] gives back [1, 2]"),
        (UNREVOKED_PARTITIONS, (0, 2), (1,), (0,), (0, 2), (), "UNREVOKED @2 [0] gives back [2]"),
        (UNREVOKED_PARTITIONS, (0,), (1,), (0, 1), (0,), (), "STABLE @3 [0, 1] gives back []"),
        (UNRELEASED_PARTITIONS, (0,), (), (0, 1), None, (1,), "UNRELEASED @3 [0] gives back []"),
        (UNRELEASED_PARTITIONS, (0,), (), (0, 1), None, (), "STABLE @3 [0, 1] gives back []"),
        (UNRELEASED_PARTITIONS, (0,), (), (), None, (), "UNREVOKED @2 [] gives back [0]"),
    ],
)
def test_a_row(state, assigned, pending, target, owned, taken, expected):
    member = ConsumerMember("m", 2, 1, state, assigned=since(2, *assigned), pending_revocation=since(2, *pending))
    owned = None if owned is None else parts(*owned)
    after = reconcile(member, 3, parts(*target), owned, lambda topic_id, partition: partition not in taken)
    assert told(after) == expected


def test_a_member_that_is_there_is_not_touched():
    member = ConsumerMember("m", 3, 2, assigned=since(2, 0, 1))
    assert reconcile(member, 3, parts(0, 1), None, lambda *_: True) is member


def test_partitions_keep_the_epoch_in_which_they_were_assigned():
    member = ConsumerMember("m", 2, 1, assigned=since(2, 0))
    after = reconcile(member, 3, parts(0, 1), None, lambda *_: True)
    assert after.assigned == {T: {0: 2, 1: 3}}
    assert after.previous_epoch == 2
