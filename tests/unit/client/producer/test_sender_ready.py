"""Which partitions are ready, which node gets what of them, and when to look again: Kafka's `ready` and `drain`."""

import pytest
from sender_stories import BACKOFF_MS, DELIVERY_MS, LARGE, Sending, contents, outcome

from odradek.protocol import errors

NOT_LEADER = errors.NotLeaderOrFollower.code


@pytest.mark.contract("A108")
def test_a_look_tells_the_nodes_the_next_time_and_what_has_no_leader():
    sending = Sending([1, 2, -1, 2], linger_ms=20)
    sending.put(LARGE, LARGE, partition=1)
    sending.put(b"v", partition=0)
    sending.put(LARGE, LARGE, partition=2)
    assert sending.nodes() == [2], "what is full; the other one lingers"
    assert sending.sender.deadline_ms() == 1020
    assert sending.sender.wants_metadata
    assert list(sending.sender.lines.leaderless) == [sending.queue(2)]
    sending.pass_ms(20)
    assert sending.nodes() == [1, 2]


@pytest.mark.contract("A109")
def test_topics_that_are_written_to_are_told_and_without_a_leader_metadata_is_wanted():
    sending = Sending([-1])
    future = sending.put(b"v")
    assert sending.nodes() == []
    assert (sending.sender.used_topics, sending.sender.wants_metadata) == ({"t"}, True)
    sending.lead(3)
    assert not sending.sender.wants_metadata
    assert sending.nodes() == [3]
    assert sending.drained(3) == [(0, b"v")]
    sending.reply()
    assert outcome(future) == 0


@pytest.mark.contract("A110")
def test_without_records_there_is_nothing_to_do_and_no_time_to_look_again():
    sending = Sending([1] * 100)
    assert (sending.nodes(), sending.sender.deadline_ms(), sending.sender.wants_metadata) == ([], None, False)


@pytest.mark.contract("A113", "A16", "A137")
def test_an_open_batch_goes_when_it_has_lingered_and_takes_records_until_then():
    sending = Sending(linger_ms=20)
    sending.put(b"first")
    assert sending.nodes() == []
    sending.pass_ms(19)
    sending.put(b"second")
    assert sending.nodes() == []
    sending.pass_ms(1)
    request = sending.drain()
    assert [batch.record_count for batch in request.batches] == [2]


@pytest.mark.contract("A137")
def test_without_linger_what_came_while_the_sender_was_busy_goes_together():
    sending = Sending(linger_ms=0)
    sending.put(b"1", b"2", b"3")
    assert [batch.record_count for batch in sending.drain().batches] == [3]


@pytest.mark.contract("A112", "A114")
def test_a_full_batch_does_not_linger():
    sending = Sending(linger_ms=1000)
    sending.put(b"x" * 900)
    assert sending.nodes() == []
    sending.put(b"x" * 100)
    assert sending.nodes() == [1]
    assert sending.drained() == [(0, b"x" * 900)]
    assert sending.drained() == [], "the one behind it lingers"
    assert sending.sender.deadline_ms() == 2000


@pytest.mark.contract("A111", "A114")
def test_when_somebody_waits_for_memory_nothing_lingers():
    sending = Sending([1, 2], linger_ms=1000, total_bytes=2000)
    sending.put(b"v", partition=0)
    sending.put(b"v", partition=1)
    assert sending.nodes() == []
    waiter = sending.pool.wait(1000, lambda: None)
    assert sending.nodes() == [1, 2]
    sending.pool.leave(waiter)


@pytest.mark.contract("A114", "A105")
def test_when_somebody_flushes_or_closes_nothing_lingers_also_what_comes_meanwhile():
    sending = Sending([1, 2], linger_ms=1000)
    sending.put(b"v", partition=0)
    assert sending.nodes() == []
    sending.sender.hurries += 1
    assert sending.nodes() == [1]
    sending.put(b"v", partition=1)
    assert sending.nodes() == [1, 2]
    sending.sender.hurries -= 1
    sending.all_drained(1)
    sending.reply()
    sending.put(b"v", partition=0)
    assert sending.nodes() == [2], "later ones linger again"


@pytest.mark.contract("A113", "A114", "A121")
def test_what_backs_off_is_not_ready_whatever_the_hurry():
    sending = Sending(linger_ms=0, max_in_flight=1)
    sending.put(b"v")
    sending.drain()
    sending.reply(NOT_LEADER)
    sending.put(LARGE, LARGE)
    sending.sender.hurries += 1
    assert sending.nodes() == []
    assert sending.sender.deadline_ms() == 1000 + BACKOFF_MS
    sending.pass_ms(BACKOFF_MS)
    assert sending.drained() == [(0, b"v")]


@pytest.mark.contract("A116")
def test_the_next_look_is_at_the_first_of_all_times():
    sending = Sending([1, 1], linger_ms=50)
    sending.put(b"v", partition=0)
    sending.nodes()
    sending.pass_ms(30)
    sending.put(b"v", partition=1)
    sending.nodes()
    assert sending.sender.deadline_ms() == 1050
    sending.pass_ms(20)
    sending.drain()
    assert sending.sender.deadline_ms() == 1080


@pytest.mark.contract("A130", "A125")
def test_the_next_look_is_not_after_the_time_that_a_batch_has():
    sending = Sending(linger_ms=0)
    sending.put(b"v")
    sending.drain()
    assert sending.sender.deadline_ms() == 1000 + DELIVERY_MS


# Drain


@pytest.mark.contract("A126")
def test_a_node_gets_one_request_with_a_batch_of_each_of_its_partitions():
    sending = Sending([1, 2, 1, 1])
    for partition in range(4):
        sending.put(b"p%d" % partition, partition=partition)
    assert sorted(sending.drained(1)) == [(0, b"p0"), (2, b"p2"), (3, b"p3")]
    assert sending.drained(1) == []
    assert sending.drained(2) == [(1, b"p1")]


@pytest.mark.contract("A118")
def test_a_request_has_at_most_max_request_size():
    sending = Sending([1] * 5, request_bytes_max=3200)
    for partition in range(5):
        sending.put(LARGE, partition=partition)
    found = sending.all_drained()
    assert [len(each) for each in found] == [3, 2]
    assert all(sum(batch.sent_size for batch in request.batches) <= 3200 for request in sending.out)


@pytest.mark.contract("A119")
def test_a_drain_goes_on_where_the_last_one_stopped_so_that_nobody_starves():
    sending = Sending([1] * 4, request_bytes_max=2100)
    for partition in range(4):
        sending.put(*[LARGE] * 3, partition=partition)
    found = [[partition for partition, _ in content] for content in sending.all_drained()]
    assert found == [[0, 1], [2, 3]] * 3


@pytest.mark.contract("A120")
def test_a_batch_that_is_too_large_for_the_rest_waits_and_one_that_is_too_large_for_any_goes_alone():
    sending = Sending([1] * 3, request_bytes_max=1500)
    sending.put(b"x" * 600, partition=0)
    sending.put(b"x" * 3000, partition=1)
    sending.put(b"x" * 600, partition=2)
    found = [[partition for partition, _ in content] for content in sending.all_drained()]
    assert found == [[0], [1], [2]]


@pytest.mark.contract("A119")
def test_one_batch_per_partition_in_a_request():
    sending = Sending([1, 1])
    sending.put(LARGE, LARGE, partition=0)
    sending.put(LARGE, partition=1)
    assert [[partition for partition, _ in content] for content in sending.all_drained()] == [[0, 1], [0]]


@pytest.mark.contract("A122")
def test_what_was_drained_is_closed_and_compressed_and_counts_as_that():
    sending = Sending(codec=1)
    first = sending.put(LARGE)
    request = sending.drain()
    (batch,) = request.batches
    assert batch.sent_size < 200 < batch.size_bytes
    assert sending.sender.counts.bytes_sent == batch.sent_size
    assert sending.put(b"v").batch is not first.batch
    compressed = batch.compressed
    sending.reply(NOT_LEADER)
    sending.pass_ms(BACKOFF_MS)
    assert sending.drain().batches == [batch]
    assert batch.compressed is compressed, "once is enough"


@pytest.mark.contract("A124", "A115", "A121")
def test_with_one_in_flight_a_partition_is_mute_until_its_batch_is_done():
    sending = Sending([1, 1], max_in_flight=1)
    sending.batch(b"a0")
    sending.batch(b"a1")
    assert sending.drained() == [(0, b"a0")]
    sending.batch(b"b0", partition=1)
    assert sending.drained() == [(1, b"b0")], "other partitions are not"
    assert (sending.drained(), sending.nodes()) == ([], [])
    sending.reply()
    assert sending.drained() == [(0, b"a1")]


@pytest.mark.contract("A124")
def test_with_one_in_flight_what_failed_goes_again_before_what_is_behind_it():
    sending = Sending(max_in_flight=1)
    for value in (b"1", b"2", b"3"):
        sending.batch(value)
    order = []
    for error in (0, NOT_LEADER, 0, 0):
        order += sending.drained()
        sending.reply(error)
        sending.pass_ms(BACKOFF_MS)
    assert [value for _, value in order] == [b"1", b"2", b"2", b"3"]


@pytest.mark.contract("A115")
def test_a_partition_stands_in_line_once_however_often_something_is_new():
    sending = Sending()
    for _ in range(4):
        sending.put(LARGE)
        sending.nodes()
    assert len(sending.sender.lines.lines[1]) == 1


def test_a_new_leader_gets_what_waited_for_the_old_one():
    sending = Sending([1, 1])
    for partition in range(2):
        sending.put(b"p%d" % partition, partition=partition)
    assert sending.nodes() == [1]
    sending.lead(2, 1)
    assert sending.nodes() == [1, 2]
    assert sending.drained(2) == [(0, b"p0")]
    assert contents(sending.drain(1)) == [(1, b"p1")]
    assert sending.drain(1) is None
