"""A message as a table for people: one row per field, one column per version."""

from odradek.protocol import apis
from odradek.protocol import field as kinds
from odradek.protocol.declare import Message, Struct
from odradek.protocol.field import Field
from odradek.protocol.uuids import format_uuid

Row = tuple[str, str, str, list[str]]

LEGEND = (
    "x carried   n may be null   t tagged   T tagged, may be null   . not in this version (! an error if it is set)"
)


def table(cls: type[Message]) -> str:
    rows = _rows(cls, cls.versions, list(cls.versions), depth=0)
    names = max([len("field"), *(len(row[0]) for row in rows)])
    types = max([len("type"), *(len(row[1]) for row in rows)])
    defaults = max([len("default"), *(len(row[2]) for row in rows)])
    columns = [f"{version:>2}" for version in cls.versions]
    lines = [_title(cls), "", f"{'field':<{names}}  {'type':<{types}}  {'default':<{defaults}}  {' '.join(columns)}"]
    for name, kind, default, marks in rows:
        cells = " ".join(f"{mark:>2}" for mark in marks)
        lines.append(f"{name:<{names}}  {kind:<{types}}  {default:<{defaults}}  {cells}".rstrip())
    return "\n".join([*lines, "", LEGEND, ""])


def _title(cls: type[Message]) -> str:
    low, high = cls.versions[0], cls.versions[-1]
    key = "" if cls.api_key is None else f"key {cls.api_key}, "
    flexible = [version for version in cls.versions if cls.is_flexible(version)]
    tail = f", flexible from {flexible[0]}" if flexible else ""
    return f"{cls.__name__}: {key}versions {low}-{high}{tail}"


def _rows(cls: type[Struct], versions: range, carried: list[int], depth: int) -> list[Row]:
    rows: list[Row] = []
    for field in cls.fields:
        name = "  " * depth + field.json_name
        tag = "" if field.tag is None else f" tag {field.tag}"
        marks = [_mark(field, version) if version in carried else "" for version in versions]
        rows.append((name, field.type_name + tag, _default(field), marks))
        inner = field.item if field.kind == kinds.STRUCT else getattr(field.item, "item", None)
        if isinstance(inner, type):
            present = [version for version in carried if field.in_version(version)]
            rows += _rows(inner, versions, present, depth + 1)
    return rows


def _mark(field: Field, version: int) -> str:
    if not field.in_version(version):
        return "." if field.ignorable else "!"
    if field.tag is not None:
        return "T" if field.nullable_in(version) else "t"
    return "n" if field.nullable_in(version) else "x"


def _default(field: Field) -> str:
    value = field.default
    if value is None:
        return "null"
    if isinstance(value, (type, list)):
        return ""
    if field.kind == kinds.UUID:
        return format_uuid(value)
    if field.kind == kinds.BOOLEAN:
        return str(value).lower()
    return str(value) if not isinstance(value, (str, bytes)) else f'"{value!s}"' if value else '""'


def api_list() -> str:
    lines = [f"{'key':>3}  {'name':<32} {'versions':<9} {'unstable':<9} {'flexible':<9} listeners"]
    for api in apis.ALL:
        low, high = api.versions[0], api.versions[-1]
        unstable = f"{api.unstable[0]}-{api.unstable[-1]}" if len(api.unstable) else ""
        flexible = "" if api.flexible_since is None else f"{api.flexible_since}+"
        listeners = ", ".join(sorted(api.listeners)).lower()
        lines.append(f"{api.key:>3}  {api.message:<32} {f'{low}-{high}':<9} {unstable:<9} {flexible:<9} {listeners}")
    return "\n".join(lines)
