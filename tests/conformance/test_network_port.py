import errno

import pytest

from odradek.reactor.adapters.network import SystemNetwork
from odradek.reactor.adapters.portable_poller import PortablePoller
from odradek.reactor.ports import READABLE, WRITABLE
from outsides import RealOutside, SimOutside


class PortableNetwork(SystemNetwork):
    """With the poller of systems that have no epoll."""

    def poller(self):
        return PortablePoller()


@pytest.fixture(params=["real", "portable", "sim"])
def outside(request, tmp_path):
    made = SimOutside() if request.param == "sim" else RealOutside(tmp_path)
    if request.param == "portable":
        made.ports.network = PortableNetwork()
    yield made
    made.close()


@pytest.fixture
def network(ports):
    return ports.network


@pytest.fixture
def poller(network):
    made = network.poller()
    yield made
    made.close()


@pytest.fixture
def listener(network, outside):
    made = network.listen(outside.host, 0)
    yield made
    made.close()


def ready(poller, source, mask, timeout_ms=5000):
    """Waits until the source, watched for nothing else, is ready."""
    poller.watch(source, mask)
    found = poller.poll(timeout_ms)
    poller.unwatch(source)
    assert found == [(source.fileno(), mask)], found


@pytest.fixture
def pair(network, listener, poller):
    client = network.connect(*listener.address)
    ready(poller, listener, READABLE)
    server = listener.accept()
    ready(poller, client, WRITABLE)
    client.finish_connect()
    yield client, server
    client.close()
    server.close()


def receive(poller, socket, count):
    got = b""
    while len(got) < count:
        ready(poller, socket, READABLE)
        buffer = bytearray(count - len(got))
        size = socket.recv_into(memoryview(buffer))
        assert size, "closed too early"
        got += bytes(buffer[:size])
    return got


def test_bytes_go_both_ways(pair, poller):
    client, server = pair
    assert client.send([b"hel", bytearray(b"lo"), memoryview(b"!")]) == 6
    assert receive(poller, server, 6) == b"hello!"
    assert server.send([b"yes"]) == 3
    assert receive(poller, client, 3) == b"yes"


def test_addresses_are_told(pair, listener, outside):
    client, server = pair
    assert listener.address[0] == outside.host
    assert listener.address[1] > 0
    assert client.peer == listener.address
    assert server.peer[0] == outside.host


def test_nothing_blocks(pair, listener):
    client, _ = pair
    with pytest.raises(BlockingIOError):
        client.recv_into(memoryview(bytearray(1)))
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_peer_that_does_not_read_holds_the_sender_back(pair, poller):
    client, server = pair
    sent = 0
    with pytest.raises(BlockingIOError):
        while True:
            sent += client.send([bytes(1 << 16)])
    assert sent > 0
    poller.watch(client, WRITABLE)
    assert poller.poll(0) == []
    got = 0
    while got < sent:
        got += len(receive(poller_of(poller, client), server, min(sent - got, 1 << 16)))
    ready(poller, client, WRITABLE)


def poller_of(poller, source):
    poller.unwatch(source)
    return poller


def test_who_is_watched_once_is_told_of_once(pair, poller):
    client, server = pair
    client.send([b"x"])
    poller.watch(server, READABLE, once=True)
    assert poller.poll(5000) == [(server.fileno(), READABLE)]
    assert poller.poll(0) == []
    poller.watch(server, READABLE, once=True)
    assert poller.poll(5000) == [(server.fileno(), READABLE)], "what was not read is still there"
    poller.watch(server, READABLE)
    assert poller.poll(5000) == poller.poll(5000) == [(server.fileno(), READABLE)]
    poller.unwatch(server)


def test_a_file_is_sent_from_where_it_lies(pair, poller, ports, outside):
    client, server = pair
    path = f"{outside.root}/0.log"
    file = ports.disk.open(path, create=True)
    file.append([b"0123456789" * 100])
    assert client.send_file(file, 5, 10) == 10
    assert receive(poller, server, 10) == b"5678901234"
    assert client.send_file(file, 1000, 10) == 0, "nothing lies behind the end of the file"


def test_more_parts_than_one_system_call_are_sent_in_part(pair, poller):
    client, server = pair
    sent = client.send([b"ab"] * 3000)
    assert 0 < sent <= 6000
    assert receive(poller, server, sent) == (b"ab" * 3000)[:sent]


def test_a_closed_connection_reads_as_its_end(pair, poller):
    client, server = pair
    client.send([b"bye"])
    client.close()
    assert receive(poller, server, 3) == b"bye"
    ready(poller, server, READABLE)
    assert server.recv_into(memoryview(bytearray(9))) == 0


def test_sending_to_a_closed_connection_fails_in_the_end(pair, poller, outside):
    client, server = pair
    client.close()
    ready(poller, server, READABLE)

    def fails():
        try:
            server.send([b"anybody there?"])
        except (BrokenPipeError, ConnectionResetError):
            return True
        return False

    outside.until(fails)


def test_unread_bytes_turn_a_close_into_a_reset(pair, poller):
    client, server = pair
    client.send([b"never read"])
    ready(poller, server, READABLE)
    server.close()
    ready(poller, client, READABLE)
    with pytest.raises(ConnectionResetError):
        client.recv_into(memoryview(bytearray(9)))


def test_nobody_listens(network, listener, poller):
    address = listener.address
    listener.close()
    client = network.connect(*address)
    ready(poller, client, WRITABLE)
    with pytest.raises(ConnectionRefusedError):
        client.finish_connect()
    client.close()


def test_a_port_is_taken_once(network, listener):
    with pytest.raises(OSError, match="in use") as refusal:
        network.listen(*listener.address)
    assert refusal.value.errno == errno.EADDRINUSE


def test_a_poller_reports_what_is_watched_and_nothing_else(pair, poller):
    client, server = pair
    client.send([b"x"])
    ready(poller, server, READABLE)
    poller.watch(server, READABLE | WRITABLE)
    assert poller.poll(0) == [(server.fileno(), READABLE | WRITABLE)]
    poller.watch(server, WRITABLE)
    assert poller.poll(0) == [(server.fileno(), WRITABLE)]
    poller.watch(server, 0)
    assert poller.poll(0) == []
    poller.unwatch(server)
    poller.unwatch(server)
    assert poller.poll(0) == []


def test_readiness_lasts_until_it_is_used_up(pair, poller):
    client, server = pair
    client.send([b"xy"])
    ready(poller, server, READABLE)
    poller.watch(server, READABLE)
    for _ in range(3):
        assert poller.poll(0) == [(server.fileno(), READABLE)]
    server.recv_into(memoryview(bytearray(2)))
    assert poller.poll(0) == []


def test_a_poll_ends_when_its_time_is_up(ports, poller):
    before = ports.clock.mono_ms()
    assert poller.poll(20) == []
    assert ports.clock.mono_ms() - before >= 20


def test_a_wake_ends_one_poll(ports, poller):
    poller.wake()
    poller.wake()
    assert poller.poll(None) == []
    before = ports.clock.mono_ms()
    assert poller.poll(20) == []
    assert ports.clock.mono_ms() - before >= 20


def test_of_more_than_are_asked_for_the_others_come_in_their_turn(network, listener, poller):
    clients = []
    for _ in range(9):
        clients.append(network.connect(*listener.address))
        ready(poller, clients[-1], WRITABLE)
    for client in clients:
        poller.watch(client, WRITABLE)
    told = set()
    for _ in range(200):
        found = poller.poll(0, 2)
        assert 0 < len(found) <= 2
        told.update(fileno for fileno, _ in found)
    assert told == {client.fileno() for client in clients}
    assert len(poller.poll(0)) == 9
    for client in clients:
        poller.unwatch(client)
        client.close()


def test_who_is_watched_once_and_has_to_wait_for_its_turn_is_told_of_then(network, listener, poller):
    clients = []
    for _ in range(5):
        clients.append(network.connect(*listener.address))
        ready(poller, clients[-1], WRITABLE)
    for client in clients:
        poller.watch(client, WRITABLE, once=True)
    told = [fileno for _ in range(5) for fileno, _ in poller.poll(0, 1)]
    assert sorted(told) == sorted(client.fileno() for client in clients)
    assert poller.poll(0) == []
    for client in clients:
        poller.unwatch(client)
        client.close()


def test_a_poller_nests_in_another(network, pair, poller):
    client, server = pair
    inner = network.poller()
    inner.watch(server, READABLE)
    poller.watch(inner, READABLE)
    assert poller.poll(0) == []
    client.send([b"x"])
    assert poller.poll(5000) == [(inner.fileno(), READABLE)]
    assert inner.poll(0) == [(server.fileno(), READABLE)]
    poller.unwatch(inner)
    inner.close()


def test_a_number_may_be_used_again_after_close(network, listener, poller):
    first = network.connect(*listener.address)
    ready(poller, first, WRITABLE)
    number = first.fileno()
    first.close()
    second = network.connect(*listener.address)
    assert second.fileno() == number
    ready(poller, second, WRITABLE)
    second.close()


def test_names_are_resolved(network, outside):
    assert ("127.0.0.1" if outside.name == "real" else outside.host, 9092) in network.resolve("localhost", 9092)
    assert network.resolve(outside.host, 1) == [(outside.host, 1)]
    with pytest.raises(OSError, match=r"no-such-host|not known|resolution"):
        network.resolve("no-such-host.invalid", 9092)


def test_a_listener_may_ask_for_buffers_of_some_size(network, outside, poller):
    listener = network.listen(outside.host, 0, send_buffer_bytes=20_000, receive_buffer_bytes=20_000)
    client = network.connect(*listener.address)
    ready(poller, listener, READABLE)
    server = listener.accept()
    sent = 0
    with pytest.raises(BlockingIOError):
        while True:
            sent += server.send([bytes(10_000)])
    assert sent > 0
    for each in (client, server, listener):
        each.close()
