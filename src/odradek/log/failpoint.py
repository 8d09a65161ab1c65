"""Named places between two steps that are not atomic, where a simulation can crash the broker or fail a call.

Nothing happens there in production: a failpoint costs a call and a look at an empty dict. An append of a leader
comes too often for the call: it looks at `ARMED` itself.
`NAMES` is what the tests enumerate, and what they may arm, so that the list stays complete.
"""

from collections.abc import Callable

NAMES = frozenset(
    {
        "log.append.before_write",
        "log.append.after_write",
        "log.append.after_state",
        "log.roll.before_snapshot",
        "log.roll.after_snapshot",
        "log.roll.after_seal",
        "log.roll.after_create",
        "log.index.before_write",
        "log.flush.before_fsync",
        "log.flush.after_log",
        "log.flush.after_indexes",
        "log.flush.after_epochs",
        "log.flush.after_dir",
        "log.truncate.before_cut",
        "log.truncate.after_segments",
        "log.truncate.after_cut",
        "log.truncate.after_indexes",
        "log.truncate.after_snapshots",
        "log.truncate_fully.after_delete",
        "log.retention.before_rename",
        "log.retention.after_rename",
        "log.retention.before_unlink",
        "log.retention.after_unlink",
        "log.close.before_snapshot",
        "log.close.after_snapshot",
        "log.close.after_fsync",
        "log.snapshot.before_write",
        "log.snapshot.after_write",
        "log.replace.after_old",
        "log.replace.after_new",
        "log.load.after_deleted",
        "log.load.after_cleaned",
        "log.load.after_old_segments",
        "log.load.after_swap",
        "log.recover.before_truncate",
        "log.recover.after_truncate",
        "log.recover.after_indexes",
        "log.recover.after_segment",
        "log.recover.before_drop",
    }
)

Hook = Callable[[str], None]

ARMED: dict[str, Hook] = {}


def failpoint(name: str) -> None:
    if ARMED:
        hook = ARMED.get(name)
        if hook is not None:
            hook(name)
