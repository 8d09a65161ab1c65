"""What one line of a declaration says: a field's type, the versions that carry it, its default and its tag."""

from typing import Any

# The kinds of value. The first nine have a fixed width, so that neighbours are read and written as one group.
BOOLEAN, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID = range(9)
STRING, BYTES, RECORDS, STRUCT, ARRAY = range(9, 14)

KIND_NAMES = (
    *("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid"),
    *("string", "bytes", "records", "struct", "array"),
)
FORMATS = ("?", "b", "h", "H", "i", "I", "q", "d", "16s")
WIDTHS = (1, 1, 2, 2, 4, 4, 8, 8, 16)

VERSION_MAX = 32767
ZERO_UUID = bytes(16)

Versions = tuple[int, int]
NEVER: Versions = (0, -1)


_parsed: dict[str, Versions] = {"": (0, VERSION_MAX), "none": NEVER}


def parse_versions(text: str) -> Versions:
    """`"3+"`, `"0-4"`, `"7"`, `""` (every version) and `"none"` as the first and the last version."""
    versions = _parsed.get(text)
    if versions is None:
        low, _, high = text.removesuffix("+").partition("-")
        versions = (int(low), VERSION_MAX if text.endswith("+") else int(high or low))
        _parsed[text] = versions
    return versions


class Field:
    """One field of a struct, in wire order. `item` is the element's Field of an array, or the class of a struct.

    Default and item are `Any`: of which type they are, the kind says.
    """

    __slots__ = ("default", "flexible", "ignorable", "item", "kind", "name", "nullable", "tag", "versions")

    def __init__(
        self,
        kind: int,
        versions: str,
        *,
        default: Any = None,
        nullable: str = "none",
        tag: int | None = None,
        ignorable: bool = False,
        flexible: bool = True,
        item: Any = None,
    ) -> None:
        self.name = ""  # the class that holds the field gives it its name
        self.kind = kind
        self.versions = parse_versions(versions)
        self.default = default
        self.nullable = parse_versions(nullable)
        self.tag = tag
        self.ignorable = ignorable
        self.flexible = flexible
        self.item = item

    def in_version(self, version: int) -> bool:
        """Whether the version carries the field."""
        low, high = self.versions
        return low <= version <= high

    def nullable_in(self, version: int) -> bool:
        """Whether the field may be null in the version."""
        low, high = self.nullable
        return low <= version <= high

    @property
    def json_name(self) -> str:
        """The name in Kafka's own tables and JSON form."""
        head, *tail = self.name.split("_")
        return head + "".join(part.capitalize() for part in tail)

    @property
    def type_name(self) -> str:
        """The type as Kafka's tables write it: `int32`, `[]string`, `[]FetchTopic`."""
        if self.kind == ARRAY:
            return f"[]{self.item.type_name}"
        if self.kind == STRUCT:
            return str(self.item.__name__)
        return KIND_NAMES[self.kind]

    def fresh_default(self) -> object:
        """A default that the caller may change: lists and structs are new each time."""
        if isinstance(self.default, list):
            return []
        if isinstance(self.default, type):
            return self.default()
        return self.default
