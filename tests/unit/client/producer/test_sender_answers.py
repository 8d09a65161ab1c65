"""What an answer, a lost one, or none at all does to the batches of a request."""

import pytest
from sender_stories import BACKOFF_MS, DELIVERY_MS, LARGE, Sending, contents, outcome

from accumulator_kit import records_of
from odradek.client.producer.errors import ClosedBeforeSent, DeliveryTimeout
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceResponse,
)

NOT_LEADER = errors.NotLeaderOrFollower.code
OUT_OF_ORDER = errors.OutOfOrderSequenceNumber.code
DUPLICATE = errors.DuplicateSequenceNumber.code
TOO_LARGE = errors.MessageTooLarge.code
INVALID = errors.InvalidRecord.code
REQUEST_VERSION = 9


@pytest.mark.contract("A126", "A128")
@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_acks_and_the_time_for_the_broker_stand_in_the_request_once(acks):
    sending = Sending([1, 1], acks=acks, request_timeout_ms=777)
    for partition in range(2):
        sending.put(b"v", partition=partition)
    message = decoded(sending.drain())
    assert (message.acks, message.timeout_ms, message.transactional_id) == (acks, 777, None)
    assert [(topic.name, len(topic.partition_data)) for topic in message.topic_data] == [("t", 2)]


def decoded(request):
    data = b"".join(bytes(part) for part in request.encode(REQUEST_VERSION))
    return ProduceRequest.decode(data, REQUEST_VERSION)


@pytest.mark.contract("A128")
def test_without_acks_a_record_is_done_when_it_has_gone_out_and_has_no_offset():
    sending = Sending(acks=0)
    future = sending.put(b"v")
    request = sending.drain()
    assert outcome(future) is None
    sending.sender.answered(request, None, sending.now_ms)
    assert outcome(future) == -1
    assert not sending.sender.incomplete


@pytest.mark.contract("A131", "A99")
def test_each_partition_of_an_answer_has_an_outcome_of_its_own():
    sending = Sending([1, 1, 1])
    futures = [sending.put(b"v", partition=partition) for partition in range(3)]
    sending.drain()
    sending.reply(only={1: INVALID, 2: NOT_LEADER})
    assert outcome(futures[0]) == 0
    assert isinstance(outcome(futures[1]), errors.InvalidRecord)
    assert outcome(futures[2]) is None, "it goes again"


@pytest.mark.contract("A131")
def test_a_partition_that_the_answer_forgets_is_an_error():
    sending = Sending([1, 1])
    first, second = (sending.put(b"v", partition=partition) for partition in range(2))
    request = sending.drain()
    told = PartitionProduceResponse(index=0, base_offset=4)
    sending.answer(request, [TopicProduceResponse(name="t", partition_responses=[told])])
    assert outcome(first) == 4
    assert "does not mention the partition" in outcome(second).message


# Retries


@pytest.mark.contract("A132", "A17")
@pytest.mark.parametrize(
    "error", [errors.NotLeaderOrFollower, errors.NotEnoughReplicas, errors.RequestTimedOut, errors.CorruptMessage]
)
def test_what_may_pass_goes_again_after_a_pause_that_grows(error):
    sending = Sending()
    future = sending.put(b"v")
    for pause_ms in (BACKOFF_MS, 2 * BACKOFF_MS, 4 * BACKOFF_MS):
        assert sending.drained() == [(0, b"v")]
        sending.reply(error.code)
        sending.pass_ms(pause_ms - 1)
        assert sending.drain() is None
        sending.pass_ms(1)
    sending.drain()
    sending.reply()
    assert outcome(future) == 0
    assert sending.sender.counts.record_retries == 3


@pytest.mark.contract("A132")
@pytest.mark.parametrize("error", [errors.TopicAuthorizationFailed, errors.InvalidRequiredAcks, errors.InvalidRecord])
def test_what_will_not_pass_is_the_outcome_at_once(error):
    sending = Sending()
    future = sending.put(b"v")
    sending.drain()
    sending.reply(error.code)
    assert isinstance(outcome(future), error)
    assert (sending.nodes(), dict(sending.sender.incomplete)) == ([], {})


@pytest.mark.contract("A113")
def test_what_goes_again_does_not_linger_again():
    sending = Sending(linger_ms=1000)
    sending.put(b"v")
    sending.sender.hurries += 1
    sending.drain()
    sending.sender.hurries -= 1
    sending.reply(NOT_LEADER)
    sending.pass_ms(BACKOFF_MS)
    assert sending.drained() == [(0, b"v")]


@pytest.mark.contract("A21")
def test_retries_are_counted():
    sending = Sending(retries=2)
    future = sending.put(b"v")
    for _ in range(3):
        assert outcome(future) is None
        sending.drain()
        sending.reply(NOT_LEADER)
        sending.pass_ms(1000)
    assert isinstance(outcome(future), errors.NotLeaderOrFollower)
    assert sending.drain() is None


@pytest.mark.contract("A109")
def test_a_leader_that_is_none_any_more_makes_metadata_wanted_and_the_next_one_gets_it():
    sending = Sending([1])
    future = sending.put(b"v")
    sending.drain()
    assert not sending.sender.wants_metadata
    sending.reply(NOT_LEADER)
    assert sending.sender.wants_metadata
    sending.lead(2)
    assert sending.nodes() == [], "the pause is not over"
    sending.pass_ms(BACKOFF_MS)
    assert sending.nodes() == [2]
    assert sending.drained(2) == [(0, b"v")]
    sending.reply()
    assert outcome(future) == 0


@pytest.mark.contract("A132")
def test_a_request_that_was_lost_goes_again_and_its_batches_stand_before_all_others():
    sending = Sending([1, 1])
    sending.batch(b"a0")
    sending.batch(b"b0", partition=1)
    sending.drain()
    sending.batch(b"a1")
    assert sending.nodes() == [1]
    sending.lose()
    assert sending.drain() is None, "the one behind it waits with it"
    assert sending.sender.wants_metadata
    sending.pass_ms(BACKOFF_MS)
    assert sorted(sending.drained()) == [(0, b"a0"), (1, b"b0")]
    assert sending.drained() == [(0, b"a1")]


@pytest.mark.contract("A132", "A121")
def test_requests_that_fail_in_any_order_go_again_in_the_first_one():
    sending = Sending()
    for value in (b"1", b"2", b"3"):
        sending.batch(value)
        assert sending.drained() == [(0, value)]
    sending.batch(b"4")
    for at in (1, 1, 0):
        sending.reply(NOT_LEADER, at=at)
    sending.pass_ms(1000)
    assert [content[0][1] for content in sending.all_drained()] == [b"1", b"2", b"3", b"4"]


# Time


@pytest.mark.contract("A125", "A18")
def test_what_is_queued_too_long_is_given_up_and_says_why():
    sending = Sending([-1])
    sending.sender.why_not_sent = lambda queue: f"partition {queue.place[1]} has no leader"
    future = sending.put(b"v")
    sending.nodes()
    sending.pass_ms(DELIVERY_MS - 1)
    sending.nodes()
    assert outcome(future) is None
    sending.pass_ms(1)
    sending.nodes()
    error = outcome(future)
    assert isinstance(error, DeliveryTimeout)
    said = "1 records for t-0 were not delivered within 10 s (delivery.timeout.ms); it was never sent: partition 0"
    assert error.message.startswith(said)
    assert not sending.queue().batches and not sending.sender.lines.leaderless
    assert sending.pool.available_bytes == sending.pool.total_bytes


@pytest.mark.contract("A125")
def test_what_has_failed_again_and_again_says_how_often_and_with_what():
    sending = Sending()
    future = sending.put(b"v")
    for _ in range(3):
        sending.drain()
        sending.reply(errors.NotEnoughReplicas.code)
        sending.pass_ms(1000)
    sending.pass_ms(DELIVERY_MS)
    sending.nodes()
    assert "the last of 3 attempts failed: " in outcome(future).message
    assert errors.NotEnoughReplicas().message in outcome(future).message


@pytest.mark.contract("A125")
def test_what_is_in_flight_too_long_is_given_up_and_a_late_answer_changes_nothing():
    sending = Sending()
    future = sending.put(b"v")
    sending.drain()
    sending.pass_ms(DELIVERY_MS)
    sending.nodes()
    assert "the broker has not answered" in outcome(future).message
    sending.reply()
    assert isinstance(outcome(future), DeliveryTimeout)
    assert (sending.nodes(), sending.sender.deadline_ms()) == ([], None)


@pytest.mark.contract("A125")
def test_the_memory_of_what_is_given_up_in_flight_comes_back_with_its_request():
    sending = Sending()
    sending.put(b"v")
    request = sending.drain()
    parts = request.encode(REQUEST_VERSION)
    sending.pass_ms(DELIVERY_MS)
    sending.nodes()
    assert sending.pool.available_bytes == sending.pool.total_bytes - 1000, "a connection may still have the bytes"
    del parts
    assert sending.pool.available_bytes == sending.pool.total_bytes


@pytest.mark.contract("A125")
def test_a_batch_that_is_given_up_lets_the_one_behind_it_go():
    sending = Sending(max_in_flight=1)
    first = sending.batch(b"1")
    sending.drain()
    sending.nodes()
    sending.pass_ms(5000)
    second = sending.batch(b"2")
    sending.nodes()
    sending.pass_ms(5000)
    sending.nodes()
    assert isinstance(outcome(first), DeliveryTimeout)
    sending.lose()
    assert sending.drained() == [(0, b"2")]
    sending.reply()
    assert outcome(second) == 0


def test_when_it_closes_whatever_has_no_outcome_gets_one():
    sending = Sending([1, -1])
    queued, sent = sending.put(b"v", partition=1), sending.put(b"v")
    sending.drain()
    sending.sender.abort_all(ClosedBeforeSent())
    assert isinstance(outcome(queued), ClosedBeforeSent)
    assert isinstance(outcome(sent), ClosedBeforeSent)
    assert not sending.sender.incomplete


# Too large


def put_many(sending, count=4):
    futures = [sending.put(b"%d" % number * 200) for number in range(count)]
    assert len({future.batch for future in futures}) == 1
    return futures


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_a_batch_that_is_too_large_goes_in_parts_with_the_same_records_in_the_same_order(is_idempotent):
    sending = Sending(is_idempotent=is_idempotent)
    futures = put_many(sending)
    told = []
    futures[3].add_done_callback(lambda future: told.append(outcome(future)))
    sending.put(LARGE)
    sending.drain()
    sending.reply(TOO_LARGE)
    written = []
    while (request := sending.drain()) is not None:
        written += [value[:1] for batch in request.batches for _, _, value, _ in records_of(batch)]
        sending.reply()
    assert written == [b"0", b"1", b"2", b"3", b"x"]
    assert [outcome(future) for future in futures] == [0, 1, 2, 3]
    for callback, future in sending.sender.callbacks:
        callback(future)
    assert told == [3]
    assert sending.sender.counts.batch_splits == 1


def test_parts_that_fail_go_again_in_their_order():
    sending = Sending()
    put_many(sending)
    sending.drain()
    sending.reply(TOO_LARGE)
    first = [content[0][1][:1] for content in sending.all_drained()]
    assert first == [b"0", b"2"]
    sending.reply(NOT_LEADER)
    sending.reply(NOT_LEADER)
    sending.pass_ms(1000)
    assert [content[0][1][:1] for content in sending.all_drained()] == first


def test_parts_have_the_numbers_of_the_whole_between_them():
    sending = Sending(is_idempotent=True)
    first = sending.put(b"first")
    sending.drain()
    sending.reply()
    futures = put_many(sending)
    sending.drain()
    sending.batch(b"behind")
    sending.drain()
    assert sending.stamps() == [(0, 0, 1), (0, 0, 5)]
    sending.reply(TOO_LARGE)
    sending.reply(OUT_OF_ORDER)
    sending.pass_ms(1000)
    found = []
    while sending.drain() is not None:
        found += sending.stamps()
        sending.reply()
    assert found == [(0, 0, 1), (0, 0, 3), (0, 0, 5)]
    assert [outcome(future) for future in (first, *futures)] == [0, 1, 2, 3, 4]


def test_in_the_end_what_is_refused_is_the_record_that_is_too_large_alone():
    sending = Sending()
    futures = put_many(sending, 3)
    for _ in range(20):
        request = sending.drain()
        if request is None:
            break
        values = {value[:1] for batch in request.batches for _, _, value, _ in records_of(batch)}
        sending.reply(TOO_LARGE if b"1" in values else 0)
    assert [type(outcome(future)) for future in futures] == [int, errors.MessageTooLarge, int]


def test_a_part_keeps_the_time_of_the_whole():
    sending = Sending()
    futures = put_many(sending)
    sending.drain()
    sending.pass_ms(DELIVERY_MS - 1)
    sending.reply(TOO_LARGE)
    sending.nodes()
    assert [outcome(future) for future in futures] == [None] * 4
    sending.pass_ms(1)
    sending.nodes()
    assert all(isinstance(outcome(future), DeliveryTimeout) for future in futures)


# Records at fault


def test_records_that_the_broker_names_have_its_words_and_the_others_are_told_that_it_was_not_them():
    sending = Sending()
    futures = sending.put(b"1", b"2", b"3")
    sending.drain()
    at_fault = [BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key")]
    sending.reply(INVALID, record_errors=at_fault, error_message="one record is bad")
    assert isinstance(outcome(futures[1]), errors.InvalidRecord)
    assert outcome(futures[1]).message == "no key"
    for future in (futures[0], futures[2]):
        assert not isinstance(outcome(future), errors.InvalidRecord)
        assert "one record is bad" in outcome(future).message


# Numbers


@pytest.mark.contract("A140")
def test_a_duplicate_counts_as_written():
    sending = Sending(is_idempotent=True)
    future = sending.put(b"v")
    sending.drain()
    sending.lose()
    sending.pass_ms(BACKOFF_MS)
    sending.drain()
    assert sending.stamps() == [(0, 0, 0)], "with the same number"
    sending.reply(DUPLICATE)
    assert outcome(future) == -1


@pytest.mark.contract("A121")
def test_without_an_id_nothing_goes():
    sending = Sending(is_idempotent=True)
    known, sending.sender.manager = sending.sender.manager, None
    sending.put(b"v")
    assert sending.drain() is None
    sending.sender.manager = known
    known.incomplete_batches = 1
    sending.sender.identity_changed(sending.now_ms)
    assert sending.drained() == [(0, b"v")]


@pytest.mark.contract("A121")
def test_the_first_batch_of_a_partition_goes_alone():
    """A broker that has not heard of the producer takes any number as the first one."""
    sending = Sending([1, 1], is_idempotent=True)
    for number in range(3):
        sending.batch(b"%d" % number)
    sending.batch(b"other", partition=1)
    assert sending.all_drained() == [[(0, b"0"), (1, b"other")]]
    sending.reply()
    assert sending.all_drained() == [[(0, b"1")], [(0, b"2")]]


@pytest.mark.contract("A121", "A123")
def test_five_batches_of_a_partition_are_in_flight_at_most():
    sending = Sending(is_idempotent=True)
    sending.batch()
    sending.drain()
    sending.reply()
    for _ in range(7):
        sending.batch()
    assert len(sending.all_drained()) == 5
    sending.reply()
    assert len(sending.all_drained()) == 1
    assert sending.stamps()[-1] == (0, 0, 6)


@pytest.mark.contract("A106", "A121")
def test_a_batch_that_was_given_up_and_may_be_stored_stops_its_partition_until_the_numbers_begin_anew():
    sending = Sending(is_idempotent=True)
    sending.batch(b"0")
    sending.drain()
    sending.reply()
    lost = sending.batch(b"1")
    sending.drain()
    sending.nodes()
    sending.pass_ms(DELIVERY_MS)
    late = sending.batch(b"2")
    sending.nodes()
    assert isinstance(outcome(lost), DeliveryTimeout)
    assert sending.drained() == [(0, b"2")]
    assert sending.stamps()[-1] == (0, 1, 0), "another epoch: nobody knows whether number 1 is there"
    sending.reply(at=1)
    assert outcome(late) == 1


def test_a_gap_that_nothing_can_fill_raises_the_epoch_and_renumbers_what_is_in_flight():
    sending = Sending(is_idempotent=True)
    sending.batch()
    sending.drain()
    sending.reply()
    futures = [sending.batch(b"%d" % number) for number in range(2)]
    sending.all_drained()
    sending.reply(OUT_OF_ORDER)
    sending.reply(OUT_OF_ORDER)
    sending.pass_ms(1000)
    order = []
    while sending.drain() is not None:
        order += sending.stamps()
        sending.reply()
    assert order == [(0, 1, 0), (0, 1, 1)]
    assert [outcome(future) for future in futures] == [1, 2]


def test_an_answer_to_a_number_of_before_counts_for_the_records_all_the_same():
    sending = Sending([1, 1], is_idempotent=True)
    sending.batch()
    sending.drain()
    sending.reply()
    slow = sending.batch(b"slow")
    sending.drain()
    gone = sending.batch(b"gone")
    sending.drain()
    sending.reply(errors.InvalidRecord.code, at=1)
    sending.nodes()
    assert isinstance(outcome(gone), errors.InvalidRecord)
    sending.reply()
    assert outcome(slow) == 1
    behind = sending.batch(b"behind")
    assert contents(sending.drain()) == [(0, b"behind")]
    sending.reply()
    assert outcome(behind) == 2
