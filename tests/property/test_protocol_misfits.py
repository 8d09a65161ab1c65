"""A value that does not fit its field is an EncodeError, in the same words from both executors, and nothing else."""

import array as arrays
import enum
from types import SimpleNamespace

import pytest
from agreement import encoded, examples
from hypothesis import given
from hypothesis import strategies as st
from message_strategies import ANY_MESSAGE, MESSAGES, one_of_each

from odradek.protocol.declare import Struct
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic


class Large(enum.IntEnum):
    VALUE = 2**70


class Stranger(Struct):
    """A struct, but of no message."""


class Index:
    """Counts as an integer."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __repr__(self):
        return f"Index({self.value})"


ODD_VALUES = [
    *(None, True, 0, -1, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31, 2**32, 2**63, 2**64, -(2**63) - 1),
    *(1.5, float("nan"), float("inf"), 10**400, 1j),
    *(Large.VALUE, Index(5), Index(2**40), Index(2**100)),
    *("", "x", "\ud800", "x" * 32767, "x" * 32768, "ü" * 16384),
    *(b"", b"x", bytes(16), bytearray(16), memoryview(b"x"), memoryview(b"abcdef")[::2], bytes(17)),
    *(arrays.array("i", [1, 2]), memoryview(arrays.array("i", [1, 2]))),
    *([], [None], [1], ["x"], [b"x"], [bytes(16)], ["\ud800"], [2**40], [[]], [True], (), (1,), {}, {1: 2}, set()),
    *(Stranger(), [Stranger()], Stranger, object, int, len),
    *(SimpleNamespace(size=0), SimpleNamespace(size=3), SimpleNamespace(size=-1), SimpleNamespace(size=2**31)),
    *(SimpleNamespace(size=2**70), SimpleNamespace(size="x"), SimpleNamespace(size=1.5), SimpleNamespace(size=None)),
]


def structs_in(message):
    """The message and every struct inside it."""
    found = [message]
    for field in message.fields:
        value = getattr(message, field.name)
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, Struct):
                found += structs_in(inner)
    return found


@pytest.mark.parametrize("name", MESSAGES)
def test_each_odd_value_in_each_field_of(name, codecs):
    cls = MESSAGES[name]
    for version in cls.versions:
        message = one_of_each(cls, version)
        for struct in structs_in(message):
            for field in struct.fields:
                put_each(codecs, message, version, struct, field.name)


def put_each(codecs, message, version, struct, name):
    kept = getattr(struct, name)
    for value in ODD_VALUES:
        setattr(struct, name, value)
        encoded(codecs, message, version)
    setattr(struct, name, kept)


@examples(300)
@given(ANY_MESSAGE, st.data())
def test_several_odd_values_at_once(codecs, example, data):
    """Which of them is named is part of the agreement."""
    message, version = example
    structs = [struct for struct in structs_in(message) if struct.fields]
    for _ in range(3 if structs else 0):
        struct = data.draw(st.sampled_from(structs))
        setattr(
            struct,
            data.draw(st.sampled_from(struct.fields)).name,
            ODD_VALUES[data.draw(st.integers(0, len(ODD_VALUES) - 1))],
        )
    encoded(codecs, message, version)


@pytest.mark.parametrize(
    "tags",
    [
        ((1, b"x"), (1, b"y")),
        ((-1, b"x"),),
        ((2**32, b"x"),),
        ((2**70, b"x"),),
        (("x", b"x"),),
        ((1, "x"),),
        ((1, None),),
        ((1, bytearray(b"xy")),),
        ((1,),),
        (1,),
        "x",
        5,
        None,
        [],
        [(7, b"x")],
    ],
    ids=repr,
)
def test_odd_unknown_tags(tags, codecs):
    encoded(codecs, MetadataRequest(topics=[MetadataRequestTopic(unknown_tags=tags)]), 13)
