"""What only a simulated network can be made to do."""

import pytest

from odradek.reactor.ports import READABLE, WRITABLE
from odradek.sim.crash import KEEP_ALL
from odradek.sim.world import World


class Two:
    """A client on one node, a server on another, connected."""

    def __init__(self, seed=5):
        self.world = World(seed)
        self.fabric = self.world.fabric
        self.a, self.b = self.world.node("a"), self.world.node("b")
        self.listener = self.b.ports.network.listen("", 9092)
        self.client = self.connect()
        self.world.run_until(self.listener.readiness)
        self.server = self.listener.accept()
        self.world.run_until(lambda: self.client.readiness() & WRITABLE)

    def connect(self):
        return self.a.ports.network.connect(self.b.address, 9092)

    def arrives(self, socket, count, limit_ms=600_000):
        got = bytearray()

        def enough():
            got.extend(self.read(socket))
            return len(got) >= count

        self.world.run_until(enough, limit_ms)
        return bytes(got)

    @staticmethod
    def read(socket):
        buffer = bytearray(1000)
        try:
            return buffer[: socket.recv_into(memoryview(buffer))]
        except BlockingIOError:
            return b""

    def fails(self, socket):
        """The error that the socket meets, sooner or later."""
        errors = []

        def failed():
            try:
                socket.recv_into(memoryview(bytearray(100)))
            except BlockingIOError:
                return False
            except OSError as error:
                errors.append(error)
            return bool(errors)

        self.world.run_until(failed)
        return type(errors[0]) if errors else None


@pytest.fixture
def two():
    return Two()


def test_bytes_take_their_time(two):
    two.fabric.latency_us = (5000, 5000)
    two.client.send([b"hello"])
    two.world.run_for(4)
    assert two.read(two.server) == b""
    two.world.run_for(1)
    assert two.read(two.server) == b"hello"


def test_bytes_of_a_connection_stay_in_order_however_they_are_split(two):
    two.fabric.split_percent = 90
    two.fabric.short_percent = 50
    data = bytes(range(256)) * 20
    sent = 0
    while sent < len(data):
        sent += two.client.send([data[sent:]])
    assert two.arrives(two.server, len(data)) == data


def test_short_sends_and_reads_happen(two):
    two.fabric.short_percent = 100
    assert two.client.send([bytes(1000)]) < 1000
    two.world.run_for(100)
    assert two.client.send([bytes(1000)]) >= 1
    sizes = set()
    two.world.run_for(100)
    while got := two.read(two.server):
        sizes.add(len(got))
    assert len(sizes) > 1


def test_different_connections_overtake_each_other():
    orders = set()
    for seed in range(10):
        two = Two(seed)
        other = two.connect()
        two.world.run_until(two.listener.readiness)
        other_server = two.listener.accept()
        two.world.run_until(lambda other=other: other.readiness() & WRITABLE)
        two.client.send([b"first"])
        other.send([b"second"])
        ends = (two.server, other_server)
        two.world.run_until(lambda ends=ends: any(end.readiness() & READABLE for end in ends))
        orders.add(bool(other_server.readiness() & READABLE))
    assert orders == {True, False}


def test_a_one_way_cut_holds_back_one_direction_and_heals(two):
    two.fabric.cut(two.a.address, two.b.address)
    two.client.send([b"held back"])
    two.server.send([b"passes"])
    assert two.arrives(two.client, 6, 1000) == b"passes"
    two.world.run_for(10_000)
    assert two.read(two.server) == b""
    two.fabric.heal()
    assert two.arrives(two.server, 9, 30_000) == b"held back"


def test_a_long_partition_breaks_the_connection(two):
    two.fabric.partition(two.a.address, two.b.address)
    two.client.send([b"anybody?"])
    assert two.fails(two.client) is TimeoutError


def test_a_silent_peer_is_never_noticed_without_sending(two):
    two.fabric.partition(two.a.address, two.b.address)
    two.world.run_for(3_600_000)
    two.fabric.heal()
    two.client.send([b"still there"])
    assert two.arrives(two.server, 11) == b"still there"


def test_connecting_into_a_partition_waits_then_fails_or_succeeds(two):
    two.fabric.partition(two.a.address, two.b.address)
    client = two.connect()
    two.world.run_for(5000)
    assert client.readiness() == 0
    two.fabric.heal()
    assert two.world.run_until(lambda: client.readiness() & WRITABLE, 30_000)
    client.finish_connect()
    two.fabric.partition(two.a.address, two.b.address)
    client = two.connect()
    assert two.world.run_until(client.readiness)
    with pytest.raises(TimeoutError):
        client.finish_connect()


def test_an_address_that_nobody_has(two):
    client = two.a.ports.network.connect("10.9.9.9", 1)
    assert client.readiness() & WRITABLE
    with pytest.raises(OSError, match=r"10\.9\.9\.9"):
        client.finish_connect()


def test_buffers_are_bounded_and_room_must_be_told(two):
    two.fabric.buffer_bytes = 1000
    assert two.client.send([bytes(64 * 1024)]) == 64 * 1024, "made before the limit changed"
    client = two.connect()
    two.world.run_until(lambda: client.readiness() & WRITABLE)
    assert client.send([bytes(5000)]) == 1000
    assert not client.readiness() & WRITABLE
    server = two.listener.accept()
    two.world.run_for(1000)
    two.fabric.cut(two.b.address, two.a.address)
    assert len(two.read(server)) == 1000
    two.world.run_for(1000)
    assert not client.readiness() & WRITABLE, "the news of the room cannot pass"
    two.fabric.heal()
    assert two.world.run_until(lambda: client.readiness() & WRITABLE, 30_000)


def test_a_broken_connection_is_an_error_once_at_both_ends(two):
    two.client.send([b"lost on the way"])
    two.fabric.reset_connections(two.a.address, two.b.address)
    assert two.fails(two.client) is ConnectionResetError
    assert two.fails(two.server) is ConnectionResetError
    assert two.client.recv_into(memoryview(bytearray(9))) == 0
    with pytest.raises(BrokenPipeError):
        two.client.send([b"x"])


def test_what_had_arrived_before_a_reset_can_be_read(two):
    two.client.send([b"arrived"])
    two.world.run_for(100)
    two.fabric.reset_connections(two.a.address, two.b.address)
    two.world.run_for(100)
    assert two.read(two.server) == b"arrived"
    with pytest.raises(ConnectionResetError):
        two.server.recv_into(memoryview(bytearray(9)))


@pytest.mark.parametrize("seed", range(5))
def test_who_closes_without_having_read_all_takes_back_what_is_on_its_way(seed):
    two = Two(seed)
    two.client.send([b"never read"])
    assert two.world.run_until(two.server.readiness, 5000)
    two.world.run_for(1000)
    two.server.send([b"lost on the way"])
    two.server.close()
    two.world.run_for(5000)
    with pytest.raises(ConnectionResetError):
        two.client.recv_into(memoryview(bytearray(9)))


def test_connections_break_by_chance(two):
    two.fabric.reset_percent = 20
    with pytest.raises(ConnectionResetError):
        for _ in range(100):
            two.client.send([b"x"])


def test_a_killed_process_resets_its_peers(two):
    two.b.crash(KEEP_ALL, silent=False)
    assert two.fails(two.client) is ConnectionResetError
    client = two.connect()
    assert two.fails(client) is ConnectionRefusedError


def test_a_host_without_power_leaves_its_peers_half_open_until_they_send(two):
    two.b.crash(KEEP_ALL)
    two.world.run_for(3_600_000)
    assert two.client.readiness() == WRITABLE, "it knows nothing"
    two.client.send([b"hello?"])
    two.world.run_for(5000)
    assert two.client.readiness() == WRITABLE
    two.b.boot()
    assert two.fails(two.client) is ConnectionResetError


def test_a_full_backlog_makes_clients_wait(two):
    small = two.b.ports.network.listen("", 9093, backlog=1)
    clients = [two.a.ports.network.connect(two.b.address, 9093) for _ in range(2)]
    two.world.run_for(5000)
    assert sorted(client.readiness() for client in clients) == [0, WRITABLE]
    small.accept()
    two.world.run_for(5000)
    assert [client.readiness() for client in clients] == [WRITABLE, WRITABLE]


def test_names_of_nodes_resolve(two):
    assert two.a.ports.network.resolve("b", 9092) == [(two.b.address, 9092)]


def test_an_event_must_not_wait(two):
    poller = two.a.ports.network.poller()
    errors = []

    def wait():
        try:
            poller.poll(10)
        except RuntimeError as error:
            errors.append(str(error))

    two.world.after(0, wait)
    two.world.after(1, lambda: None)
    two.world.run_for(1)
    assert "timeout of 0" in errors[0]


def test_a_poll_lasts_until_something_is_ready_and_no_longer(two):
    poller = two.b.ports.network.poller()
    poller.watch(two.server, READABLE)
    two.client.send([b"hello"])
    began_us = two.world.now_us
    assert poller.poll(5000) == [(two.server.fileno(), READABLE)]
    arrived_us = two.world.now_us
    assert 0 < arrived_us - began_us < 1_000_000
    assert poller.poll(5000) == [(two.server.fileno(), READABLE)]
    assert two.world.now_us == arrived_us, "it was there already"


def test_a_poll_that_can_never_end_says_so(two):
    poller = two.a.ports.network.poller()
    two.world.run_for(10_000)
    with pytest.raises(RuntimeError, match="nothing will ever happen"):
        poller.poll(None)
