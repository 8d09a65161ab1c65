"""Which API or message a user means: in any case of letters, an API also by its key."""

from odradek.cli.failure import Failure
from odradek.protocol import apis, errors, registry
from odradek.protocol.declare import Message


def api_called(name: str) -> apis.Api | None:
    """`Fetch`, `fetch`, `OFFSET_COMMIT` or `8`; None for a name that is not an API's."""
    if name.isdecimal():
        try:
            return apis.by_key(int(name))
        except errors.InvalidRequest as error:
            raise Failure(str(error)) from None
    for api in apis.ALL:
        if name.lower() in (api.message.lower(), api.name.lower()):
            return api
    return None


def message_called(name: str) -> type[Message]:
    """`FetchRequest`, `offsetcommitvalue`; or Failure with what to say instead."""
    try:
        return registry.by_name(name)
    except LookupError:
        api = api_called(name)
    if api is not None:
        raise Failure(f"{api.message} is an API: name {api.message}Request or {api.message}Response")
    for declared, cls in registry.every_message().items():
        if declared.lower() == name.lower():
            return cls
    raise Failure(f"no message is called {name!r}; `odradek protocol show` lists the APIs")


def messages_called(name: str) -> list[type[Message]]:
    """The message of this name; if it is the name of an API, its request and its response."""
    api = api_called(name)
    return [message_called(name)] if api is None else [registry.request(api.key), registry.response(api.key)]
