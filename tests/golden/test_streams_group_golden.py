"""A streams group as Kafka 4.3.0 wrote it down, record by record: the same heartbeats write the same bytes here."""

import json
from pathlib import Path

import pytest

from odradek.protocol.frames import OFFSETS
from streams_kit import JOIN, LEAVE, StreamsStory, internal, subtopology, topology

RECORDED = json.loads((Path(__file__).parent / "data" / "streams-group-4.3.0.json").read_text())["records"]
GROUP = "b3-g"
RUNS = topology(
    subtopology("0", "b3-in", sinks="b3-rep"),
    subtopology(
        "1",
        repartition=[internal("b3-rep", cleanup_policy="delete")],
        changelogs=[internal("b3-store-changelog", cleanup_policy="compact")],
    ),
)
METADATA, TARGET_METADATA = 17, 20


@pytest.fixture
def story():
    """The conversation that was had with Kafka."""
    story = StreamsStory({"b3-in": 2})

    def beat(member, epoch, owns=None, **fields):
        if epoch == JOIN:
            fields.update(topology=RUNS, timeout_ms=5000, process=f"p-{member}")
        response = story.streams_beat(member, epoch, owns, group=GROUP, client="bench", **fields).response
        assert response.error_code == 0, response

    beat("m", JOIN, "", endpoint="h1")
    story.create_topics(**{"b3-rep": 2, "b3-store-changelog": 2})
    beat("m", 2)
    beat("n", JOIN, "", endpoint="h2")
    beat("n", 4)
    beat("m", 3)
    beat("m", 3, "0:0,1 1:0,1")
    beat("m", 3, "0:0 1:0")
    beat("n", 4)
    beat("m", 4, rack_id="r")
    beat("n", 4)
    beat("n", LEAVE)
    beat("m", 5)
    beat("m", LEAVE)
    beat("m", JOIN, "")
    beat("m", LEAVE)
    story.event(lambda core: core.delete(GROUP))
    return story


def test_the_same_bytes_are_written(story):
    ours = [_encoded(record) for record, _ in story.log]
    theirs = [(bytes.fromhex(key), None if value is None else bytes.fromhex(value)) for key, value in RECORDED]
    assert [_masked(*each) for each in ours] == [_masked(*each) for each in theirs]


def test_a_group_of_kafka_goes_on_here():
    """As it was before its members left."""
    until = next(at for at, (_, value) in enumerate(RECORDED) if value is None)
    replayed = StreamsStory({"b3-in": 2})
    for key, value in RECORDED[:until]:
        decoded = OFFSETS.decode_key(bytes.fromhex(key))
        replayed.core.streams.replay(decoded, OFFSETS.decode_value(decoded, bytes.fromhex(value)))
    group = replayed.streams_group(GROUP)
    group.validate()
    assert (group.state, group.epoch, group.target_epoch) == ("Stable", 5, 5)
    assert {name: member.epoch for name, member in group.members.items()} == {"m": 5, "n": 5}


def _encoded(record):
    value = None if record.value is None else bytes(OFFSETS.encode_value(record.value, 0))
    return bytes(OFFSETS.encode_key(record.key)), value


def _masked(key, value):
    """Without what differs from run to run: the hash of the topics, and the time of the target."""
    kind = int.from_bytes(key[:2], "big")
    if value is None:
        return kind, key[2:], None
    if kind == METADATA:
        value = value[:6] + b"<hash>" + value[14:]
    if kind == TARGET_METADATA:
        value = value[:-8] + b"<time>"
    return kind, key[2:], value.hex()
