"""Ids in the form and with the hash of Kafka's own class."""

import gzip
import json
from pathlib import Path

import pytest

from odradek.protocol.uuids import format_uuid, parse_uuid

DATA = Path(__file__).parents[2] / "golden" / "data"


def vectors():
    with gzip.open(DATA / "records-uuid.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def test_every_vector_both_ways():
    found = vectors()
    assert len(found) > 50
    for vector in found:
        value = bytes.fromhex(vector["hex"])
        assert format_uuid(value) == vector["string"]
        assert parse_uuid(vector["string"]) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAAAAAAAAAAAAAAAAAAAA",  # one character short
        "AAAAAAAAAAAAAAAAAAAAAAA",  # one too many
        "AAAAAAAAAAAAAAAAAAAAAA==",  # padded
        "AAAAAAAAAAAAAAAAAAAAAB",  # bits beyond the sixteenth byte
        "+/AAAAAAAAAAAAAAAAAAAA",  # the other alphabet
        "AAAAAAAAAA AAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAü",
        "00000000-0000-0000-0000-000000000000",
    ],
)
def test_anything_else_is_no_id(text):
    with pytest.raises(ValueError, match="is not an id: expected 22 characters of URL-safe base64"):
        parse_uuid(text)
