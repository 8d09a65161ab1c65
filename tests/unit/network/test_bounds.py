"""What a peer can do to us is bounded: memory, time, connections."""

import struct
import tracemalloc

import pytest

from network_kit import answer_of, broker_config, correlation_id_of, echo, held_bytes, request
from odradek.network.acceptor import NEWCOMERS_MAX

MB = 1024 * 1024


def big_answers(size):
    def serve(connection, frame):
        body = bytes(size)
        return [struct.pack(">ii", 4 + len(body), correlation_id_of(frame)), body]

    return serve


def test_a_peer_that_reads_nothing_is_read_no_further(rig):
    served = []
    answers = big_answers(200_000)

    def serve(connection, frame):
        served.append(1)
        return answers(connection, frame)

    client = rig.start(serve).connect()
    client.reads = False
    for number in range(400):
        client.send(request(number))
    rig.until(lambda: rig.connection().unsent_bytes)
    rig.pass_ms(50)
    count = len(served)
    assert count < 300
    assert rig.connection().unsent_bytes < 60 * MB
    rig.pass_ms(50)
    assert len(served) == count
    client.reads = True
    rig.until(lambda: len(client.frames()) >= 20)
    assert client.correlation_ids() == list(range(len(client.frames())))


def test_a_peer_that_reads_nothing_expires(sim_rig):
    client = sim_rig.start(big_answers(10 * MB)).connect()
    client.reads = False
    client.send(request(1))
    sim_rig.until(lambda: sim_rig.connection().unsent_bytes)
    sim_rig.pass_ms(599_000)
    assert sim_rig.server.connections()
    sim_rig.pass_ms(10_000)
    assert sim_rig.server.connections() == []
    assert sum(processor.expired for processor in sim_rig.listener.processors) == 1


@pytest.mark.parametrize("is_idle_first", [True, False])
def test_an_idle_connection_expires_and_a_busy_one_does_not(rig, is_idle_first):
    rig.start(overrides={"connections.max.idle.ms": "150", "num.network.threads": "1"})
    clients = [rig.connect(), rig.connect()]
    idle, busy = clients if is_idle_first else reversed(clients)
    for number in range(12):
        rig.ask(busy, request(number))
        rig.pass_ms(40)
    assert idle.is_closed
    assert not busy.is_closed
    assert rig.registry.find("kafka.network", "SocketServer", "ExpiredConnectionsKilledCount").read() == 1


def test_a_trickle_does_not_keep_a_connection_alive(sim_rig):
    client = sim_rig.start(overrides={"connections.max.idle.ms": "10000"}).connect()
    client.send(struct.pack(">i", 90_000_000))
    for _ in range(15):
        client.send(b"x")
        sim_rig.pass_ms(1000)
    assert client.is_closed


def test_a_long_upload_that_makes_progress_stays(sim_rig):
    client = sim_rig.start(overrides={"connections.max.idle.ms": "10000"}).connect()
    body = bytes(6 * MB)
    data = request(1, body)
    sim_rig.world.fabric.buffer_bytes = 4 * MB
    for at in range(0, len(data), MB // 4):
        client.send(data[at : at + MB // 4])
        sim_rig.pass_ms(1500)
    sim_rig.until(lambda: client.frames())
    assert len(client.frames()[0]) == 4 + len(body)


def test_a_parked_client_that_leaves_is_noticed(rig):
    pendings = []

    def serve(connection, frame):
        pendings.append(rig.loop.pending())
        return pendings[-1]

    client = rig.start(serve).connect()
    client.send(request(1))
    rig.until(lambda: pendings)
    client.close()
    rig.until(lambda: not rig.server.connections())


def test_a_client_that_is_parked_and_reads_slowly_costs_no_turns(sim_rig):
    """The socket is not watched for writing once everything has gone out: that would be ready all the time."""
    pendings = []
    answers = big_answers(1 * MB)

    def serve(connection, frame):
        if correlation_id_of(frame) == 1:
            return answers(connection, frame)
        pendings.append(sim_rig.loop.pending())
        return pendings[-1]

    client = sim_rig.start(serve).connect()
    client.reads = False
    client.send(request(1) + request(2))
    sim_rig.until(lambda: pendings and sim_rig.connection().unsent_bytes)
    client.reads = True
    sim_rig.until(lambda: client.frames())
    sim_rig.pass_ms(100)
    turns = sim_rig.loop.turns
    sim_rig.pass_ms(1000)
    assert sim_rig.loop.turns < turns + 10
    pendings[0].resolve([struct.pack(">ii", 4, 2)])
    sim_rig.until(lambda: client.correlation_ids() == [1, 2])


class Newcomer:
    def __init__(self, number):
        self.number = number

    def fileno(self):
        return self.number


@pytest.mark.contract("E15", "E22")
def test_those_that_nobody_has_time_for_stay_in_the_backlog(real_rig):
    loop = real_rig.start().loop
    is_rush = [True]

    def come(newcomer):
        loop.register_new(newcomer, lambda _: loop.again(newcomer) if is_rush else None)

    for number in range(NEWCOMERS_MAX + 2):
        come(Newcomer(1_000_000 + number))
    real_rig.connect()
    real_rig.pass_ms(20)
    assert not real_rig.server.connections()
    is_rush.clear()
    real_rig.until(real_rig.server.connections)


def test_a_trickle_costs_no_buffer(rig):
    client = rig.start().connect()
    client.send(struct.pack(">i", 50_000_000) + b"x" * 1000)
    rig.until(lambda: rig.connection().bytes_in == 1004)
    assert held_bytes(rig.connection()) <= 1004
    assert rig.server.memory.used_bytes == 0


def test_a_flood_is_held_in_small_pieces(rig):
    served = []

    def serve(connection, frame):
        served.append(correlation_id_of(frame))
        return rig.loop.pending() if len(served) == 1 else None

    client = rig.start(serve).connect()
    client.send(b"".join(request(number) for number in range(20_000)))
    rig.until(lambda: served)
    rig.pass_ms(20)
    assert served == [0]
    assert held_bytes(rig.connection()) <= 32 * 1024


def test_who_leaves_whole_frames_gets_no_more_than_a_small_piece(rig):
    parked, most = [], []

    def serve(connection, frame):
        most.append(held_bytes(connection))
        if correlation_id_of(frame) % 1000:
            return None
        parked.append(rig.loop.pending())
        return parked[-1]

    client = rig.start(serve).connect()
    client.send(b"".join(request(number) for number in range(20_000)))
    for count in range(1, 21):
        rig.until(lambda count=count: len(parked) == count)
        most.append(held_bytes(rig.connection()))
        parked[-1].resolve(None)
    rig.until(lambda: len(most) == 20_020)
    assert max(most) <= 32 * 1024


def test_a_connection_that_cannot_be_set_up_leaves_nothing_behind(rig):
    rig.start()

    def fail(connection, before):
        raise RuntimeError("a bug")

    rig.listener.plan.make_authenticator = fail
    client = rig.connect()
    rig.until(lambda: client.is_closed)
    assert rig.server.quotas.total == 0
    assert [str(error) for error in rig.errors] == ["a bug"]


# Memory pool


@pytest.mark.contract("C21", "C32", "C47", "C54")
def test_who_finds_no_memory_waits_until_there_is_some(rig):
    rig.start(overrides={"queued.max.request.bytes": "100000", "socket.request.max.bytes": "100000"})
    first, second, small = rig.connect(), rig.connect(), rig.connect()
    one, other = request(1, b"a" * 90_000), request(2, b"b" * 90_000)
    first.send(one[:50_000])
    rig.until(lambda: rig.server.memory.used_bytes)
    second.send(other[:50_000])
    rig.pass_ms(20)
    third, data = rig.connect(), request(3, b"c" * 90_000)
    third.send(data[:50_000])
    rig.until(lambda: rig.server.memory.waiting >= 1)
    rig.pass_ms(20)
    assert rig.server.memory.used_bytes < 2 * 100_000
    assert rig.ask(small, request(4, b"a small one needs none"))
    first.send(one[50_000:])
    second.send(other[50_000:])
    third.send(data[50_000:])
    rig.until(lambda: first.frames() and second.frames() and third.frames())
    assert second.frames()[0][4:] == b"b" * 90_000
    assert rig.server.memory.used_bytes == 0
    assert rig.server.memory.waiting == 0


def test_an_answer_goes_out_while_its_reader_waits_for_memory(rig):
    """Both at once: the next frame finds no memory, and the peer has not taken the answer to the one before."""
    answers = big_answers(10 * MB)

    def serve(connection, frame):
        return answers(connection, frame) if correlation_id_of(frame) == 1 else echo(connection, frame)

    rig.start(serve, overrides={"queued.max.request.bytes": "100000", "socket.request.max.bytes": "100000"})
    holders, waiting = [rig.connect(), rig.connect()], rig.connect()
    one, other = request(0, b"a" * 90_000), request(2, b"b" * 90_000)
    for holder in holders:
        holder.send(one[:50_000])
    rig.until(lambda: rig.server.memory.used_bytes > 100_000)
    waiting.reads = False
    waiting.send(request(1) + other[:20_000])
    rig.until(lambda: rig.server.memory.waiting)
    for holder in holders:
        holder.send(one[50_000:])
    rig.until(lambda: all(holder.frames() for holder in holders))
    waiting.reads = True
    waiting.send(other[20_000:])
    rig.until(lambda: waiting.correlation_ids() == [1, 2])
    assert (rig.server.memory.used_bytes, rig.server.memory.waiting) == (0, 0)


def test_requests_of_a_hundred_megabytes_are_served_one_after_the_other(real_rig):
    """The longest that Kafka takes by default, with no more memory than for one of them."""
    longest = 100 * 1024 * 1024
    served = []

    def serve(connection, frame):
        served.append((len(frame), bytes(frame[-1:])))
        return [answer_of(len(served))]

    real_rig.start(serve, overrides={"queued.max.request.bytes": str(longest)})
    memory = real_rig.server.memory
    clients = [real_rig.connect() for _ in range(3)]
    for number, client in enumerate(clients):
        client.send(request(number, bytes(longest - 11) + b"%d" % number, key=0, version=9))
    held = []

    def are_answered():
        held.append(memory.used_bytes)
        return all(client.frames() for client in clients)

    # Seconds, unless others want the machine: with a tenth of a core it takes two minutes, and nothing stands still.
    real_rig.until(are_answered, seconds=240)
    assert sorted(served) == [(longest, b"0"), (longest, b"1"), (longest, b"2")]
    assert longest <= max(held) < 2 * longest
    assert (memory.used_bytes, memory.waiting) == (0, 0)


def test_who_leaves_the_line_for_memory_is_forgotten(rig):
    rig.start(overrides={"queued.max.request.bytes": "100000", "socket.request.max.bytes": "100000"})
    first, second = rig.connect(), rig.connect()
    first.send(request(1, b"a" * 99_900)[:50_000])
    rig.until(lambda: rig.server.memory.used_bytes)
    more = rig.connect()
    second.send(request(1, b"a" * 99_900)[:50_000])
    more.send(request(1, b"a" * 99_900)[:50_000])
    rig.until(lambda: rig.server.memory.waiting)
    assert rig.server.disconnect() == 3
    assert rig.server.memory.waiting == 0
    assert rig.server.memory.used_bytes == 0


# Connections


@pytest.mark.contract("E37")
def test_an_address_may_hold_so_many_connections(rig):
    rig.start(overrides={"max.connections.per.ip": "2"})
    clients = [rig.connect() for _ in range(3)]
    rig.until(lambda: any(client.is_closed for client in clients))
    assert rig.server.quotas.total == 2
    assert sum(client.is_closed for client in clients) == 1
    next(client for client in clients if not client.is_closed).close()
    rig.until(lambda: rig.server.quotas.total == 1)
    client = rig.connect()
    assert rig.ask(client, request(1))


def test_an_override_for_one_address(rig):
    host = "127.0.0.1" if rig.name == "real" else rig.client_network.address
    rig.start(overrides={"max.connections.per.ip": "0", "max.connections.per.ip.overrides": f"{host}:1"})
    first = rig.connect()
    assert rig.ask(first, request(1))
    second = rig.connect()
    rig.until(lambda: second.is_closed)


@pytest.mark.parametrize("name", ["max.connections", "listener.name.plaintext.max.connections"])
def test_beyond_the_limit_of_connections_the_next_one_waits(rig, name):
    rig.start(overrides={name: "2"})
    clients = [rig.connect() for _ in range(2)]
    for client in clients:
        rig.ask(client, request(1))
    waiting = rig.connect()
    waiting.send(request(9))
    rig.pass_ms(40)
    assert waiting.frames() == []
    assert rig.listener.acceptor.is_paused
    clients[0].close()
    rig.until(lambda: waiting.frames())


def test_a_raised_limit_lets_the_waiting_in(rig):
    rig.start(overrides={"max.connections": "1"})
    rig.ask(rig.connect(), request(1))
    waiting = rig.connect()
    waiting.send(request(9))
    rig.pass_ms(30)
    rig.server.update_config(broker_config({"max.connections": "5"}))
    rig.until(lambda: waiting.frames())


@pytest.mark.contract("E38")
def test_the_listener_between_brokers_takes_the_place_of_an_idle_client(rig):
    rig.start(overrides={"max.connections": "2"})  # PLAINTEXT is between brokers
    external = rig.add_listener("EXTERNAL")
    idle, busy = rig.connect(external), rig.connect(external)
    rig.ask(idle, request(1))
    rig.pass_ms(5)
    rig.ask(busy, request(1))
    broker = rig.connect()
    assert rig.ask(broker, request(2))
    rig.until(lambda: idle.is_closed)
    assert not busy.is_closed
    assert rig.server.quotas.total == 2


@pytest.mark.contract("J2")
def test_connections_that_come_too_fast_wait(sim_rig):
    sim_rig.start(overrides={"max.connection.creation.rate": "2"})
    clients = [sim_rig.connect() for _ in range(40)]
    sim_rig.pass_ms(1000)
    accepted = len(sim_rig.server.connections())
    assert 20 <= accepted < 40  # ten seconds' worth at once, then it slows down
    assert sim_rig.listener.acceptor.is_paused
    sim_rig.pass_ms(30_000)
    assert len(sim_rig.server.connections()) == 40
    meter = sim_rig.registry.find("kafka.network", "Acceptor", "AcceptorBlockedPercent", {"listener": "PLAINTEXT"})
    assert meter.count > 1
    assert not any(client.is_closed for client in clients)


@pytest.mark.contract("E18")
def test_an_address_that_connects_too_fast_is_closed_after_a_while(sim_rig):
    sim_rig.start()
    sim_rig.server.quotas.address_rate_limit = 1
    clients = [sim_rig.connect() for _ in range(12)]
    sim_rig.pass_ms(100)
    assert sim_rig.listener.acceptor.throttled
    assert not any(client.is_closed for client in clients)
    sim_rig.pass_ms(15_000)
    assert sim_rig.listener.acceptor.throttled == 0
    assert any(client.is_closed for client in clients)
    assert sim_rig.server.quotas.total == len(sim_rig.server.connections())


def test_a_connection_costs_little_memory(real_rig):
    """Ours: what Python allocates for it, the kernel's buffers aside."""
    real_rig.start(overrides={"socket.listen.backlog.size": "500"})
    keep = [real_rig.connect() for _ in range(20)]
    real_rig.until(lambda: len(real_rig.server.connections()) == 20)
    sockets = [real_rig.ports.network.connect(*real_rig.listener.address) for _ in range(200)]
    tracemalloc.start()
    try:
        real_rig.until(lambda: len(real_rig.server.connections()) == 220)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        for socket in sockets:
            socket.close()
    assert used / 200 < 4096
    assert keep


# Fairness


def test_a_flood_does_not_keep_others_waiting(sim_rig):
    """In simulated time a request takes none; a clock that a handler moves makes it dear."""
    order = []

    def serve(connection, frame):
        order.append(connection.address)
        sim_rig.node.disk.busy_us += 300  # as if it had taken so long
        return echo(connection, frame)

    sim_rig.start(serve)
    flood, modest = sim_rig.connect(), sim_rig.connect()
    sim_rig.world.fabric.buffer_bytes = 4 * MB
    flood.send(b"".join(map(request, range(300))))
    modest.send(request(1))
    sim_rig.until(lambda: modest.frames())
    assert len(flood.frames()) < 40
    sim_rig.until(lambda: len(flood.frames()) == 300, seconds=100)
    assert flood.correlation_ids() == list(range(300))


@pytest.mark.contract("E7")
def test_the_control_plane_is_served_first(sim_rig):
    order = []

    def serving(name):
        def serve(connection, frame):
            order.append(name)
            sim_rig.node.disk.busy_us += 500
            return echo(connection, frame)

        return serve

    sim_rig.start(serving("data"))
    control = sim_rig.add_listener("CONTROLLER", serving("control"), plane="control")
    floods = [sim_rig.connect() for _ in range(20)]
    urgent = sim_rig.connect(control)
    for client in floods:
        client.send(b"".join(map(request, range(20))))
    sim_rig.pass_ms(3)
    urgent.send(request(1))
    sim_rig.until(lambda: urgent.frames(), seconds=100)
    assert order.index("control") < len(floods) * 20 / 2
    assert order[-1] == "control" or "data" in order[order.index("control") :]
