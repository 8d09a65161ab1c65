"""What a program handed in to make bytes of its keys and values, or values of bytes, as one kind of function.

    value_serializer=lambda order: json.dumps(order).encode()     a function of one argument, not asked about None
    value_serializer=STRING                                       an object with serialize(topic, headers, value)
    value_serializer=OrderSerializer                              a class of such objects, or its name:
    {"value.serializer": "shop.orders.OrderSerializer"}           ours, or one that Java's programs have:
    {"value.serializer": "org.apache.kafka.common.serialization.StringSerializer"}

Objects that are made here of a class or a name are configured, if they have `configure(configs, is_key)`: with all
that the program gave, and with client.id. Those that the program has made are its own business.

Whatever goes wrong inside becomes one kind of error, which names the config and the class of the value; the original is
its cause. What is made must be bytes or None. `close` closes those that can be closed.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from odradek.config.errors import ConfigError
from odradek.config.parsed import Config
from odradek.protocol.errors import KafkaError
from odradek.serde.errors import SerializationError
from odradek.serde.plain import DeserializerWithContext, Headers, SerializerWithContext

__all__ = [
    "Deserialize",
    "DeserializerWithContext",
    "Headers",
    "SerializationError",
    "Serialize",
    "SerializerWithContext",
    "close",
    "deserializer",
    "not_bytes",
    "serializer",
]

Serialize = Callable[[str, Headers, object], bytes | None]  # topic, headers, value
Deserialize = Callable[[str, Headers, bytes | None], object]
Function = TypeVar("Function", Serialize, Deserialize)

_JAVA = "org.apache.kafka.common.serialization."
_PLAIN = "odradek.serde.plain."
# Java's word, and ours. Bytes need no function at all.
_CLASSES = {
    "Boolean": "Boolean",
    "Double": "Double",
    "Float": "Float",
    "Integer": "Int",
    "Long": "Long",
    "Short": "Short",
    "String": "String",
    "UUID": "Uuid",
    "Void": "Void",
}
_AS_THEY_ARE = ("ByteArray", "ByteBuffer", "Bytes")

_logger = logging.getLogger("odradek.client")


def serializer(given: object, *, is_key: bool, config: Config) -> Serialize | None:
    """The function for what was handed in or, if that is None, is named in the config.

    None means that bytes go through as they are.
    """
    name = f"{_side(is_key)}.serializer"
    found = _found(given, name, is_key, config)
    if found is None:
        return None
    if hasattr(found, "serialize"):
        return _closable(_with_context(found.serialize, name), found)
    return _closable(_of_value(_callable(found, name, "serialize(topic, headers, value)"), name), found)


def deserializer(given: object, *, is_key: bool, config: Config) -> Deserialize | None:
    name = f"{_side(is_key)}.deserializer"
    found = _found(given, name, is_key, config)
    if found is None:
        return None
    if hasattr(found, "deserialize"):
        return _closable(_back_with_context(found.deserialize, name), found)
    return _closable(_back_of_data(_callable(found, name, "deserialize(topic, headers, data)"), name), found)


def close(*functions: Serialize | Deserialize | None) -> None:
    """Closes what can be closed, each once. An error is told in the log: the others are closed all the same."""
    closers = dict.fromkeys(getattr(function, "close", None) for function in functions)
    for closer in closers:
        if closer is None:
            continue
        try:
            closer()
        except Exception:
            _logger.exception("a serializer could not be closed")


def not_bytes(value: object, *, is_key: bool) -> SerializationError:
    """The error for a value that would go through as it is, and is no bytes."""
    side = _side(is_key)
    return SerializationError(
        f"The {side} is an object of class {_class_name(value)}, not bytes: give the client a {side}_serializer "
        f"({side}.serializer)."
    )


def _side(is_key: bool) -> str:
    return "key" if is_key else "value"


def _found(given: object, name: str, is_key: bool, config: Config) -> object:
    """An object with a method, or something that can be called; None for plain bytes."""
    wanted: object = config.get(name) if given is None else given
    if wanted is None:
        return None
    is_made_here = False
    if isinstance(wanted, str):
        wanted = _named(wanted, name)
        is_made_here = isinstance(wanted, type)
    method = name.partition(".")[2].removesuffix("r")
    if isinstance(wanted, type) and hasattr(wanted, method):
        wanted, is_made_here = _made(wanted, name), True
    if is_made_here and hasattr(wanted, "configure"):
        wanted.configure(_originals(config), is_key)
    return wanted


def _named(text: str, name: str) -> object:
    """What a dotted name stands for: one of Java's words, or something in a module."""
    direction = name.partition(".")[2].capitalize()
    word = text.removeprefix(_JAVA).removesuffix(direction)
    if text.startswith(_JAVA):
        if word in _AS_THEY_ARE:
            return None
        if word not in _CLASSES or not text.endswith(direction):
            raise ConfigError(f"there is no such {direction.lower()} here; give a class of Python", name, text)
        text = _PLAIN + _CLASSES[word]
    module, dot, attribute = text.replace(":", ".").rpartition(".")
    if not dot:
        raise ConfigError("a class is named with its module, as in shop.orders.OrderSerializer", name, text)
    return _imported(module, attribute, name, text)


def _imported(module: str, attribute: str, name: str, text: str) -> object:
    from importlib import import_module

    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"it cannot be imported: {error}", name, text) from error


def _made(kind: type, name: str) -> object:
    try:
        return kind()
    except TypeError as error:
        raise ConfigError(f"it cannot be made without arguments: {error}", name, kind.__qualname__) from error


def _originals(config: Config) -> dict[str, object]:
    given = getattr(config, "originals", None)
    values = {name: config[name] for name in config.given} if given is None else dict(given)
    if "client.id" in config:
        values["client.id"] = config["client.id"]
    return values


def _callable(found: object, name: str, method: str) -> Callable[..., object]:
    if callable(found):
        return found
    raise ConfigError(f"it must be a function of one argument, or have {method}", name, _class_name(found))


def _closable(function: Function, found: object) -> Function:
    closer = getattr(found, "close", None)
    if closer is not None:
        vars(function)["close"] = closer
    return function


def _with_context(method: Callable[[str, Headers, object], object], name: str) -> Serialize:
    def serialize(topic: str, headers: Headers, value: object) -> bytes | None:
        try:
            made = method(topic, headers, value)
        except Exception as error:
            raise _cannot(name, topic, value, error) from error
        return made if made is None or type(made) is bytes else _as_bytes(made, name, topic)

    return serialize


def _of_value(function: Callable[..., object], name: str) -> Serialize:
    def serialize(topic: str, headers: Headers, value: object) -> bytes | None:
        if value is None:  # a tombstone stays one, whatever the function would make of None
            return None
        try:
            made = function(value)
        except Exception as error:
            raise _cannot(name, topic, value, error) from error
        return made if made is None or type(made) is bytes else _as_bytes(made, name, topic)

    return serialize


def _back_with_context(method: Deserialize, name: str) -> Deserialize:
    def deserialize(topic: str, headers: Headers, data: bytes | None) -> object:
        try:
            return method(topic, headers, data)
        except Exception as error:
            raise _cannot_back(name, topic, data, error) from error

    return deserialize


def _back_of_data(function: Callable[..., object], name: str) -> Deserialize:
    def deserialize(topic: str, headers: Headers, data: bytes | None) -> object:
        if data is None:
            return None
        try:
            return function(data)
        except Exception as error:
            raise _cannot_back(name, topic, data, error) from error

    return deserialize


def _as_bytes(made: object, name: str, topic: str) -> bytes:
    if isinstance(made, (bytes, bytearray, memoryview)):
        return bytes(made)
    raise SerializationError(
        f"What {name} made for topic {topic} is an object of class {_class_name(made)}; it must be bytes or None."
    )


def _cannot(name: str, topic: str, value: object, error: Exception) -> KafkaError:
    side = name.partition(".")[0]
    return SerializationError(
        f"A {side} of class {_class_name(value)} for topic {topic} cannot be made bytes by {name}: {_reason(error)}"
    )


def _cannot_back(name: str, topic: str, data: bytes | None, error: Exception) -> KafkaError:
    side = name.partition(".")[0]
    size = "null" if data is None else f"{len(data)} bytes"
    return SerializationError(f"A {side} of topic {topic} ({size}) cannot be read by {name}: {_reason(error)}")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, SerializationError) else f"{type(error).__qualname__}: {error}"


def _class_name(value: object) -> str:
    return type(value).__qualname__
