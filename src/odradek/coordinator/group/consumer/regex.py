"""Subscriptions by regular expression: when the topics that an expression matches are looked up.

The first expression of a group is looked up at once, again when topics have come or gone, but at most every
`REFRESH_MS_MIN`, and in any case after the refresh interval.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer import records, target
from odradek.coordinator.group.consumer.group import ConsumerGroup, ConsumerPlan
from odradek.coordinator.group.consumer.groups import REGEX, ConsumerGroups
from odradek.coordinator.group.consumer.resolution import Resolution
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.replicated.log_record import Versioned

REFRESH_MS_MIN = 10_000


def refresh(groups: ConsumerGroups, group: ConsumerGroup, now: Now, may_describe: Callable[[str], bool]) -> None:
    """Begins a look-up if one is due and none is on its way. `group` is how it will be after the event."""
    expressions = group.regexes_in_use()
    if not expressions or group.group_id in groups.resolutions:
        return
    if expressions <= set(group.regexes) and not _is_due(groups, group.group_id, now):
        return
    groups.resolutions[group.group_id] = Resolution(
        expressions, groups.topics.names(), groups.topics.version, may_describe
    )
    groups.shard.deadlines.set((REGEX, group.group_id, ""), now.mono_ms)


def _is_due(groups: ConsumerGroups, group_id: str, now: Now) -> bool:
    last = groups.resolved.get(group_id)
    if last is None:
        return True  # the coordinator has been loaded since
    version, at_ms = last
    age_ms = now.mono_ms - at_ms
    if version != groups.topics.version:
        return age_ms >= REFRESH_MS_MIN
    return age_ms >= groups.config.regex_refresh_interval_ms


def step(groups: ConsumerGroups, group_id: str, now: Now) -> Decided[None]:
    """A slice of a look-up; the last one writes what was found."""
    resolution = groups.resolutions.get(group_id)
    group = groups.groups.get(group_id)
    if resolution is None or group is None:
        groups.resolutions.pop(group_id, None)
        return Decided()
    if not resolution.step():
        groups.shard.deadlines.set((REGEX, group_id, ""), now.mono_ms + 1)
        return Decided()
    del groups.resolutions[group_id]
    groups.resolved[group_id] = (resolution.version, now.mono_ms)
    return Decided(_found(groups, group, resolution, now))


def _found(groups: ConsumerGroups, group: ConsumerGroup, resolution: Resolution, now: Now) -> "list[Versioned]":
    """The topics of each expression where they are others than before; then there is something new to assign."""
    plan = ConsumerPlan(group)
    before = {expression: resolved.topics for expression, resolved in group.regexes.items()}
    in_use = group.regexes_in_use()
    has_changed = False
    for expression, topics in resolution.found.items():
        if expression not in in_use:
            continue
        if expression not in before or before[expression] != topics:
            plan.write(records.regex(group.group_id, expression, topics, groups.topics.offset, now.wall_ms))
            has_changed = has_changed or before.get(expression, frozenset()) != topics
    if has_changed:
        target.bump_epoch(groups, plan)
    return plan.records


def drop_unused(plan: ConsumerPlan, expression: str) -> None:
    """An expression that no member subscribes with any more need not be kept."""
    group = plan.group
    if expression in group.regexes and expression not in group.regexes_in_use():
        plan.write(records.no_regex(group.group_id, expression))
