"""The name of what a loop has called, for whoever reads of it in a log."""

from odradek.reactor.coroutine_task import Task


def name_of(called: object) -> str:
    """`Class.method`, whether it was called itself, in a task, or by a function that was made there."""
    owner = getattr(called, "__self__", None)
    if isinstance(owner, Task):
        return owner.name
    name = getattr(called, "__qualname__", None)
    if name is None:
        name = type(called).__qualname__
    elif owner is not None and "." not in name:
        name = f"{type(owner).__qualname__}.{name}"
    return str(name).partition(".<locals>")[0]
