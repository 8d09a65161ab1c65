"""Where records wait to be sent, in both executors."""

import threading
from itertools import pairwise

import pytest

from accumulator_kit import accumulator, executors, parts_of, records_of
from odradek.protocol import errors
from odradek.records.murmur2 import partition_for


@pytest.fixture(params=executors())
def executor(request):
    return request.param


def queue(gathered, index=0):
    return gathered.topics["t"].queues[index]


class TestAppending:
    @pytest.mark.contract("A88", "A92", "A95", "A100")
    def test_records_gather_in_the_open_batch(self, executor):
        gathered = accumulator(executor)
        futures = [gathered.send("t", b"%d" % number) for number in range(3)]
        assert [future.index for future in futures] == [0, 1, 2]
        assert len(queue(gathered).batches) == 1
        assert records_of(queue(gathered).take()) == [(7000, None, b"%d" % number, ()) for number in range(3)]

    @pytest.mark.contract("A97", "A98", "A112")
    def test_a_record_without_room_begins_the_next_batch(self, executor):
        gathered = accumulator(executor, batch_bytes=200)
        gathered.send("t", bytes(100))
        assert not queue(gathered).has_full()
        gathered.send("t", bytes(100))
        assert queue(gathered).has_full()
        assert [batch.record_count for batch in queue(gathered).batches] == [1, 1]

    @pytest.mark.contract("A93", "A64")
    def test_a_large_record_has_a_batch_of_exactly_its_size(self, executor):
        gathered = accumulator(executor, total_bytes=10_000, batch_bytes=1000)
        gathered.send("t", bytes(3000))
        batch = queue(gathered).take()
        assert batch.is_full
        assert parts_of(gathered.pool)[1] == 10_000 - batch.size_bytes

    @pytest.mark.contract("A72")
    def test_the_clients_thread_is_told_of_new_and_full_batches_and_of_nothing_else(self, executor):
        gathered = accumulator(executor, batch_bytes=300)
        woken = []
        gathered.wake = lambda: woken.append(len(queue(gathered).batches))
        gathered.send("t", bytes(50))
        assert woken == [1]
        gathered.send("t", bytes(50))
        assert woken == [1]
        assert [each.place for each in gathered.take_touched()] == [("t", 0)]
        gathered.send("t", bytes(50))
        assert woken == [1]
        gathered.send("t", bytes(200))
        assert woken == [1, 2]

    def test_what_is_taken_takes_no_more(self, executor):
        gathered = accumulator(executor)
        first = gathered.send("t", b"a")
        taken = queue(gathered).take()
        second = gathered.send("t", b"b")
        assert first.batch is taken
        assert second.batch is not taken

    def test_without_memory_it_is_left_to_the_slow_way(self, executor):
        gathered = accumulator(executor, total_bytes=1000, batch_bytes=1000)
        gathered.slow_send = lambda *asked: asked
        gathered.send("t", bytes(500))
        assert gathered.send("t", bytes(600), b"k") == ("t", bytes(600), b"k", (), None, None, None)

    @pytest.mark.contract("A94", "A96")
    def test_memory_that_was_waited_for_is_given_back_if_another_has_begun_a_batch(self, executor):
        gathered = accumulator(executor, total_bytes=2000, batch_bytes=1000)
        gathered.send("t", b"somebody else was faster")
        assert gathered.pool.take(1000)
        future = gathered.append(gathered.topics["t"], 0, 7000, None, b"v", b"\0", 1000)
        assert future.index == 1
        assert gathered.pool.available_bytes == 1000

    def test_what_is_no_plain_record_goes_the_slow_way(self, executor):
        gathered = accumulator(executor)
        gathered.slow_send = lambda *_: "slow"
        assert gathered.send("unknown", b"v") == "slow"
        assert gathered.send("t", "text") == "slow"
        assert gathered.send("t", b"v", headers=[("h", b"1")]) == "slow"
        assert gathered.send("t", b"v", callback=print) == "slow"
        assert gathered.send("t", bytes(20_000)) == "slow"
        gathered.is_plain = False
        assert gathered.send("t", b"v") == "slow"

    @pytest.mark.contract("A89", "A61")
    def test_threads_append_without_losing_or_doubling(self, executor):
        gathered = accumulator(executor, batch_bytes=500, total_bytes=1 << 24, partitions=3)
        slow = []
        gathered.slow_send = lambda *asked: slow.append(asked)

        def work(name):
            for number in range(2000):
                gathered.send("t", b"%d-%d" % (name, number), partition=None)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert slow == []
        found = []
        for index in range(3):
            while (batch := queue(gathered, index).take()) is not None:
                found += [record[2] for record in records_of(batch)]
        assert sorted(found) == sorted(b"%d-%d" % (name, number) for name in range(4) for number in range(2000))


class TestPlacing:
    @pytest.mark.contract("A57")
    def test_by_key(self, executor):
        gathered = accumulator(executor, partitions=7)
        for number in range(50):
            key = b"k" * (number % 9) + b"%d" % number
            assert gathered.send("t", b"v", key).batch.queue.place[1] == partition_for(key, 7)

    @pytest.mark.contract("A58", "A62")
    def test_without_a_key_one_partition_gets_a_batch_and_then_another_one(self, executor):
        gathered = accumulator(executor, partitions=5, batch_bytes=1000)
        places = [gathered.send("t", bytes(90)).batch.queue.place[1] for _ in range(200)]
        runs = [1]
        for before, after in pairwise(places):
            if before == after:
                runs[-1] += 1
            else:
                runs.append(1)
        assert all(run % 9 == 0 for run in runs[:-1])
        assert set(places) == set(range(5))

    @pytest.mark.contract("A60", "A32")
    def test_partitions_without_a_leader_are_not_chosen(self, executor):
        gathered = accumulator(executor, partitions=3, batch_bytes=100)
        gathered.set_topic("t", [-1, 1, -1])
        assert {gathered.send("t", bytes(90)).batch.queue.place[1] for _ in range(30)} == {1}
        gathered.set_topic("t", [-1, -1, -1])
        assert {gathered.next_sticky(gathered.topics["t"]) for _ in range(60)} == {0, 1, 2}

    def test_a_partition_whose_broker_takes_nothing_gets_less(self, executor):
        gathered = accumulator(executor, partitions=2, batch_bytes=100)
        for _ in range(20):
            gathered.append(gathered.topics["t"], 0, 1, None, bytes(90), b"\0")
        chosen = [gathered.next_sticky(gathered.topics["t"]) for _ in range(300)]
        assert 0 < chosen.count(0) < 50
        queue(gathered, 1).is_available = False
        assert {gathered.next_sticky(gathered.topics["t"]) for _ in range(20)} == {0}

    def test_a_topic_that_grows_keeps_its_queues(self, executor):
        gathered = accumulator(executor, partitions=2)
        before = queue(gathered, 1)
        gathered.set_topic("t", [1, 1, 1])
        assert queue(gathered, 1) is before
        assert len(gathered.topics["t"].queues) == 3


class TestOutcomes:
    @pytest.mark.contract("A99")
    def test_each_future_knows_its_own_offset(self, executor):
        gathered = accumulator(executor)
        futures = [gathered.send("t", b"v", b"kk") for _ in range(3)]
        queue(gathered).take().complete(100, -1, None)
        assert [future.result(0).offset for future in futures] == [100, 101, 102]
        assert futures[0].result(0)[3:] == (7000, 2, 1)

    def test_the_brokers_time_replaces_the_records(self, executor):
        gathered = accumulator(executor)
        future = gathered.send("t", b"v")
        queue(gathered).take().complete(0, 12345, None)
        assert future.result(0).timestamp == 12345

    def test_an_error_is_that_of_all(self, executor):
        gathered = accumulator(executor)
        futures = [gathered.send("t", b"v") for _ in range(2)]
        queue(gathered).take().complete(-1, -1, errors.CorruptMessage())
        for future in futures:
            assert isinstance(future.exception(0), errors.CorruptMessage)
            with pytest.raises(errors.CorruptMessage):
                future.result(0)

    def test_callbacks_are_handed_out_in_the_order_of_the_records(self, executor):
        gathered = accumulator(executor)
        futures = [gathered.send("t", b"v") for _ in range(3)]
        for future in futures:
            future.add_done_callback(print)
        assert [future for _, future in queue(gathered).take().complete(0, -1, None)] == futures

    def test_a_thread_that_waits_is_let_go(self, executor):
        gathered = accumulator(executor)
        future = gathered.send("t", b"v")
        with pytest.raises(TimeoutError):
            future.result(0)
        found = []
        thread = threading.Thread(target=lambda: found.append(future.result(30)))
        thread.start()
        queue(gathered).take().complete(5, -1, None)
        thread.join(30)
        assert found[0].offset == 5
