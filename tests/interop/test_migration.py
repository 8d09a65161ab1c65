"""A group goes from the classic to the consumer protocol and back while it reads, with members of two real clients.

A classic member has everything; one of the consumer protocol joins, and is alone when the first leaves; a classic one
joins again, and goes on by itself, in the classic protocol, after the other was killed.
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import clients
import pytest
from fetching import Unavailable
from group_stories import FIRST, SECOND, THIRD, GroupStory, Telling
from member_process import MemberProcess
from test_members import arguments

from broker_process import BrokerProcess
from odradek.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from odradek.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from told import Told

# The classic client, its assignor, and the client of the consumer protocol.
PAIRS = [
    ("java-3.3.2", "range", "java-4.3.0"),
    ("kafka-python", "roundrobin", "confluent-kafka"),
    ("aiokafka", "sticky", "java-4.3.0"),
    ("java-4.3.0", "cooperative-sticky", "confluent-kafka"),
    ("confluent-kafka", "cooperative-sticky", "java-4.3.0"),
]
CLASSIC, CONSUMER = 0, 1  # types of members
SECONDS_MAX = 1800  # longer than all of them together may take: it is for what nobody ends


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    """By pair: why it failed, or None; to come."""
    with BrokerProcess(*arguments("4.3")) as broker, ThreadPoolExecutor(len(PAIRS)) as playing:
        yield {pair: playing.submit(_play, pair, broker.address, tmp_path_factory.mktemp("pair")) for pair in PAIRS}
        playing.shutdown()
        assert broker.stop() == (0, "")


def _play(pair, address, directory):
    classic, assignor, consumer = pair
    with contextlib.ExitStack() as running:
        told = running.enter_context(contextlib.closing(Told(*address)))
        old, new = (running.enter_context(_process(name, address, directory)) for name in (classic, consumer))
        story = GroupStory(f"{classic}-{consumer}", told, {"assignor": assignor})
        return _migrate(story, told, old, new)


def _process(client, address, directory):
    own = directory / client
    own.mkdir()
    return MemberProcess(clients.members_command(client), "{}:{}".format(*address), own / "log")


def _migrate(story, told, old, new):
    step = Telling([story])
    step(lambda story: story.join(FIRST, old), GroupStory.has_all)
    step(
        lambda story: story.join(SECOND, new, protocol="consumer", assignor="uniform"),
        lambda story: story.is_shared(SECOND) and _types(told, story) == [CLASSIC, CONSUMER],
    )
    step(lambda story: story.leave(FIRST), lambda story: story.has_all(SECOND))
    step(lambda story: story.join(THIRD, old), lambda story: story.is_shared(SECOND, THIRD))
    new.kill()
    step(lambda story: None, lambda story: story.has_all(THIRD) and _is_classic(told, story))
    step(GroupStory.write_more, GroupStory.is_read_and_committed)
    return step.failures.get(story.name)


def _types(told, story):
    group = told.ask(ConsumerGroupDescribeRequest(group_ids=[story.name]), 1).groups[0]
    return sorted(member.member_type for member in group.members)


def _is_classic(told, story):
    group = told.ask(DescribeGroupsRequest(groups=[story.name]), 6).groups[0]
    return (group.error_code, group.group_state, len(group.members)) == (0, "Stable", 1)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(pair))
def test_there_and_back_again(migrated, pair):
    try:
        failure = migrated[pair].result(SECONDS_MAX)
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    assert failure is None, failure
