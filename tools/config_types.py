"""src/odradek/client/config_types.py: the keywords of each client with their types, for editors and type checkers."""

from collections.abc import Iterable

from odradek.client.python_names import NAMES, SAME
from odradek.client.settings import RELEASE
from odradek.config import admin, consumer, producer, share_consumer
from odradek.config.definition import Definition

TABLES = {
    "ProducerConfig": producer.TABLE,
    "ConsumerConfig": consumer.TABLE,
    "ShareConsumerConfig": share_consumer.TABLE,
    "AdminConfig": admin.TABLE,
}
DOCS = {
    "CommonConfig": "What every client takes.",
    "ProducerConfig": "The configs of a producer as keywords.",
    "ConsumerConfig": "The configs of a consumer as keywords.",
    "ShareConsumerConfig": "The configs of a share consumer as keywords.",
    "AdminConfig": "The configs of an admin client as keywords.",
}

# Parameters of their own, with better types than a config has.
PARAMETERS = ("key.serializer", "value.serializer", "key.deserializer", "value.deserializer")

TYPES = {
    "BOOLEAN": "bool",
    "CLASS": "object",
    "DOUBLE": "float",
    "INT": "int",
    "LIST": "str | Sequence[str]",
    "LONG": "int",
    "PASSWORD": "str",
    "SHORT": "int",
    "STRING": "str",
}
OTHERWISE = {
    "acks": "str | int",
    "interceptor.classes": "str | Sequence[object]",
    "metric.reporters": "str | Sequence[object]",
    "partition.assignment.strategy": "str | Sequence[object]",
    "sasl.oauth.token.provider": "Callable[[], str] | TokenProvider",
    "ssl.check.hostname": "bool",
    "ssl.context": "SSLContext",
}
PATHS = ("ssl.cafile", "ssl.certfile", "ssl.keyfile")

HEAD = '''"""The keywords of each client with their types, for editors and type checkers.

Made by `make pages` from the tables in `src/odradek/config/`; do not edit it. Nobody imports it at run time.
"""

from collections.abc import Callable, Sequence
from ssl import SSLContext
from typing import Protocol, TypedDict


class TokenProvider(Protocol):
    """Gives the token to log in with by OAUTHBEARER."""

    def token(self) -> str: ...


class FilePath(Protocol):
    """What `pathlib` gives."""

    def __fspath__(self) -> str: ...
'''


def render() -> str:
    rows = {name: _of(table.at(RELEASE).values()) for name, table in TABLES.items()}
    common = set.intersection(*(set(each.items()) for each in rows.values()))
    parts = [HEAD, _class("CommonConfig", "TypedDict", {**dict(common), **_of_python()})]
    for name, each in rows.items():
        parts.append(_class(name, "CommonConfig", dict(set(each.items()) - common)))
    return "\n\n".join(parts)


def _of(definitions: Iterable[Definition]) -> dict[str, str]:
    return {
        row.name: OTHERWISE.get(row.name) or TYPES[row.type.name] for row in definitions if row.name not in PARAMETERS
    }


def _of_python() -> dict[str, str]:
    names = [*NAMES, *SAME]
    return {name: OTHERWISE.get(name) or ("str | FilePath" if name in PATHS else "str") for name in names}


def _class(name: str, base: str, keys: dict[str, str]) -> str:
    lines = [f"    {key.replace('.', '_')}: {kind}" for key, kind in sorted(keys.items())]
    return "\n".join([f"class {name}({base}, total=False):", f'    """{DOCS[name]}"""', "", *lines, ""])
