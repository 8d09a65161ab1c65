"""The principal of a client certificate: its distinguished name as RFC 2253 writes it, shortened by
`ssl.principal.mapping.rules`.
"""

import re
from collections.abc import Sequence

from odradek.config.errors import ConfigError
from odradek.security.principal import ANONYMOUS, USER, Principal

Subject = tuple[tuple[tuple[str, str], ...], ...]

_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
# RFC 2253 has no word for these: it writes the identifier and the value's encoding
_IDENTIFIED = {
    "emailAddress": ("1.2.840.113549.1.9.1", 0x16),
    "serialNumber": ("2.5.4.5", 0x13),
    "title": ("2.5.4.12", 0x0C),
}
_SPECIAL = re.compile(r'([,+"\\<>;])')
_RULE = re.compile(r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_REPLACED = re.compile(r"\\(.)|\$(\d)")
_NAME = "ssl.principal.mapping.rules"


def distinguished_name(subject: Subject) -> str:
    """The subject of a certificate as text, the most specific part first."""
    return ",".join("+".join(_attribute(*pair) for pair in parts) for parts in reversed(subject))


def _attribute(name: str, value: str) -> str:
    if name in _IDENTIFIED:
        identifier, tag = _IDENTIFIED[name]
        encoded = value.encode()[:127]
        return f"{identifier}=#{bytes([tag, len(encoded)]).hex()}{encoded.hex()}"
    return f"{_SHORT.get(name, name)}={_escaped(value)}"


def _escaped(value: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", value)
    if escaped.startswith(("#", " ")):
        escaped = "\\" + escaped
    return escaped[:-1] + "\\ " if escaped.endswith(" ") and len(escaped) > 1 else escaped


class MappingRules:
    """The first rule whose pattern matches the whole name decides; without a match there is no principal."""

    __slots__ = ("_rules",)

    def __init__(self, rules: "Sequence[tuple[re.Pattern[str], str, str] | None]") -> None:
        self._rules = rules  # None is DEFAULT: the name as it is

    @classmethod
    def parse(cls, text: str) -> "MappingRules":
        rules: list[tuple[re.Pattern[str], str, str] | None] = []
        rest = text.strip() or "DEFAULT"
        while rest:
            match = _RULE.match(rest)
            if match is None:
                raise ConfigError("expected DEFAULT or RULE:pattern/replacement/[LU], separated by commas", _NAME, text)
            rules.append(None if match[1] else _compiled(match, text))
            rest = rest[match.end() :].lstrip(", \t\n")
        return cls(rules)

    def name(self, distinguished: str) -> str | None:
        for rule in self._rules:
            if rule is None:
                return distinguished
            pattern, replacement, case = rule
            match = pattern.fullmatch(distinguished)
            if match is not None:
                name = _expanded(replacement, match)
                return name.lower() if case == "L" else name.upper() if case == "U" else name
        return None

    def principal(self, subject: Subject | None) -> Principal | None:
        """ANONYMOUS if no certificate was shown, None if no rule knows the one that was."""
        if subject is None:
            return ANONYMOUS
        name = self.name(distinguished_name(subject))
        return None if name is None else Principal(USER, name)


def _expanded(replacement: str, match: "re.Match[str]") -> str:
    return _REPLACED.sub(lambda part: _replaced(part, match), replacement)


def _replaced(part: "re.Match[str]", match: "re.Match[str]") -> str:
    """`$1` is the first group of the pattern, a backslash takes the next character as it is."""
    return match[int(part[2])] or "" if part[2] else part[1]


def _compiled(match: "re.Match[str]", text: str) -> tuple[re.Pattern[str], str, str]:
    try:
        pattern = re.compile(match[2])
    except re.error as error:
        raise ConfigError(f"the pattern does not compile: {error}", _NAME, text) from None
    if any(int(part[2] or 0) > pattern.groups for part in _REPLACED.finditer(match[3])):
        raise ConfigError("the replacement names a group that the pattern does not have", _NAME, text)
    return pattern, match[3], match[4]
