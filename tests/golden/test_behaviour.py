"""The error codes of a real 3.3.2 and 4.3.0, case by case, from a broker of ours of that release."""

import gzip
import json

import pytest

import differences
from behaviour_kit import CLOSED, COLUMNS, FILE, PROPERTIES, Case, cases, codes, create_topics
from sasl_listener import sasl_properties
from started import broker
from wire_replay import SocketTarget

ALICE = b"\0alice\0alice-secret"


@pytest.mark.parametrize(("release", "at_least"), [("4.3", 190), ("3.3", 185)])
def test_the_codes_of_a_release(release, at_least):
    wrong = []
    with broker(release, PROPERTIES) as address:
        target = SocketTarget(*address)
        create_topics(target.ask, release)
        played = list(cases(release))
        for case in played:
            answers = case.run(target.ask)
            if answers != case.expected:
                wrong.append(f"{case.name}\n  expected {case.expected}\n  answered {answers}")
        target.close()
    assert len(played) >= at_least
    assert not wrong, "\n".join(wrong)


# The cases of a SASL listener. Which of their requests share a connection was not recorded.


def sasl_cases():
    with gzip.open(FILE, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["case"]: row for row in rows if row["case"].startswith("SASL")}


class Conversation:
    """The requests of a case, by their place in it, each answered with its codes."""

    def __init__(self, ask, row):
        self._ask = ask
        self._requests = row["request"]

    def __call__(self, number, connection="one"):
        case = Case("SASL", [self._requests[number]], [None])
        return case.run(lambda _, frame: self._ask(connection, frame))[0]


def handshake_is_refused(say, ask):
    return [say(0), say(1), say(2)]


def versions_of_no_release(say, ask):
    return [say(0)]


def authorization_id_differs(say, ask):
    answers = [say(0), say(1), say(2), say(3)]
    say(4, "two")
    return [*answers, say(5, "two")]


def bare_token(say, ask):
    """The handshake of version 0 is followed by the token itself in a frame, and so is its answer."""
    first = say(0)
    assert ask("one", ALICE) == b""
    return [first, [], say(1)]


CONVERSATIONS = {
    "SASL listener: ApiVersions before handshake, then unsupported mechanism": handshake_is_refused,
    "SASL listener: ApiVersions v99": versions_of_no_release,
    "SASL PLAIN ok, authzid differs, then Metadata": authorization_id_differs,
    "SASL handshake v0 then raw token (no Kafka framing of SaslAuthenticate)": bare_token,
}


@pytest.mark.parametrize("release", ["4.3", "3.3"])
def test_the_codes_of_a_sasl_listener(release, tmp_path):
    rows = sasl_cases()
    assert rows.keys() == CONVERSATIONS.keys()
    with broker(release, PROPERTIES, sasl_properties(release, tmp_path)) as address:
        for name, conversation in CONVERSATIONS.items():
            target = SocketTarget(*address)
            recorded = rows[name][COLUMNS[release]]
            parts = recorded if isinstance(recorded, list) else [recorded]
            expected = [CLOSED if part == CLOSED else codes(part) for part in parts]
            assert conversation(Conversation(target.ask, rows[name]), target.ask) == expected, name
            target.close()


def test_every_difference_has_a_reason():
    rows = [*differences.ANSWERS, *differences.CASES, *differences.SEEN]
    assert all(row.reason and row.releases for row in rows)
    assert all(differences.UNPLAYED.values())
    with gzip.open(FILE, "rt") as lines:
        names = [json.loads(line)["case"] for line in lines]
    assert all(any(name.startswith(start) for name in names) for start in differences.UNPLAYED)
    assert all(row.case in names for row in differences.CASES)
