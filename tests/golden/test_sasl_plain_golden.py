"""The SASL/PLAIN conversations of real clients with real brokers: their side again, and our answers to the byte."""

import gzip
import json
from pathlib import Path

import pytest

from odradek.security.mechanism import Mechanism
from odradek.security.sasl_authenticator import SaslAuthenticator
from odradek.security.sasl_plain import PlainCredentials, PlainServer

WIRE = Path(__file__).parent / "data" / "wire"
FILES = sorted(path.name for path in WIRE.glob("*sasl-plain*.jsonl.gz"))
CREDENTIALS = PlainCredentials({"alice": "alice-secret", "admin": "admin-secret"})
MECHANISMS = [
    Mechanism("PLAIN", lambda: PlainServer(CREDENTIALS)),
    Mechanism("SCRAM-SHA-256", None),
    Mechanism("SCRAM-SHA-512", None),
]
API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36


def conversations(name):
    found = {}
    with gzip.open(WIRE / name, "rt") as lines:
        for line in map(json.loads, lines):
            found.setdefault(line["conn"], []).append(line)
    return found.values()


def framed(line):
    frame = bytes.fromhex(line["hex"])
    return len(frame).to_bytes(4, "big") + frame


def replay(lines):
    """Answers that were given, as (ours, Kafka's), and the last step."""
    responses = {line["correlation_id"]: framed(line) for line in lines if line["dir"] == "response"}
    authenticator = SaslAuthenticator(MECHANISMS, lambda frame: [responses[int.from_bytes(frame[4:8], "big")]])
    pairs = []
    for line in lines:
        if line["dir"] != "request":
            continue
        step = authenticator.receive(memoryview(bytes.fromhex(line["hex"])))
        pairs.append((line["api_key"], b"".join(step.reply or []), responses[line["correlation_id"]]))
        if step.principal or step.has_failed:
            return pairs, step
    raise AssertionError("the conversation ended without a decision")


def test_there_are_conversations():
    assert len(FILES) >= 8


@pytest.mark.parametrize("name", FILES)
def test_our_answers_are_kafkas(name):
    for lines in conversations(name):
        pairs, step = replay(lines)
        assert {key for key, _, _ in pairs} >= {SASL_HANDSHAKE, SASL_AUTHENTICATE}
        for _, ours, kafkas in pairs:
            assert ours.hex() == kafkas.hex()
        if "wrong" in name:
            assert step.has_failed
        else:
            assert str(step.principal) == "User:alice"
