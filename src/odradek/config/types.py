"""The types of ConfigDef: how a text or a Python value becomes a config value, and how a value becomes text again.

Values are plain Python: bool, str, int, float, tuple of str (LIST), Password, and for CLASS the name as written or the
Python class itself. None stands for Java's null and passes every type; whether it is allowed is the validator's matter.
"""

import re
from collections.abc import Callable

from odradek.config.errors import ConfigError

_JAVA_BLANKS = "".join(map(chr, range(0x21)))  # what String.trim takes away: everything up to the space
# Patterns are compiled by `re` on first use: compiling them here would double the time of the import.
_COMMA = r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*"
_INTEGER = r"[+-]?\d+\Z"  # digits of any script, as Java takes them
_DECIMAL = r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?\Z"
_HEXADECIMAL = r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?\Z"
_DIGITS_MAX = 1000  # reading a number is quadratic in its digits

HIDDEN = "[hidden]"

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DOUBLE_MAX = 1.7976931348623157e308


class Password:
    """A secret. It prints as `[hidden]` wherever it turns up; `value` is the only way to the text."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @property
    def value(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a Password is not pickled")


class Type:
    """One type of ConfigDef, with the number that DescribeConfigs gives it on the wire."""

    __slots__ = ("_parse", "code", "name")

    def __init__(self, name: str, code: int, parse: Callable[[object], object]) -> None:
        self.name = name
        self.code = code
        self._parse = parse

    def parse(self, name: str, value: object) -> object:
        """The typed value of the config `name`, or ConfigError."""
        if value is None:
            return None
        try:
            return self._parse(value.strip(_JAVA_BLANKS) if isinstance(value, str) else value)
        except _NotOfTypeError as error:
            raise ConfigError(error.args[0], name, HIDDEN if self is PASSWORD else value) from None

    def __repr__(self) -> str:
        return self.name


class _NotOfTypeError(Exception):
    pass


def text_of(value: object) -> str | None:
    """The value as Kafka writes it into a config record or an answer. A secret is given in the clear: see `shown`."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double_text(value)
    if isinstance(value, (tuple, list)):
        return ",".join(str(item) for item in value)
    if isinstance(value, Password):
        return value.value
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    return str(value)


def shown(value: object) -> str | None:
    """The value as text for people: a secret stays hidden."""
    return HIDDEN if isinstance(value, Password) else text_of(value)


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _NotOfTypeError("Expected value to be either true or false")


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _NotOfTypeError(f"Expected value to be a string, but it was a {type(value).__name__}")


def _integer(type_name: str, bits: int) -> Callable[[object], int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def parse(value: object) -> int:
        if isinstance(value, str):
            if len(value) > _DIGITS_MAX or not re.match(_INTEGER, value):
                raise _NotOfTypeError(f"Not a number of type {type_name}")
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _NotOfTypeError(f"Expected value to be a {bits}-bit integer, but it was a {type(value).__name__}")
        if not low <= value <= high:
            raise _NotOfTypeError(f"Not a number of type {type_name}")
        return value

    return parse


def _double(value: object) -> float:
    if isinstance(value, str):
        return _double_of_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _NotOfTypeError(f"Expected value to be a double, but it was a {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise _NotOfTypeError("Not a number of type DOUBLE") from None


def _double_of_text(text: str) -> float:
    if decimal := re.match(_DECIMAL, text):
        return float(decimal[1])
    if hexadecimal := re.match(_HEXADECIMAL, text):
        try:
            return float.fromhex(hexadecimal[1])
        except OverflowError:
            return float("-inf") if text.startswith("-") else float("inf")
    raise _NotOfTypeError("Not a number of type DOUBLE")


def _double_text(value: float) -> str:
    """Java's Double.toString: plain digits from 1e-3 to 1e7, else one digit, a point and an `E`."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, exponent = _digits(abs(value))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(value: float) -> tuple[str, int]:
    """The digits of Python's shortest form, and the power of ten of the first."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    return digits.rstrip("0"), int(exponent or 0) + len(whole) - 1 - leading_zeros


def _list(value: object) -> tuple[object, ...]:
    if isinstance(value, str):
        return tuple(re.split(_COMMA, value)) if value else ()
    if isinstance(value, (list, tuple)):
        if not all(isinstance(item, (str, type)) for item in value):
            raise _NotOfTypeError("Expected a comma separated list of strings.")
        return tuple(value)
    raise _NotOfTypeError("Expected a comma separated list.")


def _class(value: object) -> object:
    if isinstance(value, (str, type)) or callable(value):
        return value
    raise _NotOfTypeError("Expected a Class instance or class name.")


def _password(value: object) -> Password:
    if isinstance(value, Password):
        return value
    if isinstance(value, str):
        return Password(value)
    raise _NotOfTypeError(f"Expected value to be a string, but it was a {type(value).__name__}")


BOOLEAN = Type("BOOLEAN", 1, _boolean)
STRING = Type("STRING", 2, _string)
INT = Type("INT", 3, _integer("INT", 32))
SHORT = Type("SHORT", 4, _integer("SHORT", 16))
LONG = Type("LONG", 5, _integer("LONG", 64))
DOUBLE = Type("DOUBLE", 6, _double)
LIST = Type("LIST", 7, _list)
CLASS = Type("CLASS", 8, _class)
PASSWORD = Type("PASSWORD", 9, _password)
