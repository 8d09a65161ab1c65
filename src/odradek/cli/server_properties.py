"""A server's properties: of its file and of `--override`, with what they refer to. Kafka's scripts use it as well."""

import os
from collections.abc import Mapping, Sequence

from odradek.cli.failure import Failure
from odradek.config import properties, providers
from odradek.config.errors import ConfigError


def read_properties(path: str) -> dict[str, str]:
    try:
        with open(path, "rb") as file:
            data = file.read()
        if b"\0" in data:
            raise Failure(f"{path}: it is not a text file; expected one of NAME=VALUE lines, as server.properties is")
        return properties.load(data, path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except ConfigError as error:
        raise Failure(str(error)) from None


def overrides(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Failure(f"--override: expected NAME=VALUE, not {text!r}")
        found[name.strip()] = value.strip()
    return found


class _Outside:
    """What config providers may ask for."""

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def variable(self, name: str) -> str | None:
        return os.environ.get(name)


def resolved(values: Mapping[str, str]) -> dict[str, str]:
    """Returns the properties with `${file:...}` and its kin replaced."""
    try:
        return providers.resolve(values, _Outside())
    except (ConfigError, OSError) as error:
        raise Failure(str(error)) from None
