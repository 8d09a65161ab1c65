"""Transactions that are open, end, or are ended by an admin."""

import re

import pytest
from admin_kit import kinds, until

from odradek import TopicPartition, errors
from odradek.client.admin.transactions import AbortTransactionSpec
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from transaction_conversation import TOPIC, Conversation
from wire_replay import SocketTarget

PLACE = TopicPartition(TOPIC, 0)
NODE = 1


@pytest.fixture(scope="module")
def talk(broker, admin):
    """A producer's side of the story."""
    admin.create_topic(TOPIC, partitions=2)
    return Conversation(SocketTarget(broker.host, broker.port).ask, "4.3")


@pytest.fixture
def open_transaction(talk, request):
    """A transactional id whose producer has written one record, and nothing since."""
    transactional_id = re.sub(r"\W", "-", request.node.name)
    talk.find(transactional_id)
    producer = talk.init(transactional_id)
    talk.add(transactional_id, producer)
    talk.produce(transactional_id, producer)
    yield transactional_id, producer
    talk.end(transactional_id, producer, is_commit=False)


def of(admin, producer):
    """What the leader of the partition remembers of a producer."""
    (found,) = (each for each in admin.describe_producers([PLACE])[PLACE] if each.producer_id == producer[0])
    return found


def test_an_open_transaction_is_described(admin, open_transaction):
    transactional_id, producer = open_transaction
    found = admin.describe_transactions([transactional_id])[transactional_id]
    assert (found.state, found.coordinator) == ("Ongoing", NODE)
    assert (found.producer_id, found.producer_epoch) == producer
    assert found.partitions == {PLACE}
    assert found.timeout_ms == 60_000
    assert found.start_time_ms > 1_700_000_000_000


def test_a_transactional_id_without_a_transaction_has_no_start(admin, talk):
    talk.find("idle")
    talk.init("idle")
    found = admin.describe_transactions(["idle"])["idle"]
    assert (found.state, found.start_time_ms, found.partitions) == ("Empty", None, frozenset())


def test_each_transactional_id_has_an_outcome_of_its_own(admin, open_transaction):
    transactional_id, _ = open_transaction
    found = admin.describe_transactions([transactional_id, "unheard-of"])
    assert kinds(found) == {"unheard-of": errors.TransactionalIdNotFound}
    assert found[transactional_id].state == "Ongoing"


def test_listed_are_those_that_every_filter_lets_through(admin, talk, open_transaction):
    transactional_id, producer = open_transaction
    talk.find("other")
    other = talk.init("other")
    everything = admin.list_transactions()
    assert everything[transactional_id] == (transactional_id, producer[0], "Ongoing")
    assert everything["other"] == ("other", other[0], "Empty")
    assert set(admin.list_transactions(states=["Ongoing"])) == {transactional_id}
    assert set(admin.list_transactions(producer_ids=[other[0]])) == {"other"}
    assert set(admin.list_transactions(transactional_id_pattern="oth.*")) == {"other"}
    assert transactional_id not in admin.list_transactions(duration_ms=600_000)
    until(lambda: transactional_id in admin.list_transactions(duration_ms=0))


def test_a_pattern_that_is_none(admin, talk):
    with pytest.raises(errors.InvalidRegularExpression):
        admin.list_transactions(transactional_id_pattern="(")


def test_the_producers_of_a_partition(admin, open_transaction):
    _, producer = open_transaction
    found = of(admin, producer)
    assert (found.producer_id, found.producer_epoch) == producer
    assert (found.last_sequence, found.coordinator_epoch) == (0, None)
    assert found.transaction_start_offset is not None
    here = admin.describe_producers([PLACE], broker_id=NODE)[PLACE]
    assert found in here


def test_a_partition_that_is_not_there_has_no_producers(admin, talk):
    missing = TopicPartition(TOPIC, 9)
    found = admin.describe_producers([TopicPartition(TOPIC, 1), missing])
    assert found[TopicPartition(TOPIC, 1)] == ()
    assert kinds(found) == {missing: errors.UnknownTopicOrPartition}
    assert kinds(admin.describe_producers([missing], broker_id=NODE)) == {missing: errors.UnknownTopicOrPartition}


def aborted(talk, offset):
    """The producers of whom a reader of committed transactions is told, at an offset, to skip something."""
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
    request = FetchRequest(
        max_bytes=1_000_000, isolation_level=1, topics=[FetchTopic(topic=TOPIC, partitions=[partition])]
    )
    (found,) = talk.ask(request, 12).responses[0].partitions
    return {each.producer_id for each in found.aborted_transactions or ()}


def test_a_transaction_that_hangs_is_aborted_in_its_partition(admin, talk, open_transaction):
    _, producer = open_transaction
    start_offset = of(admin, producer).transaction_start_offset
    assert start_offset is not None
    assert admin.abort_transaction(AbortTransactionSpec(PLACE, *producer, coordinator_epoch=0)) is None
    assert of(admin, producer).transaction_start_offset is None
    assert of(admin, producer).coordinator_epoch == 0
    assert aborted(talk, start_offset) == {producer[0]}


def test_an_older_epoch_aborts_nothing(admin, open_transaction):
    _, (producer_id, epoch) = open_transaction
    with pytest.raises(errors.InvalidProducerEpoch):
        admin.abort_transaction(AbortTransactionSpec(PLACE, producer_id, epoch - 1, 0))
    assert of(admin, (producer_id, epoch)).transaction_start_offset is not None


def test_a_fenced_producer_has_no_transaction_and_writes_no_more(admin, talk, open_transaction):
    transactional_id, producer = open_transaction
    fenced = admin.fence_producers([transactional_id, "new-one"])
    assert fenced["new-one"].producer_epoch == 0
    assert fenced[transactional_id].producer_epoch > producer[1]
    until(lambda: of(admin, producer).transaction_start_offset is None)
    assert admin.describe_transactions([transactional_id])[transactional_id].state == "Empty"
    talk.produce(transactional_id, producer, sequence=1)
    assert talk.said[-1].split(" -> ")[1].startswith(str(errors.InvalidProducerEpoch.code))


@pytest.mark.parametrize(("timeout", "timeout_ms"), [(None, 30_000), (7, 7_000)])
def test_who_fences_says_how_long_a_transaction_may_take(admin, talk, timeout, timeout_ms):
    admin.fence_producers(["timed"], timeout=timeout).raise_any()
    assert admin.describe_transactions(["timed"])["timed"].timeout_ms == timeout_ms


def test_a_transactional_id_that_cannot_be(admin, talk):
    fenced = admin.fence_producers(["", "good"])
    assert kinds(fenced) == {"": errors.InvalidRequest}
    assert fenced["good"].producer_epoch >= 0


def test_a_transaction_is_ended_by_force(admin, open_transaction):
    transactional_id, producer = open_transaction
    assert admin.force_terminate_transaction(transactional_id) is None
    until(lambda: of(admin, producer).transaction_start_offset is None)
    assert admin.list_transactions(states=["Ongoing"]) == {}
    with pytest.raises(errors.InvalidRequest):
        admin.force_terminate_transaction("")
