"""References in values: `${file:/path:key}`, `${env:NAME}`, `${directory:/path:file}`.

`config.providers` lists the names in use, `config.providers.NAME.class` says which provider answers to a name, and
`config.providers.NAME.param.*` restrict it. A reference to a name that is not listed, or to a key that is not there,
stays as it is, and what a reference brings in is not searched again. Files and the environment are handed in.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Protocol

from odradek.config import properties
from odradek.config.errors import ConfigError

_REFERENCE = r"\$\{([^}:]*):(?:([^}]*?):)?([^}]*?)\}"
_NAMES = "config.providers"
_SECRET_FILE_MAX_BYTES = 16 * 1024 * 1024


class Outside(Protocol):
    """What providers need of the world: the broker's ports in production, a dictionary in a test."""

    def read_file(self, path: str) -> bytes:
        """The whole file, or OSError."""

    def variable(self, name: str) -> str | None:
        """A variable of the environment."""


Lookup = Callable[[str, str], str | None]  # path and key to value


def resolve(values: Mapping[str, str], outside: Outside) -> dict[str, str]:
    """The values with every reference replaced that a listed provider can answer."""
    lookups = _lookups(values, outside)
    if not lookups:
        return dict(values)

    def replace(match: re.Match[str]) -> str:
        lookup = lookups.get(match[1])
        found = lookup(match[2] or "", match[3]) if lookup is not None else None
        return match[0] if found is None else found

    return {
        name: value if name.startswith(_NAMES) else re.sub(_REFERENCE, replace, value) for name, value in values.items()
    }


def _lookups(values: Mapping[str, str], outside: Outside) -> dict[str, Lookup]:
    lookups = {}
    for name in filter(None, (part.strip() for part in values.get(_NAMES, "").split(","))):
        setting = f"{_NAMES}.{name}.class"
        provider = values.get(setting, "").strip()
        make = _PROVIDERS.get(provider.rpartition(".")[2])
        if make is None:
            raise ConfigError(f"must be one of {', '.join(sorted(_PROVIDERS))}", setting, provider)
        prefix = f"{_NAMES}.{name}.param."
        params = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
        lookups[name] = make(outside, params)
    return lookups


def _file_provider(outside: Outside, params: Mapping[str, str]) -> Lookup:
    allowed = _allowed_paths(params)
    files: dict[str, dict[str, str]] = {}  # a file is read once, however many keys are taken from it

    def lookup(path: str, key: str) -> str | None:
        if not path or not _is_allowed(path, allowed):
            return None
        if path not in files:
            files[path] = properties.load(_read(outside, path), path)
        return files[path].get(key)

    return lookup


def _directory_provider(outside: Outside, params: Mapping[str, str]) -> Lookup:
    allowed = _allowed_paths(params)

    def lookup(path: str, key: str) -> str | None:
        # the key is the name of a file in the directory, and never a way out of it
        if not path or not key or "/" in key or key in (".", "..") or not _is_allowed(path, allowed):
            return None
        return _read(outside, posixpath.join(path, key)).decode("utf-8", "replace")

    return lookup


def _environment_provider(outside: Outside, params: Mapping[str, str]) -> Lookup:
    pattern = params.get("allowlist.pattern", ".*")
    try:
        allowed = re.compile(pattern)
    except re.error:
        raise ConfigError("not a regular expression", "allowlist.pattern", pattern) from None

    def lookup(path: str, key: str) -> str | None:
        if path:
            raise ConfigError(f"A path is not supported for environment variables, invalid value '{path}'")
        return outside.variable(key) if allowed.fullmatch(key) else None

    return lookup


_PROVIDERS: dict[str, Callable[[Outside, Mapping[str, str]], Lookup]] = {
    "FileConfigProvider": _file_provider,
    "DirectoryConfigProvider": _directory_provider,
    "EnvVarConfigProvider": _environment_provider,
}


def _allowed_paths(params: Mapping[str, str]) -> tuple[str, ...] | None:
    text = params.get("allowed.paths")
    if not text:
        return None
    paths = tuple(posixpath.normpath(part.strip()) for part in text.split(",") if part.strip())
    relative = next((path for path in paths if not path.startswith("/")), None)
    if relative is not None:
        raise ConfigError("a path must be absolute", "allowed.paths", relative)
    return paths


def _is_allowed(path: str, allowed: tuple[str, ...] | None) -> bool:
    if allowed is None:
        return True
    whole = posixpath.normpath(path)
    return any(whole == root or whole.startswith(root.rstrip("/") + "/") for root in allowed)


def _read(outside: Outside, path: str) -> bytes:
    try:
        data = outside.read_file(path)
    except OSError as error:
        raise ConfigError(f"Could not read {path}, which a config refers to: {error.strerror or error}") from None
    if len(data) > _SECRET_FILE_MAX_BYTES:
        raise ConfigError(f"{path} is larger than the {_SECRET_FILE_MAX_BYTES} bytes that a config may refer to")
    return data
