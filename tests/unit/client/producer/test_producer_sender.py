"""An idempotent producer: numbers, retries in order, gaps, epochs. What broker and network do is told by hand."""

import pytest
from producer_stories import BACKOFF_MS, DELIVERY_MS, Producer, known, started

from odradek.client.core import ANY_BROKER, leader
from odradek.client.producer.transaction_states import State
from odradek.protocol import errors

NOT_LEADER = errors.NotLeaderOrFollower.code
OUT_OF_ORDER = errors.OutOfOrderSequenceNumber.code
TOO_LARGE = errors.MessageTooLarge.code


@pytest.mark.contract("A22")
def test_it_fetches_its_id_from_any_broker_and_then_sends():
    producer = Producer()
    one = producer.send()
    assert producer.poll() == ["InitProducerId"]
    assert producer.sent[0].destination == ANY_BROKER
    assert producer.sent[0].request.transactional_id is None
    producer.reply()
    assert producer.poll() == ["Produce"]
    assert producer.sent[0].destination == leader("t", 0)
    assert producer.sent[0].request.acks == -1
    producer.reply(base_offset=9)
    assert (one.is_done, one.offset, one.error) == (True, 9, None)
    assert producer.sender.deadline() is None


@pytest.mark.contract("A123")
def test_five_batches_of_a_partition_are_in_flight_at_most():
    producer = known()
    for _ in range(7):
        producer.send(0)
    producer.send(1)
    producer.poll()
    assert sorted(producer.stamps()) == [(0, 0, sequence) for sequence in range(1, 6)] + [(1, 0, 0)]
    assert len(producer.sent) == 6
    producer.reply()
    producer.poll()
    assert producer.stamps()[-1] == (0, 0, 6)


@pytest.mark.contract("A132")
def test_what_has_no_answer_goes_again_one_by_one_in_its_order():
    producer = known()
    batches = [producer.send() for _ in range(3)]
    producer.poll()
    for _ in batches:
        producer.lose()
    producer.send(value=b"new")
    assert producer.poll() == [], "not before the backoff is over"
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(0, 0, 1)], "the others wait for the first one"
    producer.reply()
    producer.poll()
    assert producer.stamps() == [(0, 0, 2)]
    producer.reply()
    producer.poll()
    assert producer.stamps() == [(0, 0, 3), (0, 0, 4)], "behind the last of them the new one"
    producer.reply()
    assert all(one.is_done and one.error is None for one in batches)


def test_retries_stay_in_order_when_the_answers_come_in_another():
    producer = known()
    for _ in range(3):
        producer.send()
    producer.poll()
    producer.reply(OUT_OF_ORDER, at=2)
    producer.reply(OUT_OF_ORDER, at=1)
    producer.reply(NOT_LEADER, at=0)
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(0, 0, 1)]
    assert producer.manager.sequencer.producer.epoch == 0, "only one before them was missing"


def test_an_answer_that_comes_when_the_batch_was_given_up_changes_nothing():
    producer = started()
    one = producer.send()
    producer.poll()
    token = producer.sent[0].token
    producer.pass_ms(DELIVERY_MS)
    assert one.is_done and isinstance(one.error, errors.RequestTimedOut) and one.may_be_stored
    producer.reply()
    assert isinstance(one.error, errors.RequestTimedOut)
    producer.sender.failed(token, producer.now_ms)
    assert producer.poll() == []


def test_a_duplicate_is_a_success():
    producer = started()
    one = producer.send()
    producer.poll()
    producer.reply(errors.DuplicateSequenceNumber.code, base_offset=-1)
    assert one.is_done and one.error is None and one.offset == -1


# Gaps


def test_a_gap_that_nothing_can_fill_begins_another_epoch():
    """The broker has lost its end: the first one in flight is out of order."""
    producer = started()
    producer.send()
    producer.poll()
    producer.reply()
    batches = [producer.send() for _ in range(2)]
    producer.poll()
    assert producer.stamps() == [(0, 0, 1), (0, 0, 2)]
    producer.reply(OUT_OF_ORDER)
    producer.reply(OUT_OF_ORDER)
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(0, 1, 0)]
    producer.reply()
    producer.poll()
    assert producer.stamps() == [(0, 1, 1)]
    producer.reply()
    assert all(one.error is None for one in batches)
    producer.send(1)
    producer.poll()
    assert producer.stamps() == [(1, 1, 0)], "an epoch is the producer's, not the partition's"


def test_another_partition_goes_on_in_its_old_epoch_until_it_has_nothing_in_flight():
    producer = started()
    producer.send(0)
    producer.send(1)
    producer.poll()
    producer.reply(OUT_OF_ORDER)
    producer.send(1)
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(1, 0, 0), (0, 1, 0)]
    producer.reply()
    producer.poll()
    assert producer.stamps() == [(0, 1, 0), (1, 1, 0)]


def test_a_refused_batch_leaves_a_gap_and_those_behind_it_get_new_numbers():
    producer = known()
    refused, behind = producer.send(), producer.send()
    producer.poll()
    producer.reply(TOO_LARGE)
    assert isinstance(refused.error, errors.MessageTooLarge) and not refused.may_be_stored
    producer.poll()
    producer.reply(OUT_OF_ORDER)  # to the old number
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(0, 1, 0)]
    producer.reply()
    assert behind.error is None


@pytest.mark.parametrize("error", [errors.InvalidProducerEpoch, errors.UnknownServerError, errors.CorruptMessage])
def test_after_any_refusal_no_number_is_used_twice(error):
    producer = known()
    producer.send()
    producer.poll()
    producer.reply(error.code)
    producer.send()
    if error.retriable:
        producer.pass_ms(BACKOFF_MS)
        assert producer.stamps() == [(0, 0, 1), (0, 0, 2)]
    else:
        producer.poll()
        assert producer.stamps() == [(0, 1, 0)]


def test_what_was_given_up_stops_the_partition_until_it_is_known_whether_it_was_stored():
    producer = known()
    gone, behind = producer.send(), None
    producer.poll()
    producer.pass_ms(DELIVERY_MS - 1)
    behind = producer.send()
    producer.poll()
    producer.pass_ms(1)
    assert gone.is_done and not behind.is_done
    producer.send()
    assert producer.poll() == [], "nobody knows which number is next"
    producer.reply(at=1)  # the one behind was taken: then the first one was, too
    producer.poll()
    assert behind.error is None
    assert producer.stamps()[-1] == (0, 0, 3)


def test_a_gap_behind_what_was_given_up_is_closed_by_an_epoch():
    producer = known()
    producer.send()
    producer.poll()
    producer.pass_ms(DELIVERY_MS - 1)
    behind = producer.send()
    producer.poll()
    producer.pass_ms(1)
    producer.reply(OUT_OF_ORDER, at=1)
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps()[-1] == (0, 1, 0)
    producer.reply(at=1)
    assert behind.error is None


def test_a_batch_that_was_given_up_unseen_by_anybody_leaves_no_gap():
    producer = Producer()
    one = producer.send()
    producer.poll()
    producer.pass_ms(DELIVERY_MS)
    assert isinstance(one.error, errors.RequestTimedOut) and not one.may_be_stored
    producer.reply()
    producer.send()
    producer.poll()
    assert producer.stamps() == [(0, 0, 0)]


def test_an_acknowledgement_of_an_old_number_does_not_count_for_a_new_one():
    producer = known()
    producer.send()
    behind, last = producer.send(), producer.send()
    producer.poll()
    producer.reply(TOO_LARGE)
    producer.poll()  # numbered anew
    producer.reply()  # yet it was taken with its old number
    assert behind.error is None and behind.is_done
    producer.reply(OUT_OF_ORDER)
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(0, 2, 0)]
    assert not last.is_done


def test_a_producer_that_the_partition_has_forgotten_begins_another_epoch():
    producer = started()
    producer.send()
    producer.poll()
    producer.reply()
    producer.send()
    producer.poll()
    producer.reply(errors.UnknownProducerId.code, log_start_offset=5)
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(0, 1, 0)]


def test_after_the_last_epoch_comes_another_id():
    producer = Producer()
    producer.poll()
    producer.reply(producer_epoch=2**15 - 1)
    one = producer.send()
    producer.poll()
    producer.reply(OUT_OF_ORDER)
    assert producer.poll() == ["InitProducerId"]
    assert producer.sent[0].request.producer_id == -1
    producer.reply(producer_id=8)
    producer.pass_ms(BACKOFF_MS)
    assert producer.stamps() == [(0, 0, 0)]
    assert one.batch.producer == (8, 0)


def test_without_a_right_to_an_id_everything_is_over():
    producer = Producer()
    one = producer.send()
    producer.poll()
    producer.reply(errors.ClusterAuthorizationFailed.code)
    producer.poll()
    assert producer.state is State.FATAL_ERROR
    assert isinstance(one.error, errors.ClusterAuthorizationFailed)


@pytest.mark.contract("A130")
def test_it_looks_again_when_the_oldest_batch_expires_at_the_latest():
    producer = started()
    sent_ms = producer.now_ms
    producer.send()
    producer.poll()
    producer.pass_ms(BACKOFF_MS)
    producer.send(1)
    producer.poll()
    assert producer.sender.deadline() == sent_ms + DELIVERY_MS


@pytest.mark.contract("A132")
def test_the_backoff_grows_and_has_a_limit():
    producer = started()
    producer.send()
    waits = []
    producer.poll()
    for _ in range(6):
        producer.reply(NOT_LEADER)
        waits.append(producer.sender.deadline() - producer.now_ms)
        producer.wait()
    assert waits == [100, 200, 400, 800, 1000, 1000]
