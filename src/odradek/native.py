"""Which executor serves: a compiled extension, or its pure-Python twin and the reason for it.

An extension is taken only if its embedded source hash equals that of the `.pyx` beside it: a stale one, left over from
an older source, would encode yesterday's protocol without a word.
"""

import os
import zlib
from importlib import import_module
from types import ModuleType

PURE_VARIABLE = "ODRADEK_PURE"

_reasons: dict[str, str] = {}


def load(name: str) -> ModuleType | None:
    """The compiled extension `name`, or None when its twin has to serve; then `why_pure` tells the reason."""
    if os.environ.get(PURE_VARIABLE, "") not in ("", "0"):
        _reasons[name] = f"{PURE_VARIABLE} is set"
        return None
    try:
        return load_compiled(name)
    except ImportError as error:
        _reasons[name] = str(error)
        return None


def load_compiled(name: str) -> ModuleType:
    """The extension whatever the environment asks for (`verify` and the tests run both executors), or ImportError."""
    try:
        module = import_module(name)
    except ImportError as error:
        raise ImportError(_build_report() or str(error)) from None
    built_from = getattr(module, "SOURCE_HASH", None)
    if built_from != _source_hash(name):
        raise ImportError(f"{name} was built from another source: install odradek again")
    return module


def why_pure() -> str | None:
    """The reason why a pure-Python twin serves, or None when everything that was loaded is compiled."""
    return next(iter(_reasons.values()), None)


def _source_hash(name: str) -> str:
    path = _beside_this_file(*name.split(".")[1:]) + ".pyx"
    try:
        with open(path, "rb") as source:
            return f"{zlib.crc32(source.read()):08x}"
    except FileNotFoundError:
        return "missing"


def _build_report() -> str | None:
    """What the build wrote down when it could not compile."""
    try:
        with open(_beside_this_file("native_build.txt"), encoding="utf-8") as report:
            text = report.read().strip()
    except FileNotFoundError:
        return None
    return None if text in ("", "compiled") else text


def _beside_this_file(*parts: str) -> str:
    return os.path.join(os.path.dirname(__file__), *parts)
