"""A whole producer against brokers that misbehave, on real sockets and on simulated ones: no record is lost, none is
there twice, and their order is kept.
"""

import pytest

from channel_kit import CLOSE, SILENT, RealOutside, ScriptedBroker, SimOutside, cluster_of
from odradek.channel.client_connection import PLAINTEXT
from odradek.channel.config import ChannelConfig
from odradek.client.producer.producer_record import ProducerRecord
from odradek.client.producer.record_sender import SenderConfig
from odradek.client.producer.sending import Preparing
from odradek.client.producer.session import ProducerSession
from odradek.client.producer.settings import ProducerSettings
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.records.batch import sole_batch

RECORDS = 60


@pytest.fixture(params=[RealOutside, SimOutside], ids=["real", "sim"])
def outside(request):
    made = request.param()
    yield made
    made.close()


class Log:
    """A partition as a broker keeps it: it takes a batch of a producer only if it begins where the last one ended, and
    one that it has already it takes for what it is.
    """

    def __init__(self):
        self.values = []
        self.next_sequence = {}
        self.stored = {}

    def append(self, batch):
        key = (batch.producer_id, batch.producer_epoch, batch.base_sequence)
        if key in self.stored:
            return self.stored[key], 0
        producer = key[:2]
        expected = self.next_sequence.get(producer)
        if expected is not None and batch.base_sequence != expected:
            return -1, errors.OutOfOrderSequenceNumber.code
        offset = len(self.values)
        self.values += [bytes(record.value) for record in batch.records()]
        self.next_sequence[producer] = batch.base_sequence + len(self.values) - offset
        self.stored[key] = offset
        return offset, 0


class Brokers:
    """Two nodes with one topic of one partition. `faults` are taken one after the other, a Produce request each."""

    def __init__(self, outside, faults=()):
        self.log = Log()
        self.faults = list(faults)
        self.leader, self.epoch = 1, 0
        self.nodes = [ScriptedBroker(outside, number, name=f"broker{number}") for number in (1, 2)]
        for node in self.nodes:
            node.answers(MetadataRequest, self.metadata)
            node.answers(InitProducerIdRequest, InitProducerIdResponse(producer_id=7, producer_epoch=0))
            node.answers(ProduceRequest, lambda asked, node=node: self.produce(asked, node))

    def metadata(self, _):
        return cluster_of(*[node.node for node in self.nodes], topics=[("t", [(self.leader, self.epoch)])])

    def produce(self, asked, node):
        fault = self.faults.pop(0) if self.faults else None
        data = asked.request.topic_data[0].partition_data[0]
        if fault == "move":
            self.leader, self.epoch = 3 - self.leader, self.epoch + 1
        if node.node_id != self.leader:
            return answer(data, errors.NotLeaderOrFollower.code)
        if fault == "refuse":
            return answer(data, errors.NotEnoughReplicas.code)
        if fault == "close before":
            return CLOSE
        offset, code = self.log.append(sole_batch(data.records))
        if fault == "close after":
            return CLOSE
        if fault == "silent":
            return SILENT
        return answer(data, code, offset, throttle_ms=30 if fault == "throttle" else 0)


def answer(data, code, offset=-1, throttle_ms=0):
    partition = PartitionProduceResponse(index=data.index, error_code=code, base_offset=offset)
    return ProduceResponse(
        responses=[TopicProduceResponse(name="t", partition_responses=[partition])], throttle_time_ms=throttle_ms
    )


def producer(outside, brokers, **sender):
    config = ChannelConfig(
        client_id="me",
        request_timeout_ms=300,
        reconnect_backoff_ms=10,
        reconnect_backoff_max_ms=50,
        retry_backoff_ms=10,
        retry_backoff_max_ms=50,
    )
    settings = ProducerSettings(
        addresses=[node.node[1:3] for node in brokers.nodes],
        channel=config,
        security=PLAINTEXT,
        sender=SenderConfig(linger_ms=0, request_timeout_ms=300, delivery_timeout_ms=60_000, **sender),
        buffer_memory=1 << 20,
        batch_bytes=300,
        max_block_ms=10_000,
        metadata_max_idle_ms=300_000,
        ignores_keys=False,
        is_adaptive=True,
        availability_timeout_ms=0,
        transaction_timeout_ms=60_000,
    )
    session = ProducerSession(outside.loop, settings, outside.ports.clock.wall_ms)
    outside.closers.append(session.channel.close)
    known = outside.loop.spawn(session.wait_for_topic("t", 0, 10_000))
    outside.until(lambda: known.is_done)
    known.value()
    return session


def send(session, count=RECORDS):
    preparing = Preparing(None, None, None, ())
    futures = []
    for number in range(count):
        record = preparing.prepared(ProducerRecord("t", b"%050d" % number, partition=0), session)
        futures.append(session.append(record, 0, None))
    return futures


def settle(outside, session, futures):
    outside.until(lambda: all(future.done() for future in futures), 20)
    done = outside.loop.spawn(session.close(1000))
    outside.until(lambda: done.is_done)


FAULTS = {
    "none": [],
    "refused for a moment": ["refuse"] * 3,
    "answers are lost": ["close after", None, "close after", "close after"],
    "requests are lost": ["close before", None, "close before"],
    "no answer comes": [None, "silent", None, None, "silent"],
    "the leader moves": ["move", None, None, "move", None, None, "move"],
    "throttled": ["throttle"] * 4,
    "everything": [
        "refuse",
        "close after",
        "move",
        "silent",
        "close before",
        None,
        None,
        "move",
        "refuse",
        "close after",
    ],
}


@pytest.mark.contract("A140", "A132", "A134")
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
def test_with_idempotence_every_record_is_there_once_and_in_order(outside, faults):
    brokers = Brokers(outside, faults)
    session = producer(outside, brokers)
    futures = send(session)
    settle(outside, session, futures)
    assert brokers.log.values == [b"%050d" % number for number in range(RECORDS)]
    assert [future.result(0).offset for future in futures] == list(range(RECORDS))


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
def test_without_idempotence_and_with_one_request_in_flight_order_is_kept_and_nothing_is_lost(outside, faults):
    brokers = Brokers(outside, faults)
    brokers.log.append = lambda batch: (
        brokers.log.values.extend(bytes(each.value) for each in batch.records()) or 0,
        0,
    )
    session = producer(outside, brokers, is_idempotent=False, max_in_flight=1)
    futures = send(session)
    settle(outside, session, futures)
    found = brokers.log.values
    assert sorted(set(found)) == [b"%050d" % number for number in range(RECORDS)]
    firsts = sorted(set(found), key=found.index)
    assert firsts == sorted(firsts)


@pytest.mark.contract("A152")
def test_brokers_that_give_no_producer_ids_are_told_of_at_once(outside):
    brokers = Brokers(outside)
    for node in brokers.nodes:
        del node.versions[InitProducerIdRequest.api_key]
    session = producer(outside, brokers)
    (future,) = send(session, 1)
    outside.until(future.done)
    assert isinstance(future.exception(0), errors.UnsupportedVersion)
    without = producer(outside, brokers, is_idempotent=False)
    (future,) = send(without, 1)
    outside.until(future.done)
    assert future.result(0).offset == 0


def test_what_was_received_is_what_was_built_while_memory_is_used_again(outside):
    """A connection stalls in the middle of a request, its batch is given up, and its memory would be the next one's."""
    brokers = Brokers(outside)
    session = producer(outside, brokers)
    futures = send(session, 5)
    outside.until(lambda: all(future.done() for future in futures))
    for peer in brokers.nodes[0].connections:
        peer.stop_reading()
    stalled = send(session, 20)
    outside.pass_ms(50)
    session.sender.abort_all(errors.RequestTimedOut())
    assert all(future.done() for future in stalled)
    for peer in brokers.nodes[0].connections:
        peer.read_again()
    later = send(session, 20)
    outside.until(lambda: all(future.done() for future in later), 60)
    wanted = {b"%050d" % number for number in range(20)}
    assert set(brokers.log.values) <= wanted
    assert all(future.exception(0) is None for future in later)
