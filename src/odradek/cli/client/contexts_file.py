"""contexts.toml: clusters by name, so that `-c prod` is enough.

    current = "local"

    [contexts.local]
    bootstrap = "localhost:9092"

    [contexts.prod]
    bootstrap = "kafka-1:9093,kafka-2:9093"
    "security.protocol" = "SSL"

A context has any config of Kafka's clients; `bootstrap` is short for `bootstrap.servers`.
"""

import os
from collections.abc import Mapping

from odradek.cli.client.near import nearest
from odradek.cli.failure import Failure, Refusal

BOOTSTRAP, BOOTSTRAP_SERVERS = "bootstrap", "bootstrap.servers"

_READABLE_BY_ITS_OWNER = 0o600  # there may be passwords in it


class Contexts:
    """What the file says; `current` is the one that counts where none is named."""

    def __init__(self, current: str | None, by_name: Mapping[str, Mapping[str, str]]) -> None:
        self.current = current
        self.by_name = {name: dict(settings) for name, settings in by_name.items()}

    def configs_of(self, name: str) -> dict[str, str]:
        """Under their full names. Failure if there is no such context."""
        if name not in self.by_name:
            near = nearest(name, self.by_name)
            how = f"did you mean {near[0]}?" if near else f"make it with odradek contexts set {name} -b HOST:PORT"
            raise Failure(f"there is no context {name!r}; {how}")
        return {BOOTSTRAP_SERVERS if key == BOOTSTRAP else key: value for key, value in self.by_name[name].items()}


def path() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "odradek", "contexts.toml")


def read() -> Contexts:
    """Empty if there is no file. Failure for one that cannot be read."""
    try:
        with open(path(), "rb") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return Contexts(None, {})
    except OSError as error:
        raise Failure(f"{path()}: {error.strerror}") from None
    return _parsed(text)


def write(contexts: Contexts) -> None:
    """Whole or not at all."""
    target = path()
    temporary = f"{target}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _READABLE_BY_ITS_OWNER)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(as_toml(contexts))
        os.replace(temporary, target)
    except OSError as error:
        raise Refusal(f"{target}: {error.strerror}") from None


def as_toml(contexts: Contexts) -> str:
    lines = [] if contexts.current is None else [f"current = {_quoted(contexts.current)}"]
    for name, settings in sorted(contexts.by_name.items()):
        lines += ["", f"[contexts.{_quoted(name)}]"]
        lines += [f"{_quoted(key)} = {_quoted(value)}" for key, value in settings.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _parsed(text: bytes) -> Contexts:
    import tomllib

    try:
        form = tomllib.loads(text.decode("utf-8"))
    except ValueError as error:
        raise Failure(f"{path()}: {error}") from None
    current, by_name = form.get("current"), form.get("contexts", {})
    is_understood = isinstance(current, str | None) and isinstance(by_name, dict)
    if not is_understood or not all(isinstance(settings, dict) for settings in by_name.values()):
        raise Failure(f'{path()}: expected current = "NAME" and tables [contexts.NAME] with a client\'s configs')
    return Contexts(current, {name: _texts(settings) for name, settings in by_name.items()})


def _texts(settings: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """TOML reads `a.b = 1` as a table in a table, unless a.b is quoted: both are meant as the config a.b."""
    found = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            found.update(_texts(value, f"{prefix}{key}."))
        else:
            found[prefix + key] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
