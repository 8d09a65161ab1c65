"""`meta.properties`: which node of which cluster a directory belongs to.

Version 1 is KRaft's: `cluster.id`, `node.id`, and since 3.7 `directory.id`. Version 0 is ZooKeeper's: `broker.id`,
and a `cluster.id` that may be missing. The file looks as Java writes it, comment, date and order included.
"""

from typing import NamedTuple

from odradek.config import properties
from odradek.config.errors import ConfigError
from odradek.protocol.uuids import format_uuid, parse_uuid

FILE_NAME = "meta.properties"
VERSION_0, VERSION_1 = 0, 1

_DAYS = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")  # 1970-01-01 was a Thursday
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY_SECONDS = 86_400
_INT32_MAX = 2**31 - 1


class CorruptMetaProperties(Exception):  # noqa: N818 - what was found, not what went wrong here
    """What makes the file useless, in one line without its name."""


class MetaProperties(NamedTuple):
    cluster_id: str | None
    node_id: int
    directory_id: bytes | None = None
    version: int = VERSION_1

    def to_bytes(self, wall_ms: int) -> bytes:
        lines = {"node.id" if self.version == VERSION_1 else "broker.id": str(self.node_id)}
        if self.directory_id is not None:
            lines["directory.id"] = format_uuid(self.directory_id)
        lines["version"] = str(self.version)
        if self.cluster_id is not None:
            lines["cluster.id"] = self.cluster_id
        return f"#\n#{java_date(wall_ms)}\n".encode() + properties.dump(lines)

    def __str__(self) -> str:
        """As `kafka-storage info` shows it."""
        shown = {
            "broker.id" if self.version == VERSION_0 else "node.id": str(self.node_id),
            "version": str(self.version),
        }
        if self.cluster_id is not None:
            shown["cluster.id"] = self.cluster_id
        if self.directory_id is not None:
            shown["directory.id"] = format_uuid(self.directory_id)
        return f"{{{', '.join(f'{name}={shown[name]}' for name in sorted(shown))}}}"


def path_of(directory: str) -> str:
    return f"{directory.rstrip('/')}/{FILE_NAME}"


def parse(data: bytes) -> MetaProperties:
    try:
        found = properties.load(data)
    except ConfigError as error:
        raise CorruptMetaProperties(str(error)) from None
    version = _number(found, "version")
    if version not in (VERSION_0, VERSION_1):
        raise CorruptMetaProperties(f"version {version} is not known, expected 1")
    node_id = _number(found, "node.id" if version == VERSION_1 else "broker.id")
    cluster_id = found.get("cluster.id", "").strip() or None
    if cluster_id is None and version == VERSION_1:
        raise CorruptMetaProperties("cluster.id is missing")
    return MetaProperties(cluster_id, node_id, _directory_id(found), version)


def _number(found: dict[str, str], name: str) -> int:
    text = found.get(name, "").strip()
    if not text:
        raise CorruptMetaProperties(f"{name} is missing")
    if not text.isascii() or not text.isdecimal() or len(text) > 10 or int(text) > _INT32_MAX:
        raise CorruptMetaProperties(f"{name} is no number that a node can have: {text[:40]!r}")
    return int(text)


def _directory_id(found: dict[str, str]) -> bytes | None:
    text = found.get("directory.id", "").strip()
    if not text:
        return None
    try:
        return parse_uuid(text)
    except ValueError as error:
        raise CorruptMetaProperties(f"directory.id: {error}") from None


def java_date(wall_ms: int) -> str:
    """`Sun Nov 15 22:34:04 UTC 2026`"""
    days, seconds = divmod(wall_ms // 1000, _DAY_SECONDS)
    year, month, day = _civil(days)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{_DAYS[days % 7]} {_MONTHS[month - 1]} {day:02} {clock} UTC {year}"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970: `datetime` costs the start more than this line of Euclid."""
    days += 719_468  # since the first of March of the year 0
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153  # months since March
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1
