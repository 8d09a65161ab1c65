"""The configs of a client as a program gives them: a mapping with Kafka's dotted names, keywords with underscores.

    client_config(TABLE, {"bootstrap.servers": "localhost:9092"}, {"client_id": "me"})

A mapping may be a file that is shared with others, so a name in it that nobody reads is a warning. A keyword stands in
the program: one that is not known is a mistake in it. A config of Kafka's that the client does not honour is a warning,
too, if it is set to something else than its default.
"""

import logging
import re
from collections.abc import Iterable, Mapping

from odradek.config import ignored
from odradek.config.definition import Table
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config, parse

RELEASE = "4.3"  # whose configs the clients have; what they may ask a broker for is asked of it

_ADDRESS = re.compile(
    r"(?:.*://)?\[?([0-9a-zA-Z\-%._:]+)\]?:([0-9]{1,5})\Z"
)  # Kafka's own: a protocol may stand before

_logger = logging.getLogger("odradek.client")


def client_config(table: Table, mapping: Mapping[str, object] | None, keywords: Mapping[str, object]) -> Config:
    given = dict(mapping or {})
    for keyword, value in keywords.items():
        name = _dotted(table, keyword)
        if name in given:
            raise TypeError(f"{name} is given twice: in the mapping and as the keyword {keyword}")
        given[name] = value
    config = parse(table, {name: value for name, value in given.items() if value is not None}, RELEASE)
    for warning in (*config.warnings, *ignored.lines(ignored.in_file(config))):
        _logger.warning("%s", warning)
    return config


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
    if name in table.at(RELEASE):
        return name
    from difflib import get_close_matches  # only a mistake needs it

    known = [each.replace(".", "_") for each in table.at(RELEASE)]
    near = get_close_matches(keyword, known, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise TypeError(f"{keyword} is no config of a client of kind {table.name}{hint}")
