"""Finds a message class by its API key or name. A declaration is imported when it is first asked for."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from odradek.protocol import apis

if TYPE_CHECKING:
    from odradek.protocol.declare import Message, Request, Response

# Internal records and the bytes inside other messages, by the file that declares them.
OFFSETS_RECORDS = ("consumer_offsets", "consumer_groups", "share_groups", "streams_groups")
TRANSACTION_RECORDS = ("transaction_state",)
SHARE_RECORDS = ("share_state",)
METADATA_RECORDS = ("metadata_brokers", "metadata_topics", "metadata_cluster")
REMOTE_LOG_RECORDS = ("remote_log",)
INTERNAL = (
    *("header", "consumer_protocol", "control_records", "principal", "quorum_state", "producer_snapshot"),
    *OFFSETS_RECORDS,
    *TRANSACTION_RECORDS,
    *SHARE_RECORDS,
    *METADATA_RECORDS,
    *REMOTE_LOG_RECORDS,
)


@cache
def request(key: int) -> "type[Request]":
    """The request class of an API key; InvalidRequest for a key that no release declares."""
    api = apis.by_key(key)
    return cast("type[Request]", _declared(_module_of(api), f"{api.message}Request"))


@cache
def response(key: int) -> "type[Response]":
    """The response class of an API key; InvalidRequest for a key that no release declares."""
    api = apis.by_key(key)
    return cast("type[Response]", _declared(_module_of(api), f"{api.message}Response"))


def by_name(name: str) -> "type[Message]":
    """`FetchRequest`, `OffsetCommitValue`, `RequestHeader` ...; LookupError for a name that nobody declares."""
    for api in apis.ALL:
        if name in (f"{api.message}Request", f"{api.message}Response"):
            return _declared(_module_of(api), name)
    for module in INTERNAL:
        found = messages_of(module).get(name)
        if found is not None:
            return found
    raise LookupError(f"no message is called {name!r}")


def every_message() -> "dict[str, type[Message]]":
    """All declarations by name: APIs in the order of their keys, then the internal ones."""
    modules = [_module_of(api) for api in apis.ALL] + list(INTERNAL)
    return {name: cls for module in modules for name, cls in messages_of(module).items()}


def messages_of(module: str) -> "dict[str, type[Message]]":
    """The messages that one file declares, in its order."""
    from odradek.protocol.declare import Message

    loaded = import_module(f"odradek.protocol.messages.{module}")
    return {
        name: value
        for name, value in vars(loaded).items()
        if isinstance(value, type) and issubclass(value, Message) and value.__module__ == loaded.__name__
    }


def _module_of(api: apis.Api) -> str:
    return f"k{api.key:02d}_{api.name.lower()}"


def _declared(module: str, name: str) -> "type[Message]":
    return cast("type[Message]", getattr(import_module(f"odradek.protocol.messages.{module}"), name))
