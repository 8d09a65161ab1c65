"""The straight way of a produce request does what the long one does: answers, errors, counters, the log byte by byte.

Two brokers get the same requests at the same times. One serves them as it will; on the other everything that is there
for speed is switched off: `_produce_one` and `append_at_once`, `check_common` (and with it `place_plain`), and what a
leader without followers knows of its high watermark without asking.
"""

from contextlib import contextmanager
from itertools import count
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from log_kit import NOW, append_as_leader, marker
from odradek.handlers import k00_produce
from odradek.log.append import COORDINATOR
from odradek.metrics.registry import Registry
from odradek.protocol.errors import PeerProtocolError
from odradek.reactor.pending import Pending
from odradek.records import check as checks
from odradek.records.layout import HEADER_SIZE
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.replica import produce as replica_produce
from odradek.replica.roles import DAMAGED, DIR_FAILED
from odradek.security import acl
from replica_kit import SimPlane

STATES = ("alone", "alone", "alone", "with a follower", "too few in sync", "led elsewhere", "offline", "damaged")
TOPIC_ID_FILE = "partition.metadata"
names = count()


class Rights:
    def __init__(self, is_allowed):
        self.is_allowed = is_allowed

    def authorize(self, call, operation, resource_type, name):
        assert operation == acl.WRITE and resource_type in (acl.TOPIC, acl.TRANSACTIONAL_ID)
        return self.is_allowed


class Waiter:
    def __init__(self):
        self.calls = 0

    def check(self):
        self.calls += 1
        return False


@pytest.fixture(scope="module")
def planes():
    return SimPlane(), SimPlane()


@contextmanager
def nothing_for_speed():
    with (
        mock.patch.object(k00_produce, "_produce_one", lambda *_: None),
        mock.patch.object(replica_produce, "check_common", lambda *_: None),
        mock.patch.object(checks, "check_common", lambda *_: None),
    ):
        yield


topics = st.fixed_dictionaries(
    {},
    optional={
        "message_timestamp_type": st.sampled_from(["CreateTime", "LogAppendTime"]),
        "cleanup_policy": st.sampled_from(["delete", "compact"]),
        "max_message_bytes": st.sampled_from([100, 300]),
        "compression_type": st.sampled_from(["uncompressed", "gzip", "producer"]),
        "flush_messages": st.sampled_from([1, 2]),
        "message_timestamp_after_max_ms": st.just(1000),
    },
)
fields = st.builds(
    BatchFields,
    producer_id=st.sampled_from([-1, -1, 7, 8]),
    producer_epoch=st.sampled_from([-1, 0, 1]),
    base_sequence=st.sampled_from([-1, 0, 1, 2]),
    is_transactional=st.sampled_from([False, False, False, True]),
    is_control=st.sampled_from([False, False, False, False, True]),
)
records = st.lists(
    st.tuples(
        st.sampled_from([b"k", b"k", None]),
        st.binary(max_size=60),
        st.sampled_from([NOW, NOW + 5, -1, NOW + 10**9]),
    ),
    min_size=1,
    max_size=4,
)
damage = st.none() | st.none() | st.tuples(st.integers(0, HEADER_SIZE + 20), st.integers(1, 255))
sends = st.lists(
    st.tuples(
        records,
        fields,
        st.sampled_from([0, 0, 0, 1, 4]),  # the codec
        damage,
        st.sampled_from([-1, -1, 1, 1, 0, 5]),  # acks
        st.sampled_from([3, 7, 9, 9, 13]),
        st.sampled_from([0, 0, 0, 0, 1]),  # the partition: there is no second
    ),
    min_size=1,
    max_size=5,
)


def data_of(items, batch_fields, codec, flip):
    made = [Record(number, *item) for number, item in enumerate(items)]
    data = bytearray(record_batch(made, batch_fields, codec=codec))
    if flip is not None:
        data[flip[0] % len(data)] ^= flip[1]
    return bytes(data)


def set_up(plane, name, configs, state):
    many = state in ("with a follower", "too few in sync", "led elsewhere")
    if state == "too few in sync":
        configs = {**configs, "min_insync_replicas": 2}
    plane.create_topic(
        name,
        replicas=(1, 2) if many else (1,),
        isr=(1,) if state == "too few in sync" else None,
        leader=2 if state == "led elsewhere" else 1,
        **configs,
    )
    partition = plane.partition(name)
    waiter = Waiter()
    partition.add_waiter(waiter)
    if partition.leader is not None:
        append_as_leader(partition.log, marker(8, commit=True, epoch=0), 0, NOW, origin=COORDINATOR)
        partition.leader.log_end_moved()
    if state in ("offline", "damaged"):
        plane.on_reactor(lambda: partition.go_offline(DIR_FAILED if state == "offline" else DAMAGED))
    return waiter


def answer(plane, name, data, acks, version, index):
    request = plane.produce_request(data, name, index, acks, version, timeout_ms=50, transactional_id="tx")
    try:
        answered = plane.on_reactor(lambda: plane.send(request, version))
        parts = plane.wait(answered) if isinstance(answered, Pending) else answered
    except PeerProtocolError as error:
        return str(error)
    return None if parts is None else b"".join(bytes(part) for part in parts)[8:].replace(plane.topic_ids[name], b"")


def counted(plane, name):
    """What an operator reads afterwards."""
    topic = plane.replicas.topics[name]
    codes = plane.services.error_counts
    codes._hand_in_plain()
    told = {key: {code: each for code, each in found.items() if each} for key, found in codes._by_key.items()}
    codes.hand_in(Registry(lambda: 0))
    counters = [counter.count for counter in topic.counters._counts()]
    return told, counters, topic.counters.failed_produces.count, plane.replicas.metrics.failed_produces.count


def state_of(plane, name):
    partition = plane.partition(name)
    log = partition.log
    if log is None:
        return repr(partition.role)
    disk = plane.disk
    files = {file: disk.read(f"{log.directory}/{file}") for file in disk.list(log.directory) if file != TOPIC_ID_FILE}
    offsets = (log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset, log.recovery_point)
    producers = [
        (entry.producer_id, entry.epoch, entry.last_sequence, entry.last_data_offset, entry.current_txn_first_offset)
        for entry in log.producers.entries
    ]
    places = (log.high_watermark_place(), log.stable_place())
    books = [
        (segment.base_offset, segment.size, segment.max_timestamp, segment.offset_of_max_timestamp)
        for segment in log.segments
    ]
    return files, offsets, producers, places, books, log.epochs.entries


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(topics, st.sampled_from(STATES), sends, st.sampled_from([None, None, True, False]))
def test_the_straight_way_does_what_the_long_one_does(planes, configs, state, requests, is_allowed):
    name = f"t{next(names)}"
    waiters = [set_up(plane, name, configs, state) for plane in planes]
    for plane in planes:
        plane.unexpected.clear()
        plane.services.authorizer = None if is_allowed is None else Rights(is_allowed)
    slow = planes[1].partition(name).leader
    if slow is not None:
        slow.isr.is_alone = False
    for *content, acks, version, index in requests:
        data = data_of(*content)
        fast_answer = answer(planes[0], name, data, acks, version, index)
        with nothing_for_speed():
            slow_answer = answer(planes[1], name, data, acks, version, index)
        assert fast_answer == slow_answer
        for plane in planes:
            assert not plane.unexpected
            plane.sleep(1000)  # what was begun has ended: flushes, fsyncs after a roll
        assert counted(planes[0], name) == counted(planes[1], name)
        assert state_of(planes[0], name) == state_of(planes[1], name)
        assert waiters[0].calls == waiters[1].calls
