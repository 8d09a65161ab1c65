"""SCRAM as Kafka's own clients and brokers speak it, message by message."""

import gzip
import json
from pathlib import Path

import pytest

from odradek.channel.scram_client import ScramCredentials, ScramSaslClient
from odradek.protocol.errors import SaslAuthenticationFailed

with gzip.open(Path(__file__).parent / "data" / "records-scram.jsonl.gz", "rt") as _file:
    CASES = [json.loads(line) for line in _file]


def result(job):
    """What a job returns, run here."""
    try:
        while True:
            next(job)
    except StopIteration as end:
        return end.value


def logging_in(case):
    is_token = "tokenauth=true" in case["client_first"]
    credentials = ScramCredentials(
        case["mechanism"], case["user"], case["password"], lambda: case["client_nonce"], is_token=is_token
    )
    client = ScramSaslClient(credentials)
    assert client.token(b"") == case["client_first"].encode()
    return credentials, client


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['mechanism']}-{case['user']}-{case['iterations']}")
def test_a_client_says_what_kafkas_says(case):
    credentials, client = logging_in(case)
    assert result(client.token(case["server_first"].encode())) == case["client_final"].encode()
    assert client.token(case["server_final"].encode()) is None
    assert case["password"] not in repr(credentials) + repr(client) or case["password"] == "b"


@pytest.mark.parametrize("case", CASES[:1])
def test_a_second_login_hashes_nothing_again(case):
    credentials, client = logging_in(case)
    result(client.token(case["server_first"].encode()))
    again = ScramSaslClient(credentials)
    again.token(b"")
    assert again.token(case["server_first"].encode()) == case["client_final"].encode()


@pytest.mark.parametrize("case", CASES[::7])
def test_a_server_that_does_not_know_the_password_is_refused(case):
    for answer in (case["server_final_error"], "v=AAAA", "v=!", "", "x=1"):
        _, client = logging_in(case)
        result(client.token(case["server_first"].encode()))
        with pytest.raises(SaslAuthenticationFailed):
            client.token(answer.encode())


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("r=other,s=AAAA,i=4096", "does not go on from ours"),
        ("r={nonce},s=AAAA,i=4096", "does not go on from ours"),
        ("r={nonce}x,s=AAAA,i=4095", "asks for 4095 iterations"),
        ("r={nonce}x,s=AAAA,i=99999999", "asks for 99999999 iterations"),
        ("r={nonce}x,s=!,i=4096", "makes no sense"),
        ("r={nonce}x,i=4096", "makes no sense"),
        ("r={nonce}x,s=AAAA,i=many", "makes no sense"),
        ("", "makes no sense"),
        ("\xff", "makes no sense"),
        ("e=other-error", "refused the SCRAM login: other-error"),
    ],
)
def test_a_first_answer_that_cannot_be_trusted(first, told):
    case = CASES[0]
    _, client = logging_in(case)
    with pytest.raises(SaslAuthenticationFailed, match=told):
        client.token(first.format(nonce=case["client_nonce"]).encode("latin-1"))
