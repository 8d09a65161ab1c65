"""A field set to a value that the version does not carry: dropped where Kafka drops it, an error where Kafka throws.

Every field that some release lacks in some version is set, and its enclosing structs made, in the smallest message that
holds it. `parentAbsent` are the versions that lack an enclosing struct: there the outcome is that struct's.
"""

import gzip
import json
from pathlib import Path

import pytest

from odradek.protocol import exceptions, registry
from odradek.protocol import field as kinds
from odradek.protocol.errors import EncodeError

DATA = Path(__file__).parent / "data"
with gzip.open(DATA / "ignorable.json.gz") as file:
    KAFKA = json.load(file)
CASES = [(release, message) for release, messages in KAFKA.items() for message in messages]

OTHER_VALUES = {
    kinds.BOOLEAN: (True, False),
    kinds.FLOAT64: (1.5, 2.5),
    kinds.UUID: (bytes(range(16)), bytes(16)),
    kinds.STRING: ("x", "y"),
    kinds.BYTES: (b"x", b"y"),
    kinds.RECORDS: (b"x", b"y"),
}


@pytest.mark.parametrize(("release", "message"), CASES)
def test_every_listed_field_of(release, message, codec):
    cls = registry.by_name(exceptions.RENAMED_MESSAGES.get(message, message))
    for path, rule in KAFKA[release][message].items():
        if is_excepted(message, release):
            continue
        names = our_names(cls.__name__, path)
        for version in parse(rule["absent"]):
            outcome = encoded_or_error(codec, cls, names, version)
            assert isinstance(outcome, EncodeError) is throws(rule, version), f"{path} in version {version}: {outcome}"


def is_excepted(message, release):
    """Another layout under the same number: its field list is another too."""
    return any(
        name == message and release.rpartition(".")[0] in releases
        for (name, _), (releases, _) in exceptions.LAYOUTS.items()
    )


def parse(text):
    """`0-6,13` as the versions it means."""
    versions = []
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        versions += range(int(low), int(high or low) + 1)
    return versions


def throws(rule, version):
    if "throws" in rule:
        assert (version in parse(rule["throws"])) is not (version in parse(rule["dropped"]))
        return version in parse(rule["throws"])
    return not rule["ignorable"]


def our_names(message, path):
    """The path in the words of 4.3."""
    renames = exceptions.RENAMED_FIELDS.get(message, {})
    parts = path.split(".")
    return [renames.get(".".join(parts[: depth + 1]), part) for depth, part in enumerate(parts)]


def encoded_or_error(codec, cls, names, version):
    """Dropped means: as if it had never been set."""
    try:
        data = b"".join(codec.encode(cls.plan(version), holding(cls, names, differs=True)))
    except EncodeError as error:
        assert "does not carry it" in str(error)
        return error
    first_absent = next(depth for depth in range(len(names)) if not carried(cls, names[: depth + 1], version))
    without = holding(cls, names[:first_absent], differs=False)
    assert data == b"".join(codec.encode(cls.plan(version), without))
    return data


def carried(cls, names, version):
    field = field_called(cls, names[0])
    return field.in_version(version) and (len(names) == 1 or carried(struct_of(field), names[1:], version))


def holding(cls, names, differs):
    """The least message that has the field: with another value than its default, or with the structs around it only."""
    message = cls()
    if not names:
        return message
    field = field_called(cls, names[0])
    inner = struct_of(field)
    if len(names) > 1 or (inner is not None and not differs):
        made = holding(inner, names[1:], differs)
        setattr(message, field.name, [made] if field.kind == kinds.ARRAY else made)
    elif differs:
        setattr(message, field.name, other_than_default(field))
    return message


def field_called(cls, json_name):
    return next(field for field in cls.fields if field.json_name == json_name)


def struct_of(field):
    inner = field.item if field.kind == kinds.ARRAY else field
    return inner.item if inner.kind == kinds.STRUCT else None


def other_than_default(field):
    if field.kind == kinds.ARRAY:
        return [other_than_default(field.item)]
    if field.kind == kinds.STRUCT:
        made = field.item()
        first = field.item.fields[0]
        setattr(made, first.name, other_than_default(first))
        return made
    choices = OTHER_VALUES.get(field.kind, (1, 2))
    return choices[0] if field.default != choices[0] else choices[1]
