"""Files of JSON that scripts read."""

import json
from typing import Any

from odradek.cli.failure import Refusal

VERSION = 1


def read_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        raise Refusal(f"Unable to read file {path}") from None


def parsed(text: str) -> Any:  # Any: of whichever of JSON's types
    try:
        return json.loads(text)
    except ValueError:
        raise Refusal("The input string is not a valid JSON") from None


def check_version(found: object) -> None:
    version = found.get("version", VERSION) if isinstance(found, dict) else VERSION
    if version != VERSION:
        raise Refusal(f"Not supported version field value {version}")


def required(found: object, name: str) -> Any:
    """A field of an object; Refusal if it has none, or is none. Any: as above."""
    if not isinstance(found, dict) or name not in found:
        raise Refusal(f"Missing {name} field")
    return found[name]
