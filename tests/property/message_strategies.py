"""Random messages of any class and version, made from their declared fields."""

from hypothesis import strategies as st

from odradek.protocol import field as kinds
from odradek.protocol import registry

MESSAGES = registry.every_message()
EVERY_VERSION = [(cls, version) for cls in MESSAGES.values() for version in cls.versions]

UNKNOWN_TAG_MIN = 500  # above every tag that is declared


def integers(bits, signed=True):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.sampled_from([0, 1, low, high]) | st.integers(low, high)


TEXT = st.text(max_size=6) | st.sampled_from(["", "topic", "ü€𝄞", "x" * 130])
SOME_BYTES = st.binary(max_size=6) | st.just(b"y" * 200)

VALUES = {
    kinds.BOOLEAN: st.booleans(),
    kinds.INT8: integers(8),
    kinds.INT16: integers(16),
    kinds.UINT16: integers(16, signed=False),
    kinds.INT32: integers(32),
    kinds.UINT32: integers(32, signed=False),
    kinds.INT64: integers(64),
    kinds.FLOAT64: st.floats(allow_nan=False),
    kinds.UUID: st.binary(min_size=16, max_size=16) | st.just(bytes(16)),
    kinds.STRING: TEXT,
    kinds.BYTES: SOME_BYTES,
    kinds.RECORDS: SOME_BYTES,
}
UNKNOWN_TAGS = st.just(()) | st.dictionaries(
    st.integers(UNKNOWN_TAG_MIN, 2**32 - 1), SOME_BYTES, min_size=1, max_size=2
).map(lambda tags: tuple(sorted(tags.items())))

_structs = {}


def messages(cls, version):
    return structs(cls, version, cls.is_flexible(version))


def structs(cls, version, flexible):
    """Made once per class and version: building a strategy costs more than drawing from it."""
    key = (cls, version, flexible)
    if key not in _structs:
        _structs[key] = _new_structs(cls, version, flexible)
    return _structs[key]


def _new_structs(cls, version, flexible):
    fields = {field.name: values(field, version, flexible) for field in cls.fields if field.in_version(version)}
    if flexible:
        fields["unknown_tags"] = UNKNOWN_TAGS
    return st.builds(cls, **fields)


def values(field, version, flexible):
    if field.kind == kinds.ARRAY:
        made = st.lists(values(field.item, version, flexible), max_size=2)
    elif field.kind == kinds.STRUCT:
        made = structs(field.item, version, flexible)
    else:
        made = VALUES[field.kind]
    is_nullable = field.nullable_in(version)
    made = st.none() | made if is_nullable else made
    default = field.default
    if field.tag is not None and not isinstance(default, type):
        made = made | st.just(default)  # a tagged field at its default is not written
    return made


def one_of_each(cls, version):
    """Every array of structs has one element, so that each array inside has its place."""
    message = cls()
    for field in cls.fields:
        inner = field.item if field.kind == kinds.ARRAY else field
        if field.in_version(version) and inner.kind == kinds.STRUCT:
            made = one_of_each(inner.item, version)
            setattr(message, field.name, [made] if field.kind == kinds.ARRAY else made)
    return message


ANY_VERSION = st.sampled_from(EVERY_VERSION)
ANY_MESSAGE = ANY_VERSION.flatmap(lambda pair: st.tuples(messages(*pair), st.just(pair[1])))
