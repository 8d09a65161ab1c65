"""A whole session against brokers that lose answers, hang up, move and wait: nothing is lost, nothing is there twice
with idempotence, and the order is that of the sends.
"""

import itertools

import pytest
from session_stories import LogBroker, Program, ScriptedCluster, begun

from channel_kit import SimOutside
from odradek.client.producer.errors import ClosedBeforeSent, DeliveryTimeout, MetadataTimeout
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import ProduceRequest
from odradek.protocol.messages.k03_metadata import MetadataRequest

PAIRS = list(itertools.permutations(["lose", "cut", "drop", errors.NotEnoughReplicas], 2))
FAULTS = [
    "lose",
    "drop",
    "cut",
    "late",
    errors.NotLeaderOrFollower,
    errors.NotEnoughReplicas,
    errors.CorruptMessage,
    errors.UnknownTopicOrPartition,
]


def values(count, prefix=b"v"):
    return [b"%s%03d" % (prefix, number) for number in range(count)]


def offsets(futures):
    return [future.result(0).offset for future in futures]


@pytest.mark.contract("A140", "A132")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: getattr(fault, "__name__", fault))
@pytest.mark.parametrize("when", [0, 1, 3])
def test_nothing_is_lost_or_twice_or_out_of_order(fault, when):
    outside, cluster, program = begun()
    cluster[1].faults = [None] * when + [fault] * 2 + [None, fault]
    sent = values(60)
    futures = []
    for at in range(0, 60, 6):
        futures += program.send(*sent[at : at + 6])
        outside.pass_ms(2)
    assert program.flush() == 0
    assert cluster.logs[0] == sent
    assert offsets(futures) == list(range(60))
    program.close()
    outside.close()


@pytest.mark.contract("A140")
@pytest.mark.parametrize(
    "pair", list(itertools.permutations(["lose", "cut", "drop", errors.NotEnoughReplicas], 2)), ids=str
)
def test_faults_one_after_the_other(pair):
    outside, cluster, program = begun()
    cluster[1].faults = [None, *pair, None, *pair]
    sent = values(40)
    program.send(*sent[:20])
    outside.pass_ms(50)
    program.send(*sent[20:])
    assert program.flush() == 0
    assert cluster.logs[0] == sent
    program.close()
    outside.close()


@pytest.mark.contract("A124")
@pytest.mark.parametrize("fault", ["drop", errors.NotLeaderOrFollower, errors.NotEnoughReplicas], ids=str)
def test_without_idempotence_one_in_flight_keeps_the_order(fault):
    configs = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}
    outside, cluster, program = begun(**configs)
    cluster[1].faults = [None, fault, None, fault, fault]
    sent = values(40)
    program.send(*sent)
    assert program.flush() == 0
    assert cluster.logs[0] == sent
    program.close()
    outside.close()


def test_without_idempotence_an_answer_that_is_lost_makes_a_duplicate_and_no_loss():
    outside, cluster, program = begun(enable_idempotence=False, acks="1")
    cluster[1].faults = ["lose"]
    (future,) = program.send(b"v")
    assert program.flush() == 0
    assert cluster.logs[0] == [b"v", b"v"]
    assert offsets([future]) == [1]
    program.close()
    outside.close()


@pytest.mark.contract("A128")
def test_without_acks_nobody_waits_for_an_answer():
    outside, cluster, program = begun(acks="0", enable_idempotence=False)
    futures = program.send(*values(10))
    assert program.flush() == 0
    assert offsets(futures) == [-1] * 10
    outside.until(lambda: cluster.logs[0] == values(10))
    program.close()
    outside.close()


@pytest.mark.contract("A109", "A132")
def test_a_leader_that_moves_takes_the_records_along():
    outside, cluster, program = begun([1, 1, 2], [1, 2])
    for turn in range(6):
        for partition in range(3):
            program.send(b"p%d-%d" % (partition, turn), partition=partition)
        cluster.leaders = [1 + (turn + partition) % 2 for partition in range(3)]
        outside.pass_ms(7)
    assert program.flush() == 0
    assert cluster.logs == {partition: [b"p%d-%d" % (partition, turn) for turn in range(6)] for partition in range(3)}
    program.close()
    outside.close()


@pytest.mark.contract("A109")
def test_a_partition_without_a_leader_waits_for_one():
    outside, cluster, program = begun([-1, 1])
    futures = program.send(b"early") + program.send(b"other", partition=1)
    outside.until(lambda: futures[1].done())
    outside.pass_ms(300)
    assert not futures[0].done()
    cluster.leaders = [1, 1]
    assert program.flush() == 0
    assert cluster.logs == {0: [b"early"], 1: [b"other"]}
    program.close()
    outside.close()


def test_a_broker_that_comes_back_at_another_address():
    outside, cluster, program = begun([1, 2], [1, 2])
    program.send(b"before", partition=1)
    assert program.flush() == 0
    cluster[2].stop()
    cluster.brokers[2] = LogBroker(outside, cluster, 2, address=outside.listen_address("elsewhere"))
    program.send(b"after", partition=1)
    assert program.flush() == 0
    assert cluster.logs[1] == [b"before", b"after"]
    program.close()
    outside.close()


@pytest.mark.contract("A50", "A109")
def test_a_topic_that_is_known_late_is_waited_for():
    outside = SimOutside()
    cluster = ScriptedCluster(outside)
    cluster.told = False
    program = Program(outside, cluster)
    waiting = outside.loop.spawn(program.session.wait_for_topic("t", None, 5000))
    outside.pass_ms(500)
    assert not waiting.is_done
    assert len(cluster[1].asked_for(MetadataRequest)) > 3, "it asks again and again"
    cluster.told = True
    assert outside.outcome(waiting) is None
    program.send(b"v")
    assert program.flush() == 0
    program.close()
    outside.close()


@pytest.mark.contract("A50", "A24")
@pytest.mark.parametrize(("partition", "said"), [(None, "the brokers do not have it"), (5, "it has 1 partitions")])
def test_what_is_never_known_is_an_error_when_the_time_is_up(partition, said):
    outside = SimOutside()
    cluster = ScriptedCluster(outside)
    cluster.told = partition is not None
    program = Program(outside, cluster)
    began_ms = outside.now_ms()
    error = program.run(program.session.wait_for_topic("t", partition, 700))
    assert isinstance(error, MetadataTimeout) and said in error.message
    assert 700 <= outside.now_ms() - began_ms < 800
    program.close()
    outside.close()


def test_a_broker_that_throttles_is_left_in_peace_for_that_time():
    outside, cluster, program = begun()
    program.send(b"first")
    assert program.flush() == 0
    cluster[1].faults = ["late"]
    program.send(b"second")
    assert program.flush() == 0
    began_ms = outside.now_ms()
    program.send(b"third")
    assert program.flush() == 0
    assert outside.now_ms() - began_ms >= 150
    program.close()
    outside.close()


@pytest.mark.contract("A125", "A18")
@pytest.mark.parametrize(
    ("fault", "said"), [("lose", "no answer in time"), (errors.NotEnoughReplicas, "replicas"), (None, "no leader")]
)
def test_what_is_not_delivered_in_time_says_why(fault, said):
    outside, cluster, program = begun([1], delivery_timeout_ms=2000)
    if fault is None:
        cluster.leaders = [-1]
        program.session.accumulator.set_topic("t", [-1])
    cluster[1].faults = [fault] * 1000
    began_ms = outside.now_ms()
    (future,) = program.send(b"v")
    assert program.flush() == 0
    error = future.exception(0)
    assert isinstance(error, DeliveryTimeout)
    assert "within 2 s (delivery.timeout.ms)" in error.message
    assert 2000 <= outside.now_ms() - began_ms < 2300
    assert said in error.message, error.message
    program.close()
    outside.close()


@pytest.mark.contract("A23", "A117")
def test_a_node_has_no_more_requests_in_flight_than_allowed_and_none_is_sent_while_it_is_not_ready():
    outside, cluster, program = begun([1] * 20, max_in_flight_requests_per_connection=3)
    cluster[1].faults = ["lose"] * 20
    for partition in range(20):
        program.send(b"v", partition=partition)
        outside.pass_ms(5)
    assert len(cluster[1].asked_for(ProduceRequest)) == 3
    program.close(0)
    outside.close()


@pytest.mark.contract("A105")
def test_a_close_delivers_what_was_sent():
    outside, cluster, program = begun(linger_ms=500)
    futures = program.send(*values(30))
    program.close(5000)
    assert cluster.logs[0] == values(30)
    assert offsets(futures) == list(range(30))
    outside.close()


@pytest.mark.contract("A105")
def test_what_a_close_could_not_deliver_has_that_outcome(caplog):
    outside, cluster, program = begun()
    cluster.leaders = [-1]
    program.session.accumulator.set_topic("t", [-1])
    futures = program.send(*values(3))
    program.close(300)
    assert all(isinstance(future.exception(0), ClosedBeforeSent) for future in futures)
    assert "3 records were not delivered when the producer was closed" in caplog.text
    assert program.session.pool.is_closed
    outside.close()


@pytest.mark.contract("A89", "A104")
def test_a_record_that_is_appended_while_it_closes_has_an_outcome():
    """As by a thread that has waited for memory, or by a callback: the close has counted what there was before."""
    outside, cluster, program = begun()
    (first,) = program.send(b"first")
    late = []
    first.add_done_callback(lambda _: late.extend(program.send(b"late")))
    assert program.close() is None
    assert late[0].done()
    assert isinstance(late[0].exception(0), ClosedBeforeSent)
    assert cluster.logs[0] == [b"first"]
    outside.close()


@pytest.mark.contract("A104")
def test_when_it_has_closed_nothing_is_taken_also_not_from_the_callback_of_what_was_lost():
    outside, cluster, program = begun()
    cluster.leaders = [-1]
    program.session.accumulator.set_topic("t", [-1])
    (lost,) = program.send(b"lost")
    again = []
    lost.add_done_callback(lambda _: again.extend(program.send(b"again")))
    assert program.close(100) is None
    assert again == [None], "its front end tells that it is closed"
    assert program.send(b"too late") == [None]
    outside.close()


def test_a_flush_waits_for_the_parts_of_a_batch_that_was_split():
    outside, cluster, program = begun()
    cluster[1].faults = [errors.MessageTooLarge, "lose"]
    futures = program.send(*values(4))
    assert len({future.batch for future in futures}) == 1
    assert program.flush() == 0
    assert offsets(futures) == [0, 1, 2, 3]
    assert cluster.logs[0] == values(4)
    program.close()
    outside.close()
