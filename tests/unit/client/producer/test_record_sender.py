"""Which batches go to which node, and what becomes of them: the sender without a network."""

import pytest
from sender_kit import BACKOFF_MS, DELIVERY_MS, Sending, contents, numbers

from odradek.channel.errors import Disconnected
from odradek.client.producer.errors import DeliveryTimeout
from odradek.protocol import errors


class TestReady:
    @pytest.mark.contract("A108", "A126")
    def test_one_request_per_node_with_all_its_partitions(self):
        sending = Sending()
        for partition in range(4):
            sending.append(b"%d" % partition, partition)
        assert contents(sending.requests(1)) == [[(0, [b"0"]), (2, [b"2"])]]
        assert contents(sending.requests(2)) == [[(1, [b"1"]), (3, [b"3"])]]

    @pytest.mark.contract("A110")
    def test_nothing_appended_nothing_to_send(self):
        sending = Sending()
        sending.sender.look(sending.now_ms)
        assert sending.sender.nodes() == []
        assert sending.sender.deadline_ms() is None

    @pytest.mark.contract("A113", "A116")
    def test_an_open_batch_lingers(self):
        sending = Sending(linger_ms=50)
        sending.append()
        assert sending.requests() == []
        assert sending.sender.deadline_ms() == sending.now_ms + 50
        sending.pass_ms(49)
        assert sending.requests() == []
        sending.pass_ms(1)
        assert len(sending.requests()) == 1

    @pytest.mark.contract("A112", "A114")
    def test_a_full_batch_does_not(self):
        sending = Sending(linger_ms=50, batch_bytes=200)
        sending.append(bytes(100))
        sending.append(bytes(100))
        assert contents(sending.requests()) == [[(0, [bytes(100)])]]

    @pytest.mark.contract("A111", "A114")
    def test_somebody_who_waits_for_memory_ends_all_lingering(self):
        sending = Sending(linger_ms=50, total_bytes=1000)
        sending.append()
        sending.accumulator.pool.wait(1000, lambda: None)
        assert len(sending.requests()) == 1

    @pytest.mark.contract("A114")
    def test_a_flush_ends_it_too(self):
        sending = Sending(linger_ms=50)
        sending.append()
        sending.requests()
        sending.sender.hurries += 1
        assert len(sending.requests()) == 1
        sending.sender.hurries -= 1
        sending.append()
        assert sending.requests() == []

    @pytest.mark.contract("A109")
    def test_without_a_leader_the_metadata_is_asked_for(self):
        sending = Sending(leaders=(-1, 2, 1, 2))
        sending.append()
        assert sending.requests() == []
        assert sending.sender.wants_metadata
        sending.accumulator.set_topic("t", [2, 2, 1, 2])
        sending.sender.leaders_changed(sending.now_ms)
        assert contents(sending.requests(2)) == [[(0, [b"v"])]]

    def test_what_stood_in_line_follows_a_leader_that_moves(self):
        sending = Sending()
        sending.append()
        sending.sender.look(sending.now_ms)
        sending.accumulator.set_topic("t", [2, 2, 1, 2])
        sending.sender.leaders_changed(sending.now_ms)
        assert sending.requests(1) == []
        assert contents(sending.requests(2)) == [[(0, [b"v"])]]


class TestDrain:
    @pytest.mark.contract("A118", "A119")
    def test_a_request_has_a_size_and_the_next_goes_on_behind_it(self):
        sending = Sending(leaders=(1, 1, 1, 1), batch_bytes=200, request_bytes_max=400)
        for _ in range(2):
            for partition in range(4):
                sending.append(bytes(120), partition)
        assert [[place for place, _ in request] for request in contents(sending.requests())] == [
            [0, 1],
            [2, 3],
            [0, 1],
            [2, 3],
        ]

    @pytest.mark.contract("A120")
    def test_a_batch_that_is_too_large_for_any_company_goes_alone(self):
        sending = Sending(batch_bytes=200, request_bytes_max=1000)
        sending.append(bytes(900), 0)
        sending.append(bytes(10), 2)
        assert [len(request.batches) for request in sending.requests()] == [1, 1]

    @pytest.mark.contract("A119")
    def test_one_batch_per_partition_and_request(self):
        sending = Sending(batch_bytes=200)
        for _ in range(3):
            sending.append(bytes(120))
        assert [len(request.batches) for request in sending.requests()] == [1, 1, 1]

    @pytest.mark.contract("A115", "A121", "A124")
    def test_with_one_request_in_flight_a_partition_is_mute_until_its_batch_has_landed(self):
        sending = Sending(batch_bytes=200, max_in_flight=1)
        for _ in range(2):
            sending.append(bytes(120))
        sending.append(b"other", 2)
        (first,) = sending.requests()
        assert [place for place, _ in contents([first])[0]] == [0, 2]
        sending.answer(first)
        assert len(sending.requests()) == 1

    @pytest.mark.contract("A122")
    def test_a_drained_batch_takes_no_more_and_is_compressed(self):
        sending = Sending(codec=1)
        sending.append(bytes(500))
        request = sending.request()
        sending.append(b"later")
        assert request.batches[0].record_count == 1
        assert request.batches[0].sent_size < 200


class TestAnswers:
    def test_a_batch_that_is_written_tells_its_futures(self):
        sending = Sending()
        futures = [sending.append() for _ in range(2)]
        sending.answer(sending.request())
        assert [future.result(0).offset for future in futures] == [0, 1]
        assert not sending.sender.incomplete

    @pytest.mark.contract("A131")
    def test_each_partition_has_an_outcome_of_its_own(self):
        sending = Sending()
        good, bad = sending.append(partition=0), sending.append(partition=2)
        request = sending.request()
        sending.sender.answered(request, _answers({0: 0, 2: errors.TopicAuthorizationFailed.code}), sending.now_ms)
        assert good.result(0).offset == 0
        assert isinstance(bad.exception(0), errors.TopicAuthorizationFailed)

    @pytest.mark.contract("A132", "A17")
    def test_a_failure_that_may_pass_is_tried_again_after_a_while(self):
        sending = Sending()
        future = sending.append()
        sending.answer(sending.request(), errors.NotEnoughReplicas.code)
        assert sending.requests() == []
        sending.pass_ms(BACKOFF_MS)
        sending.answer(sending.request())
        assert future.result(0).offset == 0

    @pytest.mark.contract("A21")
    def test_so_many_retries_and_no_more(self):
        sending = Sending(retries=1)
        future = sending.append()
        for _ in range(2):
            sending.answer(sending.request(), errors.NotEnoughReplicas.code)
            sending.pass_ms(1000)
        assert isinstance(future.exception(0), errors.NotEnoughReplicas)

    def test_a_leader_that_is_none_any_more_makes_it_ask_for_the_metadata(self):
        sending = Sending()
        sending.append()
        request = sending.request()
        assert not sending.sender.wants_metadata
        sending.answer(request, errors.NotLeaderOrFollower.code)
        assert sending.sender.wants_metadata

    def test_what_goes_again_goes_before_all_others_in_its_order(self):
        sending = Sending(batch_bytes=200)
        for number in range(4):
            sending.append(b"%0100d" % number)
        sent = sending.requests()
        for request in sent[:3]:
            sending.fail(request, Disconnected("lost"))
        sending.answer(sent[3])
        sending.append(b"%0100d" % 4)
        sending.pass_ms(BACKOFF_MS)
        again = contents(sending.requests())
        assert [int(values[0]) for ((_, values),) in again] == [0, 1, 2, 4]

    def test_without_acks_a_batch_is_done_when_it_has_gone_out(self):
        sending = Sending(acks=0)
        future = sending.append()
        sending.sender.answered(sending.request(), None, sending.now_ms)
        assert not future.result(0).has_offset

    def test_a_batch_that_is_too_large_is_split_and_its_futures_follow(self):
        sending = Sending(batch_bytes=2000)
        futures = [sending.append(b"%0100d" % number) for number in range(8)]
        futures[5].add_done_callback(lambda _: None)
        sending.answer(sending.request(), errors.MessageTooLarge.code)
        parts = sending.requests()
        assert len(parts) == 2
        for part in parts:
            sending.answer(part)
        assert [future.result(0).offset for future in futures] == list(range(8))
        assert [future for _, future in sending.sender.callbacks] == [futures[5]]

    def test_a_single_record_that_is_too_large_is_refused(self):
        sending = Sending()
        future = sending.append()
        sending.answer(sending.request(), errors.MessageTooLarge.code)
        assert isinstance(future.exception(0), errors.MessageTooLarge)


class TestDeliveryTimeout:
    @pytest.mark.contract("A125", "A130", "A18")
    def test_a_batch_that_was_never_sent_says_so(self):
        sending = Sending(leaders=(-1, 2, 1, 2))
        future = sending.append()
        sending.sender.why_not_sent = lambda queue: "no leader is known"
        sending.requests()
        assert sending.sender.deadline_ms() == sending.now_ms + DELIVERY_MS
        sending.pass_ms(DELIVERY_MS)
        sending.requests()
        with pytest.raises(DeliveryTimeout, match="never sent: no leader is known"):
            future.result(0)
        del future
        assert sending.accumulator.pool.available_bytes == 1 << 20

    def test_one_that_was_tried_names_what_it_failed_with(self):
        sending = Sending()
        future = sending.append()
        sending.fail(sending.request(), Disconnected("node 1: refused"))
        sending.pass_ms(DELIVERY_MS)
        sending.requests()
        with pytest.raises(DeliveryTimeout, match="node 1: refused"):
            future.result(0)

    def test_one_in_flight_is_given_up_and_a_late_answer_changes_nothing(self):
        sending = Sending()
        future = sending.append()
        request = sending.request()
        sending.pass_ms(DELIVERY_MS)
        sending.requests()
        with pytest.raises(DeliveryTimeout, match="not answered"):
            future.result(0)
        sending.answer(request)
        assert future.exception(0) is not None


class TestIdempotence:
    @pytest.mark.contract("A121", "A123")
    def test_nothing_goes_before_there_is_a_producer_id(self):
        sending = Sending(is_idempotent=False)
        sending = Sending(is_idempotent=True)
        sending.sender.manager = None
        sending.append()
        assert sending.requests() == []
        sending.identify()
        assert numbers(sending.requests()) == [[0]]

    def test_the_first_batch_of_a_partition_goes_alone(self):
        """If it were refused for a moment and the next one taken, it could never be written."""
        sending = Sending(is_idempotent=True, batch_bytes=200)
        for number in range(3):
            sending.append(b"%0100d" % number)
        first = sending.request()
        sending.answer(first, errors.NotLeaderOrFollower.code)
        sending.pass_ms(BACKOFF_MS)
        again = sending.request()
        assert numbers([again]) == [[0]]
        sending.answer(again)
        assert numbers(sending.requests()) == [[1], [2]]

    @pytest.mark.contract("A23", "A121")
    def test_at_most_five_batches_of_a_partition_are_in_flight(self):
        sending = Sending(is_idempotent=True, batch_bytes=200)
        sending.append()
        sending.answer(sending.request())
        for number in range(8):
            sending.append(b"%0100d" % number)
        flying = sending.requests()
        assert numbers(flying) == [[1], [2], [3], [4], [5]]
        sending.answer(flying[0])
        assert numbers(sending.requests()) == [[6]]

    def test_a_repetition_that_the_broker_has_is_written(self):
        sending = Sending(is_idempotent=True)
        future = sending.append()
        sending.fail(sending.request(), Disconnected("the answer was lost"))
        sending.pass_ms(BACKOFF_MS)
        again = sending.request()
        assert numbers([again]) == [[0]]
        sending.answer(again, errors.DuplicateSequenceNumber.code, base_offset=9)
        assert future.result(0).offset == 9

    def test_split_parts_share_the_numbers_of_the_whole(self):
        sending = Sending(is_idempotent=True, batch_bytes=2000)
        for number in range(8):
            sending.append(b"%0100d" % number)
        sending.answer(sending.request(), errors.MessageTooLarge.code)
        found = []
        while part := sending.requests():
            found += numbers(part)
            for request in part:
                sending.answer(request)
        assert found == [[0], [4]]

    def test_a_gap_that_nothing_fills_raises_the_epoch(self):
        sending = Sending(is_idempotent=True, batch_bytes=200)
        sending.append()
        sending.answer(sending.request())
        lost = sending.append(b"lost")
        sending.answer(sending.request(), errors.CorruptMessage.code)
        sending.pass_ms(DELIVERY_MS)
        sending.requests()
        assert isinstance(lost.exception(0), DeliveryTimeout)
        sending.append(b"next")
        (request,) = sending.requests()
        assert (request.batches[0].producer, request.batches[0].base_sequence) == ((7, 1), 0)


def _answers(codes):
    from odradek.protocol.messages.k00_produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

    partitions = [
        PartitionProduceResponse(index=index, error_code=code, base_offset=0) for index, code in codes.items()
    ]
    return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=partitions)])
