"""The JSON form: nothing is lost when unknown tags are shown, and what `from_json` lets through can be encoded."""

import json

import pytest
from agreement import examples
from hypothesis import given
from message_strategies import ANY_MESSAGE, MESSAGES, one_of_each

from odradek.protocol.errors import EncodeError
from odradek.protocol.json_form import from_json, to_json

ODD_VALUES = [
    *(None, True, 0, -1, 127, 128, -129, 32768, 65535, 65536, 2**31, 2**32, 2**63, 2**64, 10**400),
    *(1.5, 1.0, float("nan"), float("inf")),
    *("", "x", "AA==", "\ud800", "ü" * 16384, "AAAAAAAAAAAAAAAAAAAAAA"),
    *([], [None], [1], ["x"], [[]], [{}], {}, {"a": 1}),
]


@examples(500)
@given(ANY_MESSAGE)
def test_nothing_is_lost_with_unknown_tags(example):
    message, version = example
    form = json.loads(json.dumps(to_json(message, version, unknown_tags=True)))
    assert from_json(type(message), form, version, unknown_tags=True) == message


def objects_in(form):
    """The object and every object inside it."""
    found = [form]
    for value in form.values():
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, dict):
                found += objects_in(inner)
    return found


@pytest.mark.parametrize("name", MESSAGES)
def test_the_encoder_has_nothing_left_to_complain_about(name):
    cls = MESSAGES[name]
    for version in (cls.versions[0], cls.versions[-1]):
        form = to_json(one_of_each(cls, version), version)
        for place in objects_in(form):
            for key, kept in list(place.items()):
                for value in ODD_VALUES:
                    place[key] = value
                    encode(cls, form, version)
                place[key] = kept


def encode(cls, form, version):
    try:
        message = from_json(cls, form, version)
    except EncodeError as error:
        assert str(error).startswith(cls.__name__)
        return
    message.encode(version)
