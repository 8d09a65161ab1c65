"""Groups and open transactions go from us to Apache Kafka and back: whoever starts on the directory serves the groups
and ends what the other left open.

Ours is killed with a transaction open and another committed, offsets in both, and with members in groups. Kafka, on the
same files, knows all of them, aborts the open one when its time is over, and is killed with one of its own open. Ours
aborts that.
"""

import kafka_tools
import pytest
from kafka_server import kafka
from left_groups import LeftGroups
from test_kafka_on_our_dir import Directory

from odradek.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from started import broker
from transaction_conversation import Conversation
from wire_replay import SocketTarget, create_topic

CASES = [("3.3", "3.3.2"), ("3.3", "4.3.0"), ("4.3", "4.3.0")]
SETTINGS = """\
transaction.state.log.num.partitions=2
transaction.abort.timed.out.transaction.cleanup.interval.ms=200
"""
TIMEOUT_MS = 2000
COMMITTED_OFFSET = 7


@pytest.fixture(autouse=True, scope="module")
def tools():
    try:
        for _, version in CASES:
            kafka_tools.jars(version)
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))


def talk_to(directory):
    return Conversation(SocketTarget("127.0.0.1", directory.ports[0]).ask, directory.release)


def leave_open(talk, name, *, is_for_us=False):
    """One transaction is committed, two stay open; what is told of the groups. The one whose time will be over has an
    offset, too, if we shall end it: a 4.3.0 forgets the marker of such an offset while it starts.
    """
    groups = LeftGroups(talk, name)
    groups.leave()
    committed = _begin(talk, f"{name} committed")
    groups.commit_in_transaction(f"{name} committed", committed, COMMITTED_OFFSET)
    talk.end(f"{name} committed", committed)
    talk.complete(f"{name} committed")
    told = groups.told()
    late = _begin(talk, f"{name} open", TIMEOUT_MS)
    if is_for_us:
        groups.commit_in_transaction(f"{name} open", late, COMMITTED_OFFSET + 2)
    replaced = _begin(talk, f"{name} replaced")
    groups.commit_in_transaction(f"{name} replaced", replaced, COMMITTED_OFFSET + 1)
    return told


def _begin(talk, transactional_id, timeout_ms=60_000):
    talk.find(transactional_id)
    producer = talk.init(transactional_id, timeout_ms=timeout_ms)
    talk.add(transactional_id, producer)
    talk.produce(transactional_id, producer)
    return producer


def _described(talk, transactional_id):
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    return talk.ask(request, 0).transaction_states[0]


def check_ended(talk, name, told):
    """By whoever runs now: one when its time is over, one by the next producer, which goes on."""
    talk.until(lambda: _described(talk, f"{name} committed").transaction_state, lambda state: state == "CompleteCommit")
    state = talk.until(
        lambda: _described(talk, f"{name} open"), lambda state: state.transaction_state == "CompleteAbort"
    )
    successor = talk.init(f"{name} open")
    assert successor[0] == state.producer_id
    assert successor[1] > state.producer_epoch >= 1
    check_groups(talk, name, told)


def check_groups(talk, name, told):
    """It tells what the other told; the offset of the transaction that the next producer ends has not moved."""
    before = _described(talk, f"{name} replaced")
    assert before.transaction_state == "Ongoing"
    assert talk.init(f"{name} replaced") > (before.producer_id, before.producer_epoch)
    groups = LeftGroups(talk, name)
    assert groups.told() == told
    assert groups.offset_of_transactions() == COMMITTED_OFFSET


@pytest.mark.parametrize(("release", "version"), CASES)
def test_whoever_comes_next_ends_what_is_open(release, version, tmp_path):
    directory = Directory(tmp_path / "dir", release)
    directory.properties.write_text(directory.properties.read_text() + SETTINGS)
    with broker(release, config=directory.properties, data=directory.data, ends="SIGKILL"):
        talk = talk_to(directory)
        create_topic(talk.ask_frame, "t")
        by_us = leave_open(talk, "ours")
    with kafka(version, directory.properties, directory.ports[0], ends="SIGKILL"):
        talk = talk_to(directory)
        check_ended(talk, "ours", by_us)
        by_kafka = leave_open(talk, "theirs", is_for_us=True)
    with broker(release, config=directory.properties, data=directory.data):
        talk = talk_to(directory)
        check_ended(talk, "theirs", by_kafka)
        assert LeftGroups(talk, "ours").told() == by_us
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
