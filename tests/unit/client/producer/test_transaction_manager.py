"""The life of a transactional producer, request by request: what goes out, in which state, with which epoch."""

import pytest
from producer_stories import BACKOFF_MS, DELIVERY_MS, Producer, name_of, started

from odradek.client.core import GROUP, TRANSACTION, coordinator
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.producer.transaction_manager import SOON_MS
from odradek.client.producer.transaction_states import SOURCES, State, TransactionStateError
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition

OFFSETS = {TopicPartition("in", 0): 5, TopicPartition("in", 3): 6}
MEMBER = ConsumerGroupMetadata("g", 4, "m", "static")
CONCURRENT = errors.ConcurrentTransactions.code


def begun(version=2, *partitions):
    producer = started("tx", version)
    producer.manager.begin()
    batches = [producer.send(each) for each in partitions]
    producer.poll()
    if version == 1 and partitions:
        producer.replies("AddPartitionsToTxn")
    return producer, batches


def answer_produces(producer, error=0):
    while producer.stamps():
        at = [name_of(send.request) for send in producer.sent].index("Produce")
        producer.reply(error, at=at)
        producer.poll()
    producer.poll()


def test_it_finds_its_coordinator_and_gets_its_id():
    producer = Producer("tx")
    producer.manager.initialize()
    producer.poll()
    assert producer.sent[0].request.coordinator_keys == ["tx"]
    producer.reply()
    producer.poll()
    send = producer.sent[0]
    assert send.destination == coordinator(TRANSACTION, "tx", 1)
    assert (send.version, send.request.transactional_id, send.request.producer_id) == (5, "tx", -1)
    assert producer.state is State.INITIALIZING
    producer.reply()
    assert producer.state is State.READY
    assert producer.manager.sequencer.producer == (7, 0)


def test_a_transaction_of_version_2():
    producer, batches = begun(2, 0, 1, 0)
    assert producer.stamps() == [(0, 0, 0), (1, 0, 0)], "nobody adds partitions; the first of each goes alone"
    assert {send.version for send in producer.sent} == {12}
    producer.manager.send_offsets(OFFSETS, MEMBER)
    producer.manager.commit()
    assert producer.poll() == ["FindCoordinator"]
    assert producer.sent[-1].request.key_type == GROUP
    answer_produces(producer)
    producer.replies("FindCoordinator")
    send = producer.sent[0]
    assert send.destination == coordinator(GROUP, "g", 1)
    request = send.request
    assert (request.generation_id, request.member_id, request.group_instance_id) == (4, "m", "static")
    assert [(each.partition_index, each.committed_offset) for each in request.topics[0].partitions] == [(0, 5), (3, 6)]
    producer.replies("TxnOffsetCommit")
    assert producer.state is State.COMMITTING
    send = producer.reply()
    assert (name_of(send.request), send.version, send.request.committed) == ("EndTxn", 5, True)
    assert producer.state is State.READY
    assert all(one.error is None for one in batches)
    producer.manager.begin()
    producer.send()
    producer.poll()
    assert producer.stamps() == [(0, 1, 0)], "the answer has the epoch of the next transaction"


@pytest.mark.parametrize("version", [1, 2])
def test_no_offsets_are_no_part_of_a_transaction(version):
    producer = started("tx", version)
    producer.manager.begin()
    producer.manager.send_offsets({}, MEMBER)
    assert producer.poll() == []
    producer.manager.commit()
    assert producer.poll() == []
    assert producer.state is State.READY, "there was nothing to end"


@pytest.mark.contract("A71")
def test_a_transaction_of_version_1():
    producer = started("tx", 1)
    producer.manager.begin()
    for partition in (0, 1, 0):
        producer.send(partition)
    assert producer.poll() == ["AddPartitionsToTxn"], "and no record before it is answered"
    topics = producer.sent[0].request.v3_and_below_topics
    assert (topics[0].name, topics[0].partitions) == ("t", [0, 1])
    producer.send(1)
    assert producer.poll() == [], "it is being added"
    producer.reply()
    producer.poll()
    assert producer.stamps() == [(0, 0, 0), (1, 0, 0)], "the first of each goes alone"
    assert {send.version for send in producer.sent} == {11}
    producer.manager.send_offsets(OFFSETS, MEMBER)
    producer.manager.commit()
    producer.poll()
    answer_produces(producer)
    producer.replies("AddOffsetsToTxn", "FindCoordinator")
    assert (name_of(producer.sent[0].request), producer.sent[0].version) == ("TxnOffsetCommit", 4)
    producer.replies("TxnOffsetCommit")
    assert producer.reply().version == 4
    assert producer.state is State.READY
    producer.manager.begin()
    producer.send()
    producer.replies("AddPartitionsToTxn")
    assert producer.stamps() == [(0, 0, 2)], "the same epoch, and the next number"


@pytest.mark.parametrize("version", [1, 2])
def test_the_end_waits_for_the_batches(version):
    producer, _ = begun(version, 0)
    producer.manager.commit()
    assert producer.poll() == []
    assert producer.manager.deadline() is None
    producer.reply(errors.NotLeaderOrFollower.code)
    assert producer.pass_ms(BACKOFF_MS) == ["Produce"]
    producer.reply()
    assert producer.poll() == ["EndTxn"]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("is_commit", [True, False])
def test_an_empty_transaction_asks_nobody(version, is_commit):
    producer, _ = begun(version)
    producer.manager.commit() if is_commit else producer.manager.abort()
    assert producer.poll() == []
    assert producer.state is State.READY


@pytest.mark.parametrize("version", [1, 2])
def test_an_abort_sends_nothing_more_and_waits_for_what_is_out(version):
    producer, batches = begun(version, 0)
    waiting = producer.send(0)
    for _ in range(5):
        producer.send(0)
    producer.poll()
    producer.manager.abort()
    assert producer.poll() == []
    answer_produces(producer)
    assert name_of(producer.sent[0].request) == "EndTxn"
    assert not producer.sent[0].request.committed
    assert batches[0].error is None and waiting.is_done
    producer.reply()
    while producer.poll():
        producer.reply()
    assert producer.state is State.READY


def test_what_an_abort_left_behind_unknown_costs_version_1_an_epoch():
    producer, batches = begun(1, 0)
    producer.manager.abort()
    producer.lose()
    assert batches[0].may_be_stored and batches[0].is_done, "it does not go again"
    producer.replies("EndTxn")
    assert producer.state is State.INITIALIZING
    send = producer.reply()
    assert (send.request.producer_id, send.request.producer_epoch) == (7, 0), "the coordinator can tell who asks"
    assert producer.manager.sequencer.producer == (7, 1)


def test_an_answer_that_is_lost_is_asked_for_again_from_whoever_coordinates_now():
    producer, _ = begun(2, 0)
    producer.manager.commit()
    answer_produces(producer)
    first = producer.lose()
    assert producer.poll() == []
    assert producer.pass_ms(BACKOFF_MS) == ["FindCoordinator"]
    producer.replies("FindCoordinator")
    assert producer.sent[0].request == first.request, "the same epoch: that is how a repetition is known"
    producer.reply()
    assert producer.state is State.READY


def test_the_next_transaction_waits_a_moment_for_the_markers_of_the_last():
    producer, _ = begun(1)
    producer.send()
    producer.poll()
    producer.reply(CONCURRENT)
    assert producer.sender.deadline() == producer.now_ms + SOON_MS
    assert producer.pass_ms(SOON_MS) == ["AddPartitionsToTxn"]


def test_a_batch_of_the_next_transaction_of_version_2_tries_again():
    producer, batches = begun(2, 0)
    producer.reply(CONCURRENT)
    assert producer.pass_ms(BACKOFF_MS) == ["Produce"]
    producer.reply()
    assert batches[0].error is None and producer.state is State.IN_TRANSACTION


# Errors of batches


@pytest.mark.contract("A69", "A150")
@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidProducerEpoch,
        errors.InvalidTxnState,
        errors.MessageTooLarge,
        errors.OutOfOrderSequenceNumber,
        errors.TransactionAbortable,
        errors.UnknownProducerId,
        errors.TopicAuthorizationFailed,
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_refused_batch_can_only_be_followed_by_an_abort(version, error):
    producer, _ = begun(version, 0, 1)
    producer.reply(error.code)
    assert producer.state is State.ABORTABLE_ERROR
    assert isinstance(producer.manager.error, error)
    with pytest.raises(TransactionStateError):
        producer.manager.commit()
    with pytest.raises(TransactionStateError):
        producer.send()
    producer.manager.abort()
    answer_produces(producer)
    assert not producer.reply().request.committed
    if version == 1:
        assert producer.poll() == ["InitProducerId"], "another epoch before the next transaction"
        producer.reply()
    assert producer.state is State.READY
    assert producer.manager.sequencer.producer == (7, 1)


@pytest.mark.parametrize("error", [errors.ProducerFenced, errors.TransactionalIdAuthorizationFailed])
def test_some_errors_of_batches_are_the_end(error):
    producer, batches = begun(2, 0, 1)
    producer.reply(error.code)
    producer.poll()
    assert producer.state is State.FATAL_ERROR
    assert isinstance(batches[0].error, error)
    with pytest.raises(TransactionStateError):
        producer.manager.abort()


def test_the_records_that_retention_took_are_no_reason_to_abort():
    """Nothing of the producer is left in the partition: its numbers begin again."""
    producer, _ = begun(2, 0)
    answer_produces(producer)
    one = producer.send()
    producer.poll()
    producer.reply(errors.UnknownProducerId.code, log_start_offset=1)
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(0, 0, 0)]
    producer.reply()
    assert one.error is None and producer.state is State.IN_TRANSACTION


def test_a_batch_that_is_given_up_fails_its_commit():
    producer, batches = begun(2, 0)
    producer.manager.commit()
    producer.poll()
    producer.pass_ms(DELIVERY_MS)
    assert producer.state is State.ABORTABLE_ERROR
    assert isinstance(batches[0].error, errors.RequestTimedOut)
    producer.manager.abort()
    assert producer.poll() == ["EndTxn"]
    assert not producer.sent[-1].request.committed, "the commit was never asked for"


# What is left for somebody else to end


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_prepared_says_all_that_its_end_needs(version):
    producer, _ = begun(version, 0)
    answer_produces(producer)
    assert producer.manager.prepare() == ("tx", 7, 0, version, False)
    assert producer.poll() == [] and producer.state is State.PREPARED


def test_a_transaction_that_nobody_has_heard_of_is_prepared_as_empty():
    producer, _ = begun(2)
    assert producer.manager.prepare().is_empty
    producer.manager.commit()
    assert producer.poll() == [] and producer.state is State.READY


def test_nothing_goes_into_what_is_prepared():
    producer, _ = begun(2, 0)
    answer_produces(producer)
    producer.manager.prepare()
    assert not producer.manager.may_send_to(TopicPartition("t", 0))
    producer.manager.batch_failed(errors.RequestTimedOut())
    assert producer.state is State.PREPARED, "a record that came late is no part of it"


@pytest.mark.parametrize("version", [1, 2])
def test_after_what_was_prepared_it_begins_as_a_new_producer(version):
    producer, _ = begun(version, 0)
    answer_produces(producer)
    producer.manager.prepare()
    producer.manager.initialize()
    producer.poll()
    assert (producer.sent[0].request.producer_id, producer.sent[0].request.producer_epoch) == (-1, -1)
    producer.reply(producer_epoch=5)
    producer.manager.begin()
    assert producer.manager.prepare() == ("tx", 7, 5, version, True), "the partitions before are forgotten"


def test_who_has_prepared_a_transaction_may_end_it():
    producer, _ = begun(2, 0)
    answer_produces(producer)
    producer.manager.prepare()
    producer.manager.commit()
    producer.replies("EndTxn")
    assert producer.state is State.READY


# What it does not do


@pytest.mark.contract("A147", "A149")
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize(
    "ask, needs",
    [
        (
            lambda manager: manager.initialize(),
            {State.UNINITIALIZED, State.PREPARED, State.COMMITTING, State.ABORTING},
        ),
        (lambda manager: manager.begin(), {State.READY}),
        (lambda manager: manager.prepare(), {State.IN_TRANSACTION}),
        (lambda manager: manager.commit(), {State.IN_TRANSACTION, State.PREPARED}),
        (lambda manager: manager.abort(), {State.IN_TRANSACTION, State.PREPARED, State.ABORTABLE_ERROR}),
        (lambda manager: manager.send_offsets(OFFSETS, MEMBER), {State.IN_TRANSACTION}),
        (lambda manager: manager.want_partition(TopicPartition("t", 0)), {State.IN_TRANSACTION}),
    ],
    ids=["initialize", "begin", "prepare", "commit", "abort", "send_offsets", "want_partition"],
)
def test_what_a_state_does_not_allow_is_refused_and_changes_nothing(ask, needs, state):
    producer = started("tx")
    producer.manager.state = state
    if state in needs:
        ask(producer.manager)
    else:
        with pytest.raises(TransactionStateError, match=state.value):
            ask(producer.manager)
        assert producer.state is state and not producer.manager.has_asks


def test_every_state_can_be_reached_and_only_the_last_one_is_a_trap():
    assert set(SOURCES) == set(State)
    left = {source for state, sources in SOURCES.items() if state is not State.FATAL_ERROR for source in sources}
    assert left == set(State) - {State.FATAL_ERROR}


def test_an_answer_of_a_request_that_is_no_longer_waited_for_is_ignored():
    producer = started("tx")
    producer.manager.begin()
    producer.send()
    producer.poll()
    token = object()
    producer.manager.answered(token, None, producer.now_ms)
    producer.manager.failed(token, producer.now_ms)
    assert producer.state is State.IN_TRANSACTION
