"""The target assignment on its way to the log."""

from collections.abc import Callable, Mapping

from odradek.coordinator.group.epochs.group import T
from odradek.coordinator.group.epochs.groups import G
from odradek.coordinator.group.plan import Plan, Record

TargetRecord = Callable[[str, str, T], Record]  # of a group's id, a member's id, what it shall have
TargetEpochRecord = Callable[[str, int, int], Record]  # of a group's id, the epoch, when it was made


def write_target(
    plan: Plan[G],
    assigned: Mapping[str, T],
    target_record: TargetRecord[T],
    epoch_record: TargetEpochRecord,
    now_ms: int,
) -> None:
    """What each member shall have, where that is new, and at last the epoch for which this is the target."""
    group = plan.group
    for member_id, has in assigned.items():
        if group.target.get(member_id) != has:
            plan.write(target_record(group.group_id, member_id, has))
    plan.write(epoch_record(group.group_id, group.epoch, now_ms))
