"""Transactions on a whole broker in simulated time: what is committed is seen, whole; nothing late or old gets in."""

import random

import pytest
from transaction_client import BadRoute, TransactionClient, add_code, produce_code

from broker_kit import SimBroker, SimClient
from odradek.protocol import errors
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.sim.crash import KILLED
from odradek.sim.world import World

FENCED = errors.ProducerFenced.code
OLD_EPOCH = errors.InvalidProducerEpoch.code
NOT_IN_TXN = errors.InvalidTxnState.code
MARKERS = 27
FATES = ("ok", "ok", "lost", "answer lost", "twice")

CONFIGS = {
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


def started(seed=1, release="4.3", **configs):
    properties = {**CONFIGS, **{key.replace("_", "."): str(value) for key, value in configs.items()}}
    broker = SimBroker(World(seed), release=release, properties=properties).wait_until_ready()
    topics = [CreatableTopic(name="t", num_partitions=2, replication_factor=1)]
    SimClient(broker.world, "admin", broker.address).ask(CreateTopicsRequest(topics=topics), 7)
    return broker


@pytest.fixture(scope="module")
def broker():
    return started()


def client(broker, transactional_id, **options):
    made = TransactionClient(broker, f"host of {transactional_id}", transactional_id, **options)
    assert made.init() == 0
    return made


def values(reader, index=0, prefix=b"", **options):
    return [value for value in reader.read("t", index, **options) if value.startswith(prefix)]


@pytest.mark.contract("A151")
@pytest.mark.parametrize("version", [1, 2])
def test_what_is_committed_is_seen_and_what_is_aborted_is_not(broker, version):
    producer = client(broker, f"seen {version}", version=version)
    name = f"seen {version}:".encode()
    for number, is_commit in enumerate((True, False, True)):
        assert producer.send("t", 0, name + b"%d" % number) == 0
        assert producer.send("t", 1, name + b"%d" % number) == 0
        assert producer.end(is_commit) == 0
    producer.wait_for("CompleteCommit")
    for index in (0, 1):
        assert values(producer, index, name) == [name + b"0", name + b"2"]
        assert len(values(producer, index, name, is_committed=False)) == 3


def test_an_open_transaction_is_not_seen(broker):
    producer = client(broker, "open")
    producer.send("t", 0, b"open:1")
    assert values(producer, 0, b"open:") == []
    assert values(producer, 0, b"open:", is_committed=False) == [b"open:1"]
    assert producer.end(True) == 0
    producer.wait_for("CompleteCommit")
    assert values(producer, 0, b"open:") == [b"open:1"]


@pytest.mark.parametrize("version", [1, 2])
def test_offsets_move_with_the_transaction(broker, version):
    producer = client(broker, f"offsets {version}", version=version)
    group = f"group {version}"
    assert producer.commit_offset(group, "t", 0, 5) == 0
    assert producer.offset(group, "t", 0) == -1
    assert producer.end(False) == 0
    producer.wait_for("CompleteAbort")
    assert producer.offset(group, "t", 0) == -1
    assert producer.commit_offset(group, "t", 0, 7) == 0
    assert producer.end(True) == 0
    producer.wait_for("CompleteCommit")
    assert producer.offset(group, "t", 0) == 7


# Who may not, and what comes late


@pytest.mark.contract("A144")
@pytest.mark.parametrize("version", [1, 2])
def test_a_zombie_can_neither_write_nor_end(broker, version):
    old = client(broker, f"zombie {version}", version=version)
    old.send("t", 0, b"zombie:1")
    new = client(broker, f"zombie {version}", version=version)
    assert new.stamp[1] > old.stamp[1]
    assert old.send("t", 0, b"zombie:2", once=True) == OLD_EPOCH
    assert old.end(True, once=True) == FENCED
    assert old.commit_offset("zombies", "t", 0, 1, once=True) == OLD_EPOCH
    new.send("t", 0, b"zombie:new")
    assert new.end(True) == 0
    new.wait_for("CompleteCommit")
    assert b"zombie:1" not in values(new)
    assert b"zombie:new" in values(new)


def test_a_record_that_was_never_added_is_refused(broker):
    """The partition's leader asks the coordinator, for clients of version 1 too."""
    producer = client(broker, "never added", version=1)
    assert producer.send("t", 0, b"hanging", once=True, adds=False) == NOT_IN_TXN
    assert not broker.server.broker.replicas.partition("t", 0).log.producers.verifications


def test_nothing_late_of_one_transaction_touches_the_next(broker):
    """T6: Produce, EndTxn and the marker of transaction n while n+1 is open."""
    producer = client(broker, "late")
    first = producer.stamp
    producer.send("t", 0, b"late:1")
    late_produce = producer.produce_request("t", 0, b"late:ghost")
    assert producer.end(True) == 0
    producer.wait_for("CompleteCommit")
    second = producer.stamp
    assert producer.send("t", 0, b"late:2") == 0
    assert produce_code(producer.ask(late_produce, 12, produce_code, once=True)) == OLD_EPOCH
    assert producer.end(True, stamp=first, once=True) == FENCED
    assert producer.end(False, stamp=first, once=True) == FENCED
    assert producer.marker(second, False, "t", 0, 2) == OLD_EPOCH, "the marker of the first one, come again"
    assert producer.state() == "Ongoing"
    assert producer.end(True) == 0
    producer.wait_for("CompleteCommit")
    assert values(producer, 0, b"late:") == [b"late:1", b"late:2"]


def test_the_hazard_that_version_1_leaves(broker):
    """A late EndTxn of version 1 cannot be told from the next one: it aborts what has just begun."""
    producer = client(broker, "hazard", version=1)
    producer.send("t", 0, b"hazard:1")
    assert producer.end(False) == 0
    producer.wait_for("CompleteAbort")
    producer.send("t", 0, b"hazard:2")
    assert producer.end(False, stamp=producer.stamp, once=True) == 0, "the first EndTxn, duplicated by the network"
    producer.wait_for("CompleteAbort")
    assert producer.end(True, once=True) == NOT_IN_TXN


def test_the_hazard_of_a_late_record_of_version_1(broker):
    """It cannot be told from a record of the next transaction, which commits what the one before has aborted."""
    producer = client(broker, "slips in", version=1)
    producer.send("t", 0, b"slips in:1")
    late = producer.produce_request("t", 0, b"slips in:2")
    assert producer.end(False) == 0
    producer.wait_for("CompleteAbort")
    producer.add("t", 0)
    assert produce_code(producer.ask(late, 9, produce_code, once=True)) == 0
    assert producer.end(True) == 0
    producer.wait_for("CompleteCommit")
    assert values(producer, 0, b"slips in:") == [b"slips in:2"]


def test_the_hazard_of_a_repeated_marker_of_version_1(broker):
    """Two transactions of one epoch have the same marker: a late copy of the first one's ends part of the second."""
    producer = client(broker, "repeated", version=1)
    producer.send("t", 0, b"repeated:1")
    assert producer.end(True) == 0
    producer.wait_for("CompleteCommit")
    producer.send("t", 0, b"repeated:2")
    assert producer.marker(producer.stamp, True, "t", 0, transaction_version=1) == 0
    assert producer.end(False) == 0
    producer.wait_for("CompleteAbort")
    assert values(producer, 0, b"repeated:") == [b"repeated:1", b"repeated:2"]


def test_a_late_record_of_version_1_does_not_open_a_transaction_that_nobody_ends(broker):
    """Before KIP-890 it would have: the last stable offset stood still for ever."""
    producer = client(broker, "hanging", version=1)
    producer.send("t", 0, b"hanging:1")
    late = producer.produce_request("t", 0, b"hanging:late")
    assert producer.end(False) == 0
    producer.wait_for("CompleteAbort")
    assert produce_code(producer.ask(late, 9, produce_code, once=True)) == NOT_IN_TXN
    log = broker.server.broker.replicas.partition("t", 0).log
    assert log.last_stable_offset == log.high_watermark


def test_a_3_3_lets_a_late_record_hang_the_partition():
    """The hazard that the old release has; an admin ends it with a marker."""
    old = started(2, "3.3")
    producer = TransactionClient(old, "client", "tx", version=1)
    _init_v4(producer)
    producer.send("t", 0, b"1")
    late = producer.produce_request("t", 0, b"late")
    assert producer.end(False) == 0
    producer.wait_for("CompleteAbort")
    assert produce_code(producer.ask(late, 9, produce_code, once=True)) == 0
    log = old.server.broker.replicas.partition("t", 0).log
    assert log.last_stable_offset < log.high_watermark


def _init_v4(producer):
    """A 3.3 has FindCoordinator to version 4."""
    from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest

    def find(key=None, key_type=1):
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key or producer.transactional_id])
        producer.ask(request, 4, lambda response: response.coordinators[0].error_code)

    producer.find = find
    assert producer.init() == 0


# Time, crashes


def test_an_open_transaction_ends_with_its_timeout(broker):
    producer = client(broker, "timeout", timeout_ms=3000)
    producer.send("t", 0, b"timeout:1")
    broker.world.run_for(2000)
    assert producer.state() == "Ongoing"
    broker.world.run_for(3000)
    producer.wait_for("CompleteAbort")
    assert producer.send("t", 0, b"timeout:2", once=True) == OLD_EPOCH
    assert producer.end(True, once=True) == NOT_IN_TXN
    assert values(producer, 0, b"timeout:") == []


def test_a_decision_survives_a_crash_and_its_markers_follow():
    broker = started(5)
    producer = client(broker, "survivor")
    for index in (0, 1):
        producer.send("t", index, b"kept")
    BadRoute(broker, lambda request: "held")
    assert producer.end(True) == 0
    assert producer.state() == "PrepareCommit"
    assert values(producer) == []
    broker.crash(KILLED)
    broker.restart()
    producer.wait_for("CompleteCommit")
    for index in (0, 1):
        assert values(producer, index) == [b"kept"]
        log = broker.server.broker.replicas.partition("t", index).log
        assert log.last_stable_offset == log.high_watermark


def test_the_next_transaction_waits_for_the_markers_of_the_last():
    broker = started(8)
    producer, old = client(broker, "waits"), client(broker, "waits too", version=1)
    route = BadRoute(broker, lambda request: "held" if request.api_key == MARKERS else "ok")
    for each in (producer, old):
        each.send("t", 0, b"1")
        assert each.end(True) == 0
    assert producer.send("t", 0, b"2", once=True) == errors.ConcurrentTransactions.code
    assert old.add("t", 0, once=True) == errors.ConcurrentTransactions.code
    assert old.send("t", 0, b"2", once=True, adds=False) == 0, "what is open in the log needs no permission"
    waiting = producer.connection.send(producer.produce_request("t", 0, b"2"), 12)
    broker.world.run_for(30)
    assert not waiting.is_done, "for a moment the leader tries by itself"
    route.release()
    assert produce_code(producer.connection.wait(waiting)) == 0
    assert add_code(producer.ask(old.add_request("t", 0), 3, add_code)) == 0


def test_what_was_open_before_a_crash_can_go_on():
    broker = started(6)
    producer = client(broker, "goes on")
    producer.send("t", 0, b"before")
    broker.crash(KILLED)
    broker.restart()
    assert producer.send("t", 0, b"after") == 0
    assert producer.end(True) == 0
    producer.wait_for("CompleteCommit")
    assert values(producer) == [b"before", b"after"]


@pytest.mark.parametrize("seed", range(20))
def test_transactions_are_whole_whatever_happens(seed):
    """Producers of both versions, aborts, zombies, kills of the broker: T1, T2, T3 hold in the end."""
    chance = random.Random(seed)
    broker = started(100 + seed)
    producers = [client(broker, f"p{number}", version=1 + number % 2) for number in range(3)]
    expected = {0: [], 1: []}
    offsets = {}
    for turn in range(12):
        BadRoute(broker, lambda request: chance.choice(FATES) if request.api_key == MARKERS else "ok")
        producer = chance.choice(producers)
        name = f"{turn} of {producer.transactional_id}"
        places = chance.sample((0, 1), chance.choice((1, 2)))
        codes = [producer.send("t", index, f"{name}".encode()) for index in places]
        group = f"g {producer.transactional_id}"
        codes.append(producer.commit_offset(group, "t", 0, turn))
        assert not any(codes), codes
        if chance.random() < 0.2:
            broker.crash(KILLED)
            broker.restart()
        if chance.random() < 0.2:  # it is gone, and comes back as another
            producers[producers.index(producer)] = client(broker, producer.transactional_id, version=producer.version)
            continue
        is_commit = chance.random() < 0.7
        assert producer.end(is_commit) == 0
        if chance.random() < 0.2:
            broker.crash(KILLED)
            broker.restart()
        if is_commit:
            offsets[group] = turn
            for index in places:
                expected[index].append(name.encode())
    for producer in producers:
        broker.world.run_until(lambda one=producer: one.state() in ("CompleteCommit", "CompleteAbort", "Empty"))
    for index, wanted in expected.items():
        assert sorted(producers[0].read("t", index)) == sorted(wanted)
        log = broker.server.broker.replicas.partition("t", index).log
        assert log.last_stable_offset == log.high_watermark, "nothing hangs"
    for group, offset in offsets.items():
        assert producers[0].offset(group, "t", 0) == offset
    assert not broker.errors
