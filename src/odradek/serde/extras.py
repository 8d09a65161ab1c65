"""Libraries that only some programs need."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def library(name: str, extra: str) -> "ModuleType":
    """The module; ImportError with one line that names the extra."""
    try:
        return import_module(name)
    except ImportError as error:
        message = (
            f"{name} cannot be imported ({error}); it comes with the extra {extra}: pip install 'odradek[{extra}]'"
        )
        raise ImportError(message) from None
