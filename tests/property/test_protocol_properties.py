"""Any message of any class and version survives a round trip, and any bytes give a value or PeerProtocolError.

In all of it both executors agree, to the word and the position.
"""

import json

import pytest
from agreement import decoded, encoded, examples
from hypothesis import given
from hypothesis import strategies as st
from message_strategies import ANY_MESSAGE, ANY_VERSION, EVERY_VERSION, messages
from reference_encoder import ReferenceEncoder

from odradek.protocol import json_form
from odradek.protocol.verify import without_unknown_tags

every_version = pytest.mark.parametrize(
    ("cls", "version"), EVERY_VERSION, ids=[f"{cls.__name__}-{version}" for cls, version in EVERY_VERSION]
)


@every_version
def test_round_trip(cls, version, codecs):
    @examples(5)
    @given(messages(cls, version))
    def round_trip(message):
        data = encoded(codecs, message, version)
        assert data == ReferenceEncoder(version).message(message)
        back, end = decoded(codecs, cls, version, data)
        assert (back, end) == (message, len(data))
        assert encoded(codecs, back, version) == data
        through_json(message, version)

    round_trip()


def through_json(message, version):
    """The JSON form does not show unknown tags; everything else comes back."""
    form = json.loads(json.dumps(json_form.to_json(message, version)))
    assert json_form.from_json(type(message), form, version) == without_unknown_tags(message)


@every_version
def test_cut_off_at_every_byte(cls, version, codecs):
    @examples(2)  # the first is always the least message
    @given(messages(cls, version))
    def cut(message):
        data = encoded(codecs, message, version)
        for size in range(len(data)):
            reason, position = decoded(codecs, cls, version, data[:size])
            assert isinstance(reason, str)
            assert position <= size

    cut()


@examples(500)
@given(ANY_MESSAGE, st.data())
def test_mutated_bytes(codecs, example, data):
    message, version = example
    mutated = bytearray(encoded(codecs, message, version))
    for _ in range(data.draw(st.integers(1, 4))):
        if mutated:
            mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.sampled_from(range(256)))
    outcome, _ = decoded(codecs, type(message), version, bytes(mutated))
    if not isinstance(outcome, str):
        encoded(codecs, outcome, version)  # a tag twice cannot be written, and both say so


@examples(1000)
@given(ANY_VERSION, st.binary(max_size=300))
def test_any_bytes_at_all(codecs, pair, data):
    decoded(codecs, *pair, data)
