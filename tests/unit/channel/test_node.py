"""A broker has further connections under other numbers; people are told its own."""

import pytest

from odradek.channel.node import Node, broker_number, coordinator_connection, fetch_connection


@pytest.mark.parametrize("number", [0, 1, 1001, 500_000_000])
@pytest.mark.parametrize("connection", [coordinator_connection, fetch_connection])
def test_every_connection_is_told_by_the_brokers_own_number(connection, number):
    node = Node(number, "here", 9092, "r1")
    other = connection(node)
    assert other.id != number and other[1:] == node[1:]
    assert broker_number(other.id) == broker_number(number) == number
    assert str(other) == str(node) == f"node {number} at here:9092 (rack r1)"


def test_the_numbers_are_apart():
    node = Node(7, "here", 9092)
    assert len({node.id, coordinator_connection(node).id, fetch_connection(node).id}) == 3
    assert coordinator_connection(node).id == 2**31 - 1 - 7, "as Kafka's consumer has it"


def test_an_address_that_is_not_a_broker_yet_keeps_its_number():
    assert str(Node(-2, "here", 9092)) == "node -2 at here:9092"
