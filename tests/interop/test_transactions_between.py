"""Open transactions go from us to Apache Kafka and back: whoever starts on the directory ends what the other left open.

Ours is killed with a transaction open and another committed. Kafka, on the same files, knows both, aborts the open one
when its time is over, and is killed with one of its own open. Ours aborts that.
"""

import kafka_tools
import pytest
from kafka_server import kafka
from test_kafka_on_our_dir import Directory

from odradek.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from started import broker
from transaction_conversation import Conversation
from wire_replay import SocketTarget, create_topic

CASES = [("3.3", "3.3.2"), ("4.3", "4.3.0")]
SETTINGS = """\
transaction.state.log.num.partitions=2
transaction.abort.timed.out.transaction.cleanup.interval.ms=200
"""
TIMEOUT_MS = 2000


@pytest.fixture(autouse=True, scope="module")
def tools():
    try:
        for _, version in CASES:
            kafka_tools.jars(version)
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))


def talk_to(directory):
    return Conversation(SocketTarget("127.0.0.1", directory.ports[0]).ask, directory.release)


def leave_open(talk, name):
    """One transaction is committed, one stays open."""
    for transactional_id, timeout_ms in ((f"{name} committed", 60_000), (f"{name} open", TIMEOUT_MS)):
        talk.find(transactional_id)
        producer = talk.init(transactional_id, timeout_ms=timeout_ms)
        talk.add(transactional_id, producer)
        talk.produce(transactional_id, producer)
    talk.end(f"{name} committed", _producer(talk, f"{name} committed"))
    talk.complete(f"{name} committed")


def _described(talk, transactional_id):
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    return talk.ask(request, 0).transaction_states[0]


def _producer(talk, transactional_id):
    state = _described(talk, transactional_id)
    return state.producer_id, state.producer_epoch


def check_ended(talk, name):
    """By whoever runs now. The producer is fenced, the next one goes on."""
    talk.until(lambda: _described(talk, f"{name} committed").transaction_state, lambda state: state == "CompleteCommit")
    state = talk.until(
        lambda: _described(talk, f"{name} open"), lambda state: state.transaction_state == "CompleteAbort"
    )
    successor = talk.init(f"{name} open")
    assert successor[0] == state.producer_id
    assert successor[1] > state.producer_epoch >= 1


@pytest.mark.parametrize(("release", "version"), CASES)
def test_whoever_comes_next_ends_what_is_open(release, version, tmp_path):
    directory = Directory(tmp_path / "dir", release)
    directory.properties.write_text(directory.properties.read_text() + SETTINGS)
    with broker(release, config=directory.properties, data=directory.data, ends="SIGKILL"):
        talk = talk_to(directory)
        create_topic(talk.ask_frame, "t")
        leave_open(talk, "ours")
    with kafka(version, directory.properties, directory.ports[0], ends="SIGKILL"):
        talk = talk_to(directory)
        check_ended(talk, "ours")
        leave_open(talk, "theirs")
    with broker(release, config=directory.properties, data=directory.data):
        talk = talk_to(directory)
        check_ended(talk, "theirs")
        check_still_there(talk)


def check_still_there(talk):
    """What was ended before stays ended, and nothing holds the partition up."""
    assert _described(talk, "ours committed").transaction_state == "CompleteCommit"
    for transactional_id in ("ours committed", "theirs committed"):
        producer = talk.init(transactional_id)
        talk.add(transactional_id, producer)
        talk.produce(transactional_id, producer)
        talk.end(transactional_id, producer)
        talk.complete(transactional_id)
