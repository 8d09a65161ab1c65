"""DescribeTopicPartitions: pages, cursors, and what is wrong with them. The expected answers are a 4.3.0's."""

import pytest

from handler_kit import Handlers, broker, topic
from odradek.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)

ONE = ([1], 1)


@pytest.fixture(scope="module")
def handlers():
    return Handlers(broker(), *topic("a3", ONE, ONE, ONE), *topic("auto1", ONE), *topic("b3", ONE, ONE, ONE))


def page(handlers, names, limit=2000, cursor=None):
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor and Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    response = handlers.ask(request, 0)
    topics = [
        (topic.error_code, topic.name, [partition.partition_index for partition in topic.partitions])
        for topic in response.topics
    ]
    after = response.next_cursor
    return topics, after and (after.topic_name, after.partition_index)


ALL = [(0, "a3", [0, 1, 2]), (0, "auto1", [0]), (0, "b3", [0, 1, 2])]


@pytest.mark.parametrize(
    ("names", "limit", "cursor", "topics", "after"),
    [
        ([], 2000, None, ALL, None),
        ([], 2, None, [(0, "a3", [0, 1])], ("a3", 2)),
        (["a3"], 0, None, [(0, "a3", [0])], ("a3", 1)),
        (["a3"], -1, None, [(0, "a3", [0])], ("a3", 1)),
        (["a3", "b3"], 3, None, [(0, "a3", [0, 1, 2])], ("b3", 0)),
        ([], 2, ("a3", 2), [(0, "a3", [2]), (0, "auto1", [0])], ("b3", 0)),
        ([], 9, ("aa", 2), ALL[1:], None),
        (["a3", "b3"], 2, ("aa", 2), [(42, "a3", []), (42, "b3", [])], None),
        (["a3", "b3"], 5, ("a3", 9), [(0, "a3", []), (0, "b3", [0, 1, 2])], None),
        (["a3", "b3"], 5, ("a3", -1), [(42, "a3", []), (42, "b3", [])], None),
        (
            ["b3", "a3", "b3", "zz", "bad name"],
            2000,
            None,
            [(0, "a3", [0, 1, 2]), (0, "b3", [0, 1, 2]), (17, "bad name", []), (3, "zz", [])],
            None,
        ),
        (["a3", "aa", "b3"], 3, None, [(0, "a3", [0, 1, 2])], ("aa", 0)),
    ],
)
def test_pages(handlers, names, limit, cursor, topics, after):
    assert page(handlers, names, limit, cursor) == (topics, after)


def test_pages_add_up_to_everything(handlers):
    seen, cursor = [], None
    while True:
        topics, cursor = page(handlers, [], 2, cursor)
        seen += [(name, index) for _, name, indexes in topics for index in indexes]
        if cursor is None:
            break
    assert seen == [(name, index) for _, name, indexes in ALL for index in indexes]


def test_the_broker_limits_a_page():
    handlers = Handlers(broker(), *topic("t", ONE, ONE, ONE), static={"max.request.partition.size.limit": "2"})
    assert page(handlers, ["t"]) == ([(0, "t", [0, 1])], ("t", 2))


def test_operations_are_told_even_of_what_is_not_there(handlers):
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="nope"), TopicRequest(name="a3")])
    response = handlers.ask(request, 0)
    assert [topic.topic_authorized_operations for topic in response.topics] == [3576, 3576]
    partition = response.topics[0].partitions[0]
    assert (partition.leader_epoch, partition.eligible_leader_replicas, partition.last_known_elr) == (3, [], [])
