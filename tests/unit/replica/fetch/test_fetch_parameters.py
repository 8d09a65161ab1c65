"""What all partitions of a fetch have in common, as its request and its sender give it."""

import pytest

from odradek.log.read import HIGH_WATERMARK, LOG_END, TXN_COMMITTED
from odradek.protocol.messages.k01_fetch import FetchRequest
from odradek.replica.fetch.parameters import READ_COMMITTED, READ_UNCOMMITTED, FetchParameters

BYTES_MAX = 1000


def parameters(replica_id=-1, replica_epoch=-1, **fields):
    request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=900)
    for name, value in fields.items():
        setattr(request, name, value)
    return FetchParameters(12, replica_id, replica_epoch, request, BYTES_MAX)


@pytest.mark.contract("E70")
def test_those_of_a_consumer():
    made = parameters(isolation_level=READ_UNCOMMITTED)
    assert (made.version, made.replica_id, made.is_follower, made.isolation) == (12, -1, False, HIGH_WATERMARK)
    assert (made.max_wait_ms, made.min_bytes, made.max_bytes) == (500, 1, 900)
    assert parameters(isolation_level=READ_COMMITTED).isolation == TXN_COMMITTED


@pytest.mark.contract("E70")
def test_those_of_a_follower():
    made = parameters(replica_id=2, replica_epoch=7)
    assert (made.replica_id, made.replica_epoch, made.is_follower, made.isolation) == (2, 7, True, LOG_END)


def test_a_consumer_gets_no_more_than_the_broker_allows_and_a_follower_what_it_asks_for():
    assert parameters(max_bytes=5000, min_bytes=4000).max_bytes == BYTES_MAX
    assert parameters(max_bytes=5000, min_bytes=4000).min_bytes == BYTES_MAX, "more would never be there"
    assert parameters(replica_id=2, max_bytes=5000).max_bytes == 5000
