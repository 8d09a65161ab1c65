"""A request with many batches, in the pieces in which it goes out."""

import pytest

from odradek.client.producer.accumulator import NO_HEADERS, Accumulator
from odradek.client.producer.buffer_pool import BufferPool
from odradek.client.producer.produce_request import VERSION_MAX, VERSION_MIN, BatchesRequest, ProduceRequestFrame
from odradek.client.producer.sent_batch import SentBatch
from odradek.protocol.messages.k00_produce import ProduceRequest
from odradek.records.batch import sole_batch


def sent_batches(*places):
    """A batch for each place, with a record whose value is the place's name."""
    pool = BufferPool(1 << 20, 16384)
    accumulator = Accumulator(pool, SentBatch, batch_bytes=16384, request_bytes_max=1 << 20, seed=1)
    for name, partition in places:
        topic = accumulator.topics.get(name) or accumulator.set_topic(name, [0, 0, 0])
        accumulator.append(topic, partition, 7, None, f"{name}-{partition}".encode(), NO_HEADERS)
    return [queue.take() for queue in accumulator.take_touched()]


@pytest.mark.parametrize("version", range(VERSION_MIN, VERSION_MAX + 1))
def test_it_is_the_message_that_it_says_to_be(version):
    places = [("a", 0), ("b", 2), ("a", 1)]
    request = BatchesRequest(ProduceRequestFrame("txn", -1, 3000), sent_batches(*places), 0)
    decoded = ProduceRequest.decode(b"".join(bytes(part) for part in request.encode(version)), version)
    assert (decoded.transactional_id, decoded.acks, decoded.timeout_ms) == ("txn", -1, 3000)
    found = {
        (topic.name, data.index): [record.value for record in sole_batch(data.records).records()]
        for topic in decoded.topic_data
        for data in topic.partition_data
    }
    assert found == {place: [f"{place[0]}-{place[1]}".encode()] for place in places}
    assert len(decoded.topic_data) == 2


def test_the_records_are_not_copied():
    (batch,) = sent_batches(("a", 0))
    parts = BatchesRequest(ProduceRequestFrame(None, 1, 3000), [batch], 0).encode(VERSION_MAX)
    assert any(isinstance(part, memoryview) and part.obj is batch.body().obj for part in parts)
