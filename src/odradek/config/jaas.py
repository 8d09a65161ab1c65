"""`sasl.jaas.config`: one login module with its options, in the syntax of a JAAS file.

    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret" user_bob="other";

A value may stand in double or single quotes and hold backslash escapes, as Java's stream tokenizer reads them.
"""

import re
from typing import NamedTuple

from odradek.config.errors import ConfigError

_TOKEN = re.compile(
    r"""\s*(?:(//[^\n]*|/\*.*?\*/)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([=;])|([^\s=;"']+))""", re.DOTALL
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_FLAGS = ("required", "requisite", "sufficient", "optional")
_NAME = "sasl.jaas.config"


class LoginModule(NamedTuple):
    name: str
    flag: str
    options: dict[str, str]


def parse(text: str) -> LoginModule:
    """Raises ConfigError if it is not exactly one login module. The text is never shown: it has secrets."""
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] != ("=;", ";"):
        raise _malformed("it must end with a semicolon")
    (_, name), (_, flag) = tokens[:2]
    if flag.lower() not in _FLAGS:
        raise _malformed(f"the login module must be followed by one of {', '.join(_FLAGS)}")
    return LoginModule(name, flag.lower(), _options(tokens[2:-1]))


def _options(tokens: list[tuple[str, str]]) -> dict[str, str]:
    options = {}
    if len(tokens) % 3:
        raise _malformed("options must be written name=value")
    for start in range(0, len(tokens), 3):
        (_, key), equals, (kind, value) = tokens[start : start + 3]
        if equals != ("=;", "=") or kind == "=;":
            raise _malformed("options must be written name=value, and there may be one login module only")
        options[key] = value
    return options


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _malformed("a quote is not closed")
        comment, double, single, mark, word = match.groups()
        if double is not None or single is not None:
            tokens.append(("quoted", _unescaped(double if double is not None else single)))
        elif mark is not None:
            tokens.append(("=;", mark))
        elif comment is None:
            tokens.append(("word", word))
        at = match.end()
    return tokens


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_one, text)


def _one(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _ESCAPED.get(code, code)


def _malformed(reason: str) -> ConfigError:
    return ConfigError(f"{_NAME} is malformed: {reason}")
