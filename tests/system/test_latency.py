"""The broker stays responsive while it does something long: what honest clients notice is printed, safety asserted.

Timings depend on the machine and on who else uses it, so none is asserted here; `python -m bench hostile` takes them
with care. What is asserted: everything is answered, nothing is lost, and the server log holds no error.
"""

import os
import re
import time
from pathlib import Path

import pytest

import hostile_peers as hostile
from broker_process import BrokerProcess
from honest_client import HonestClient
from hostile_peers import KB, MB
from odradek.protocol import whole
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k19_create_topics import CreatableTopic
from odradek.records.batch import batches

COLD_BYTES = 150 * MB
TOPICS = 200
SESSIONS, SESSION_PARTITIONS = 20, 1000
SLOW_TURN = re.compile(r"A turn of the reactor took (\d+) ms, (.*) \(odradek")


@pytest.fixture
def broker(tmp_path):
    with BrokerProcess("--data", str(tmp_path / "data"), "--log", str(tmp_path / "server.log")) as started:
        started.log = tmp_path / "server.log"
        hostile.create_topic(started.address, "honest")
        yield started
        status, error = started.stop()
        assert (status, error) == (0, "")
    log = started.log.read_text()
    assert "Traceback" not in log and " ERROR " not in log, log


def slow_turns(broker):
    """(milliseconds, handler) of each so far."""
    return [(int(ms), handler) for ms, handler in SLOW_TURN.findall(broker.log.read_text())]


def drop_from_page_cache(directory):
    os.sync()
    for path in sorted(Path(directory).glob("*.log")):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_all(address, topic):
    """How many bytes of records a consumer gets from the beginning to the end."""
    offset, total = 0, 0
    while True:
        wanted = FetchTopic(
            topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=MB)]
        )
        request = FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=MB, topics=[wanted])
        data = hostile.ask(address, request, 12).responses[0].partitions[0]
        assert data.error_code == 0
        found = list(batches(data.records))
        if not found:
            if offset == data.high_watermark:
                return total
            continue  # it is being read ahead
        total += len(data.records)
        offset = found[-1].last_offset + 1


def test_a_log_that_is_not_in_the_page_cache(broker, capsys):
    hostile.create_topic(broker.address, "cold")
    hostile.fill(broker.address, "cold", COLD_BYTES, 400 * KB)
    drop_from_page_cache(f"{broker.data}/cold-0")
    with HonestClient(broker.address, "honest") as honest:
        before = honest.during(seconds=1)
        during, total = honest.during(lambda: read_all(broker.address, "cold"))
    assert total > COLD_BYTES * 0.98
    show(capsys, f"cold reads: before {before}", f"            during {during}", f"            {slow_turns(broker)}")


def test_topics_that_come_and_go(broker, capsys):
    names = [f"short-lived-{number}" for number in range(TOPICS)]

    def storm():
        for at in range(0, TOPICS, 20):
            topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names[at : at + 20]]
            assert hostile.creation(broker.address, topics) == {0}
        for at in range(0, TOPICS, 20):
            assert hostile.delete_topics(broker.address, names[at : at + 20]) == {0}

    with HonestClient(broker.address, "honest") as honest:
        before = honest.during(seconds=1)
        during, _ = honest.during(storm)
    hostile.until(lambda: not list(Path(broker.data).glob("short-lived-*-0")))
    show(capsys, f"topics: before {before}", f"        during {during}", f"        {slow_turns(broker)}")


def test_idle_sessions_cost_next_to_nothing(broker, capsys):
    hostile.create_topic(broker.address, "wide", SESSION_PARTITIONS)
    partitions = [
        FetchPartition(
            partition=number, fetch_offset=1 if number == SESSION_PARTITIONS - 1 else 0, partition_max_bytes=MB
        )
        for number in range(SESSION_PARTITIONS)
    ]
    request = FetchRequest(max_wait_ms=0, max_bytes=MB, topics=[FetchTopic(topic="wide", partitions=partitions)])
    request.session_epoch = 0
    peers = [hostile.connect(broker.address) for _ in range(SESSIONS)]
    sessions = [began(peer, request) for peer in peers]
    assert len(set(sessions)) == SESSIONS and 0 not in sessions
    used, seconds = broker_seconds(broker), 2
    started = time.monotonic()
    rounds = 0
    for peer, session in zip(peers, sessions, strict=True):
        poll(peer, session, 1)
    while time.monotonic() < started + seconds:
        rounds += 1
        for peer, session in zip(peers, sessions, strict=True):
            assert hostile.reply(peer) != hostile.CLOSED
            poll(peer, session, rounds + 1)
    share = (broker_seconds(broker) - used) / (time.monotonic() - started)
    for peer in peers:
        peer.close()
    show(capsys, f"{SESSIONS} idle sessions of {SESSION_PARTITIONS} partitions: {share:.1%} of a core, {rounds} rounds")


def began(peer, request):
    peer.sendall(hostile.frame(request, 12))
    return whole.decode_response(hostile.reply(peer), 1, 12)[1].session_id


def poll(peer, session, epoch):
    request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=MB, session_id=session, session_epoch=epoch)
    peer.sendall(hostile.frame(request, 12))


def broker_seconds(broker):
    fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(capsys, *lines):
    with capsys.disabled():
        os.write(1, ("\n" + "\n".join(lines) + "\n").encode())
