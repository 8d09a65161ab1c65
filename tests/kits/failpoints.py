"""Failpoints of the log: a hook for one, which may raise, until all are let go."""

from odradek.log.failpoint import ARMED, NAMES


def arm(name, hook):
    assert name in NAMES, f"there is no failpoint {name}"
    ARMED[name] = hook


def disarm_all():
    ARMED.clear()
