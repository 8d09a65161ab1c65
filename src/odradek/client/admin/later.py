"""The modules with the operations of an admin client, each loaded when one of its operations is first used.

There are some sixty operations with a hundred modules below them, and most programs use three. Type checkers see the
modules themselves; at run time a name of this module stands for one, an attribute of that for an operation in it, and
`on_first_use` makes a method of that.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = [
    "acls",
    "cluster",
    "configs",
    "credentials",
    "delegation_tokens",
    "elections",
    "features",
    "groups",
    "log_dirs",
    "offsets",
    "on_first_use",
    "quorum",
    "quotas",
    "reassignments",
    "share_groups",
    "streams_groups",
    "topics",
    "transactions",
]

if TYPE_CHECKING:
    from odradek.client.admin import (
        acls,
        cluster,
        configs,
        credentials,
        delegation_tokens,
        elections,
        features,
        groups,
        log_dirs,
        offsets,
        quorum,
        quotas,
        reassignments,
        share_groups,
        streams_groups,
        topics,
        transactions,
    )
else:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _Operations(name)


Operation = TypeVar("Operation")
Method = TypeVar("Method")


class _Operations:
    """Stands for a module."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> "_Operation":
        return _Operation(self._module, name)


class _Operation:
    """Stands for a coroutine function of a module. Any: which one it is, only the names tell."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def load(self) -> Any:
        from importlib import import_module

        return getattr(import_module(f"odradek.client.admin.{self._module}"), self._name)


class _Method:
    """In the place of a method until somebody looks at it; then the method takes its place in the class.

    Any: of what type the operation and its method are, type checkers see at `on_first_use`.
    """

    def __init__(self, operation: _Operation, front: Callable[[Any], Any]) -> None:
        self._operation = operation
        self._front = front
        self._owner: type = object
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, client: object, kind: type | None = None) -> Any:
        method = self._front(self._operation.load())
        setattr(self._owner, self._name, method)
        return method.__get__(client, kind)


def on_first_use(operation: Operation, front: Callable[[Operation], Method]) -> Method:
    """The method that `front` makes of an operation, loaded and made when it is first looked at.

    Any: type checkers see an operation and a method, where at run time there is what stands for them.
    """
    standing: Any = operation
    method: Any = _Method(standing, front)
    return method  # type: ignore[no-any-return]
