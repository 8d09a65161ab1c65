"""The configs of a client as a program gives them: a mapping with Kafka's dotted names, keywords with underscores.

    client_config(TABLE, {"bootstrap.servers": "localhost:9092"}, {"client_id": "me"})

A mapping may be a file that is shared with others, so a name in it that nobody reads is a warning. A keyword stands in
the program: one that is not known is a mistake in it. A config of Kafka's that the client does not honour is a warning,
too, if it is set to something else than its default.
"""

import logging
import re
from collections.abc import Iterable, Mapping

from odradek.client import python_names
from odradek.client.client_ids import made_up_id
from odradek.config import ignored
from odradek.config.definition import Table
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config, parse

RELEASE = "4.3"  # whose configs the clients have; what they may ask a broker for is asked of it

_ADDRESS = re.compile(
    r"(?:.*://)?\[?([0-9a-zA-Z\-%._:]+)\]?:([0-9]{1,5})\Z"
)  # Kafka's own: a protocol may stand before

_logger = logging.getLogger("odradek.client")


_KAFKAS = "org.apache.kafka.common.serialization."
# Keywords of kafka-python's clients for which there is no config.
_ELSEWHERE = {
    "api_version": "leave it out, each broker is asked what it speaks",
    "api_version_auto_timeout_ms": "leave it out, request_timeout_ms does for it",
    "consumer_timeout_ms": "give poll a timeout, or iterate over records(idle=...), both in seconds",
}

_SERIALIZERS = {
    "key.serializer": f"{_KAFKAS}ByteArraySerializer",
    "value.serializer": f"{_KAFKAS}ByteArraySerializer",
    "key.deserializer": f"{_KAFKAS}ByteArrayDeserializer",
    "value.deserializer": f"{_KAFKAS}ByteArrayDeserializer",
}


class ClientConfig(Config):
    """The parsed configs; `originals`, all that the program gave, known or not, for the plugins that are made; and
    those that only programs of Python have.
    """

    __slots__ = ("originals", "python_names")

    def __init__(self, config: Config, originals: Mapping[str, object], names: Mapping[str, object]) -> None:
        super().__init__(config.table, config.release, dict(config), config.given, config.warnings)
        self.originals = originals
        self.python_names = names


def client_config(table: Table, mapping: Mapping[str, object] | None, keywords: Mapping[str, object]) -> ClientConfig:
    given = dict(mapping or {})
    for keyword, value in keywords.items():
        name = _dotted(table, keyword)
        if name in given:
            raise TypeError(f"{name} is given twice: in the mapping and as the keyword {keyword}")
        given[name] = value
    values = {name: value for name, value in given.items() if value is not None}
    originals = dict(values)
    if type(values.get("acks")) is int:  # as programs of Python write it
        values["acks"] = str(values["acks"])
    names = python_names.taken(values)
    config = ClientConfig(_parsed(table, values), originals, names)
    for warning in (*config.warnings, *ignored.lines(ignored.in_file(config))):
        _logger.warning("%s", warning)
    return config


def _parsed(table: Table, values: Mapping[str, object]) -> Config:
    """Serializers may be objects, which count as given; without any, bytes are what a client takes and gives."""
    objects = {name: values[name] for name in _SERIALIZERS if name in values and not isinstance(values[name], str)}
    stated = {name: type(value) for name, value in objects.items()}
    defaults = {name: text for name, text in _SERIALIZERS.items() if name in table.at(RELEASE)}
    config = parse(table, {**defaults, **values, **stated}, RELEASE)
    own = {**objects, "client.id": config["client.id"] or made_up_id(table.name, config)}
    return Config(table, RELEASE, {**config, **own}, config.given & values.keys(), config.warnings)


def bootstrap_addresses(servers: Iterable[str]) -> list[tuple[str, int]]:
    """host:port of each of bootstrap.servers; ConfigError for one that is none."""
    found = []
    for server in servers:
        match = _ADDRESS.match(server)
        if match is None:
            raise ConfigError("each must be host:port, as in localhost:9092", "bootstrap.servers", server)
        found.append((match[1], int(match[2])))
    return found


def _dotted(table: Table, keyword: str) -> str:
    name = keyword.replace("_", ".")
    if name in table.at(RELEASE) or name in python_names.NAMES or name in python_names.SAME:
        return name
    from difflib import get_close_matches  # only a mistake needs it

    known = [each.replace(".", "_") for each in (*table.at(RELEASE), *python_names.NAMES)]
    near = get_close_matches(keyword, known, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    hint = f": {_ELSEWHERE[keyword]}" if keyword in _ELSEWHERE else hint
    raise TypeError(f"{keyword} is no config of a client of kind {table.name}{hint}")
