"""One append for everybody: what a client, a marker and a coordinator append is told, flushed and shown alike."""

from errno import EIO, ENOSPC

import pytest

from log_kit import NOW, batch
from odradek.protocol import errors
from odradek.protocol.frames import OFFSETS
from odradek.protocol.messages.consumer_offsets import OffsetCommitKey
from odradek.replica.markers import append_marker
from odradek.replica.produce import ProduceParameters, check_and_append
from odradek.replica.roles import DIR_FAILED
from odradek.replicated.log_record import EndMarker, LogRecord
from odradek.replicated.partition_log import PartitionLog
from replica_kit import SimPlane


def produce(plane):
    records = memoryview(bytearray(batch(b"a")))
    return check_and_append(plane.replicas, plane.partition(), records, ProduceParameters(1, 1000, 9, NOW))


def end_transaction(plane):
    return append_marker(plane.replicas, plane.partition(), EndMarker(7, 0, is_commit=True), NOW)


def decide(plane):
    record = LogRecord(OffsetCommitKey(group="g", topic="t", partition=0), None)
    return PartitionLog(plane.partition(), plane.logs, OFFSETS).append(0, [(record, 0)])


everybody = pytest.mark.parametrize("append", [produce, end_transaction, decide])


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic()
    return made


def refused(plane, append):
    with pytest.raises(errors.KafkaError) as caught:
        plane.on_reactor(lambda: append(plane))
    return caught.value


@everybody
def test_a_full_disk_is_told_to_the_operator(plane, append):
    told = []
    plane.logs.dirs.listen_when_full(lambda log_dir: told.append(log_dir.path))
    plane.disk.fail("write", ENOSPC, path="data/a/t-0", times=None)
    assert "no space left" in refused(plane, append).message
    assert told == ["data/a"]
    assert plane.partition().leader is not None and plane.log().log_end_offset == 0


@everybody
def test_a_disk_that_fails_takes_the_partition_offline(plane, append):
    plane.disk.fail("write", EIO, path="data/a/t-0", times=None)
    refused(plane, append)
    assert plane.partition().role is DIR_FAILED


@everybody
def test_it_is_committed_at_once_where_there_is_no_other_replica(plane, append):
    plane.on_reactor(lambda: append(plane))
    assert plane.log().high_watermark == plane.log().log_end_offset == 1


@everybody
def test_it_is_shown_when_it_is_flushed(append):
    plane = SimPlane()
    plane.create_topic(flush_messages=1)
    plane.on_reactor(lambda: append(plane))
    log = plane.log()
    assert (log.log_end_offset, log.high_watermark, log.is_flush_due) == (1, 0, True)
    assert plane.world.run_until(lambda: log.high_watermark == 1, 5000)
    assert (log.recovery_point, log.is_flush_due) == (1, False)


@pytest.mark.parametrize("append", [end_transaction, decide])
def test_what_this_broker_makes_needs_enough_replicas_in_sync(append):
    plane = SimPlane()
    plane.create_topic(replicas=(1, 2), isr=(1,), min_insync_replicas=2)
    assert isinstance(refused(plane, append), errors.NotEnoughReplicas | errors.CoordinatorNotAvailable)
    assert plane.log().log_end_offset == 0


@everybody
def test_only_what_clients_produce_is_counted_as_messages_in(plane, append):
    plane.on_reactor(lambda: append(plane))
    assert plane.replicas.topics["t"].messages_in.count == int(append is produce)


def test_flush_messages_may_change_while_records_wait(plane):
    plane.on_reactor(lambda: produce(plane))
    log = plane.log()
    assert not log.is_flush_due
    plane.logs.update_topic_config("t", {"flush.messages": "1"})
    assert log.is_flush_due
    plane.logs.update_topic_config("t", {"flush.messages": "2"})
    assert not log.is_flush_due


def test_a_reader_of_the_first_epoch_is_told_where_its_log_leaves_ours(plane):
    plane.produce("a", "b")
    told = plane.fetch_one(offset=2, last_fetched_epoch=0)
    assert (told.error_code, told.diverging_epoch.end_offset) == (0, -1), "it has what we have"
    told = plane.fetch_one(offset=5, last_fetched_epoch=0)
    assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (0, 2)
