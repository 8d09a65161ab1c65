"""Every message that three releases of Kafka wrote: decoded, encoded and framed again, to the byte."""

import gzip
import json
from pathlib import Path

import pytest

from odradek.protocol.verify import Verifier

DATA = Path(__file__).parent / "data"

# The vectors of a file, and how many of them have a layout that 4.3 changed under the same version number.
FILES = {
    "messages-3.3.2": (2394, 0),
    "messages-3.9.1": (2985, 5),
    "messages-4.3.0": (2863, 0),
    "coordinator-3.3.2": (52, 0),
    "coordinator-3.9.1": (148, 5),
    "coordinator-4.3.0": (260, 0),
    "metadata-records-3.3.2": (130, 25),
    "metadata-records-3.9.1": (170, 0),
    "metadata-records-4.3.0": (219, 0),
}


def vectors(file):
    with gzip.open(DATA / f"{file}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def verifier_on(codec):
    verifier = Verifier()
    verifier.executors = {codec.__name__: codec}
    return verifier


@pytest.mark.parametrize("file", FILES)
def test_every_vector_of_a_release(file, codec):
    verifier = verifier_on(codec)
    release = file.rpartition("-")[2].rpartition(".")[0]
    for vector in vectors(file):
        verifier.check(vector, release)
    assert verifier.tally.problems == []
    assert (verifier.tally.vectors, verifier.tally.excepted) == FILES[file]
    # Bytes to message, to JSON and back are four outcomes at the least: fewer would mean that one was not compared.
    compared = verifier.tally.vectors - verifier.tally.excepted
    assert verifier.tally.checks >= 4 * compared


def test_verify_takes_every_executor_that_there_is(codecs):
    assert set(codecs) <= set(Verifier().executors)


@pytest.mark.parametrize("place", ["first", "last"])
def test_one_flipped_bit_is_seen(place, codec):
    vector = next(v for v in vectors("messages-4.3.0") if v["name"] == "HeartbeatRequest" and v["variant"] == "full")
    data = bytearray.fromhex(vector["hex"])
    data[1 if place == "first" else -2] ^= 1
    verifier = verifier_on(codec)
    verifier.check({**vector, "hex": data.hex()}, "4.3")
    assert verifier.tally.problems


def test_a_changed_json_value_is_seen(codec):
    vector = next(v for v in vectors("messages-4.3.0") if v["name"] == "HeartbeatRequest" and v["variant"] == "full")
    verifier = verifier_on(codec)
    verifier.check({**vector, "json": {**vector["json"], "generationId": 12345678}}, "4.3")
    assert verifier.tally.problems


def test_a_message_that_nobody_declares_is_a_problem(codec):
    verifier = verifier_on(codec)
    verifier.check({"name": "NoSuchRequest", "version": 0, "hex": "", "json": {}}, "4.3")
    assert verifier.tally.problems == ["no message is called 'NoSuchRequest'"]


def test_without_a_release_every_excepted_layout_is_left_out(codec):
    verifier = verifier_on(codec)
    verifier.check({"name": "ShareGroupMetadataValue", "version": 0, "hex": "ff", "json": {}})
    assert (verifier.tally.excepted, verifier.tally.problems) == (1, [])
