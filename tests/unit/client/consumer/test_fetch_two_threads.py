"""Two threads at one partition: one takes, the other adds and changes its mind. Offsets come without gap or repeat."""

import sys
import threading

import pytest

from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.chunk import Chunk
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.record import Record
from odradek.records.writer import record_batch

PLACE = TopicPartition("t", 0)
BATCHES, PER_BATCH = 1000, 5
JOIN_S_MAX = 60


@pytest.fixture
def hasty_threads():
    """They are switched as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def log():
    return [
        record_batch([Record(at * PER_BATCH + row, None, b"v", 1) for row in range(PER_BATCH)])
        for at in range(BATCHES)
    ]  # fmt: skip


def test_a_taker_and_a_thread_that_changes_its_mind(hasty_threads):
    batches, state, buffer = log(), AssignedPartition(PLACE), FetchBuffer()
    state.seek(0)
    is_over = threading.Event()

    def feed():
        turn = 0
        while not is_over.is_set():
            turn += 1
            if turn % 7 == 0:
                state.fetch_again()  # all that is buffered is dropped, and comes again from the position on
            elif turn % 11 == 0:
                state.hold(is_revoking=True)
                state.hold(is_revoking=False)
                buffer.queue(state)
            elif state.fetch_offset < BATCHES * PER_BATCH and len(state.chunks) < 50:
                at = state.fetch_offset // PER_BATCH
                chunk = Chunk(PLACE, state.generation, state.fetch_offset, batches[at])
                state.fetch_offset = chunk.next_offset
                buffer.add(state, chunk)

    feeder = threading.Thread(target=feed)
    feeder.start()
    seen = 0
    try:
        while seen < BATCHES * PER_BATCH:
            for record in buffer.take(7):
                assert record.offset == seen
                seen += 1
            assert feeder.is_alive()
    finally:
        is_over.set()
        feeder.join(JOIN_S_MAX)
    assert state.position == BATCHES * PER_BATCH
    assert state.buffered_bytes == sum(chunk.size_bytes for chunk in state.chunks)
