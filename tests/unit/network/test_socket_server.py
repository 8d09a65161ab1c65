"""The socket server from outside: bytes in, bytes out, on real and on simulated sockets."""

import struct

import pytest

from network_kit import answer_of, broker_config, correlation_id_of, echo, held_bytes, request
from odradek.network.request_channel import nobody_serves
from odradek.protocol.errors import PeerProtocolError
from odradek.reactor.file_range import File
from odradek.reactor.ports import Cancelled


@pytest.mark.contract("C48")
def test_a_request_is_answered(rig):
    client = rig.start().connect()
    assert rig.ask(client, request(7, b"hello")) == [struct.pack(">i", 7) + b"hello"]


def test_pipelined_requests_are_answered_in_order(rig):
    client = rig.start().connect()
    rig.ask(client, b"".join(request(number, b"x" * number) for number in range(100)), count=100)
    assert client.correlation_ids() == list(range(100))


def test_a_frame_may_come_byte_by_byte(rig):
    client = rig.start().connect()
    data = request(1, b"slowly") + request(2, b"but surely")
    for at in range(len(data)):
        client.send(data[at : at + 1])
        rig.pass_ms(1)
    rig.until(lambda: len(client.frames()) == 2)
    assert client.frames()[1][4:] == b"but surely"


@pytest.mark.parametrize("size", [4000, 5000, 70_000, 300_000, 3_000_000])
def test_a_long_frame_arrives_as_it_was_sent(rig, size):
    client = rig.start().connect()
    body = (bytes(range(251)) * (size // 251 + 1))[:size]
    (frame, last) = rig.ask(client, request(1, body) + request(2, b"behind it"), count=2)
    assert frame[4:] == body
    assert last[4:] == b"behind it"
    assert rig.server.memory.used_bytes == 0


@pytest.mark.contract("E49", "E66")
def test_nothing_is_sent_for_none(rig):
    def serve(connection, frame):
        return None if correlation_id_of(frame) % 2 else echo(connection, frame)

    client = rig.start(serve).connect()
    rig.ask(client, b"".join(map(request, range(6))), count=3)
    assert client.correlation_ids() == [0, 2, 4]


def test_who_answers_may_be_told_after_the_listeners_are_bound(rig):
    rig.start(nobody_serves)
    rig.server.serve_with(echo)
    assert rig.ask(rig.connect(), request(7, b"hello")) == [struct.pack(">i", 7) + b"hello"]


def test_a_port_in_use_is_an_error(rig):
    rig.start()
    with pytest.raises(OSError, match="in use"):
        rig.ports.network.listen(*rig.listener.address)


def test_nobody_is_served_before_enable(rig):
    rig.start()
    late = rig.server.add_listener(type(rig.listener.endpoint)("LATE", "PLAINTEXT", rig.host, 0), echo)
    assert late.address[1] > 0
    rig.until(lambda: rig.connect(late))


class Parking:
    """Parks the requests whose body is `park`, and answers them when told so."""

    def __init__(self, rig):
        self.rig = rig
        self.parked = []
        self.served = []

    def __call__(self, connection, frame):
        self.served.append(correlation_id_of(frame))
        if bytes(frame[10:]) != b"park":
            return echo(connection, frame)
        pending = self.rig.loop.pending()
        self.parked.append((correlation_id_of(frame), pending))
        return pending

    def resolve(self):
        correlation_id, pending = self.parked.pop(0)
        pending.resolve([answer_of(correlation_id, b"later")])


@pytest.mark.contract("E28")
def test_what_follows_a_parked_request_waits_for_it(rig):
    serve = Parking(rig)
    client = rig.start(serve).connect()
    client.send(request(1) + request(2, b"park") + request(3) + request(4, b"park") + request(5))
    rig.until(lambda: client.correlation_ids() == [1])
    rig.pass_ms(20)
    assert serve.served == [1, 2]
    serve.resolve()
    rig.until(lambda: client.correlation_ids() == [1, 2, 3])
    assert serve.served == [1, 2, 3, 4]
    serve.resolve()
    rig.until(lambda: client.correlation_ids() == [1, 2, 3, 4, 5])


@pytest.mark.contract("E35")
def test_requests_that_come_while_one_is_parked_are_read_later(rig):
    serve = Parking(rig)
    client = rig.start(serve).connect()
    client.send(request(1, b"park"))
    rig.until(lambda: serve.parked)
    for number in range(2, 40):
        client.send(request(number, b"y" * 3000))
    rig.pass_ms(30)
    assert held_bytes(rig.connection()) <= 4096
    serve.resolve()
    rig.until(lambda: len(client.frames()) == 39)
    assert client.correlation_ids() == list(range(1, 40))


def test_a_pending_that_is_done_already_is_an_answer(rig):
    def serve(connection, frame):
        pending = rig.loop.pending()
        pending.resolve(echo(connection, frame))
        return pending

    client = rig.start(serve).connect()
    rig.ask(client, request(1) + request(2), count=2)
    assert client.correlation_ids() == [1, 2]


@pytest.mark.contract("E37")
def test_a_parked_request_of_a_client_that_has_left_is_given_up(rig):
    serve = Parking(rig)
    client = rig.start(serve).connect()
    client.send(request(1, b"park"))
    rig.until(lambda: serve.parked)
    closed = []
    rig.connection().when_closed(lambda: closed.append(True))
    client.close()
    rig.until(lambda: not rig.server.connections())
    assert closed == [True]
    assert isinstance(serve.parked[0][1].error, Cancelled)
    rig.pass_ms(5)
    assert rig.errors == []


@pytest.mark.contract("E39")
def test_an_answer_that_meets_a_close_lets_its_file_go(rig):
    serve = Parking(rig)
    rig.start(serve).connect().send(request(1, b"park"))
    rig.until(lambda: serve.parked)
    file = File(FakeFile())
    serve.parked[0][1].resolve([file.range(0, 10)])
    rig.connection().close("before the answer has come out of the queue")
    file.release()
    rig.until(lambda: not file.is_open)
    assert rig.errors == []


class FakeFile:
    path = "a file"

    def close(self):
        pass


def test_bytes_that_are_no_request_close_the_connection_behind_the_answers_before(rig):
    def serve(connection, frame):
        if correlation_id_of(frame) == 3:
            raise PeerProtocolError("no sense", 0)
        return echo(connection, frame)

    client = rig.start(serve).connect()
    client.send(request(1) + request(2) + request(3) + request(4))
    rig.until(lambda: client.is_closed)
    assert client.correlation_ids() == [1, 2]
    assert rig.errors == []
    assert rig.server.connections() == []


def test_a_fault_of_our_own_closes_the_connection_and_is_told(rig):
    def serve(connection, frame):
        raise RuntimeError("a bug")

    client = rig.start(serve).connect()
    client.send(request(1))
    rig.until(lambda: client.is_closed)
    assert [str(error) for error in rig.errors] == ["a bug"]
    assert rig.server.quotas.total == 0


def test_a_parked_request_that_fails_closes_the_connection_and_is_told(rig):
    pendings = []

    def serve(connection, frame):
        pendings.append(rig.loop.pending())
        return pendings[-1]

    client = rig.start(serve).connect()
    client.send(request(1))
    rig.until(lambda: pendings)
    pendings[0].fail(RuntimeError("a bug"))
    rig.until(lambda: client.is_closed)
    assert [str(error) for error in rig.errors] == ["a bug"]


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 3, 1001, 2**31 - 1])
def test_a_length_that_no_request_has_closes_the_connection(rig, length):
    rig.start(overrides={"socket.request.max.bytes": "1000"})
    client = rig.connect()
    client.send(request(1) + struct.pack(">i", length))
    rig.until(lambda: client.is_closed)
    assert client.correlation_ids() == [1]
    assert rig.errors == []


def test_a_tls_greeting_on_a_plain_port_closes_the_connection(rig):
    client = rig.start().connect()
    client.send(bytes.fromhex("16030100c8010000c40303") + b"\0" * 180)
    rig.until(lambda: client.is_closed)
    assert rig.errors == []


def test_memory_follows_the_bytes_that_came_not_the_length_that_was_announced(rig):
    client = rig.start().connect()
    client.send(struct.pack(">i", 100_000_000) + bytes(5000))  # API 0: produce requests may be that long
    rig.until(lambda: rig.connection().bytes_in == 5004)
    assert held_bytes(rig.connection()) < 64 * 1024
    client.close()
    rig.until(lambda: not rig.server.connections())
    assert rig.server.memory.used_bytes == 0


METADATA = 3


def test_a_frame_too_long_for_its_api_is_refused_by_its_first_bytes(rig):
    client = rig.start().connect()
    client.send(struct.pack(">ihh", 9_000_000, METADATA, 12) + bytes(5000))
    rig.until(lambda: client.is_closed)
    assert rig.server.memory.used_bytes == 0
    assert not rig.server.connections()


@pytest.mark.contract("E28")
def test_a_throttled_connection_is_answered_but_not_served_for_a_while(rig):
    served = []

    def serve(connection, frame):
        served.append(correlation_id_of(frame))
        if served == [1]:
            connection.throttle(60)
        return echo(connection, frame)

    client = rig.start(serve).connect()
    rig.ask(client, request(1) + request(2))
    assert client.correlation_ids() == [1]
    rig.pass_ms(20)
    assert served == [1]
    rig.until(lambda: client.correlation_ids() == [1, 2])


def test_a_handler_may_close_the_connection(rig):
    def serve(connection, frame):
        connection.close("a fault that was asked for")
        return echo(connection, frame)

    client = rig.start(serve).connect()
    client.send(request(1))
    rig.until(lambda: client.is_closed)
    assert client.received == b""
    assert rig.errors == []


@pytest.mark.contract("E9", "E14")
def test_processors_come_and_go_without_disconnecting_anybody(rig):
    rig.start(overrides={"num.network.threads": "3"})
    clients = [rig.connect() for _ in range(6)]
    rig.until(lambda: len(rig.server.connections()) == 6)
    assert [len(processor) for processor in rig.listener.processors] == [2, 2, 2]
    for count in (1, 4):
        rig.server.update_config(broker_config({"num.network.threads": str(count)}))
        assert len(rig.listener.processors) == count
        for number, client in enumerate(clients):
            assert rig.ask(client, request(number)) == [struct.pack(">i", number)]
    assert len(rig.server.connections()) == 6
    rig.connect()
    rig.until(lambda: len(rig.server.connections()) == 7)


@pytest.mark.contract("D51")
def test_stop_waits_for_the_answers_that_are_owed(rig):
    serve = Parking(rig)
    client = rig.start(serve).connect()
    client.send(request(1, b"park"))
    rig.until(lambda: serve.parked)
    address = rig.listener.address
    stopping = rig.loop.spawn(rig.server.stop(drain_ms=5000))
    client.send(request(2))
    rig.pass_ms(20)
    assert not stopping.is_done
    serve.resolve()
    rig.until(lambda: stopping.is_done and client.is_closed)
    assert client.correlation_ids() == [1]
    rig.ports.network.listen(*address).close()


@pytest.mark.contract("E39")
def test_stop_does_not_wait_for_ever(rig):
    serve = Parking(rig)
    client = rig.start(serve).connect()
    client.send(request(1, b"park"))
    rig.until(lambda: serve.parked)
    stopping = rig.loop.spawn(rig.server.stop(drain_ms=30))
    rig.until(lambda: stopping.is_done and client.is_closed)
    assert rig.server.quotas.total == 0


@pytest.mark.contract("C56", "E26", "E33")
def test_a_connection_tells_who_and_where_it_is(rig):
    client = rig.start().connect()
    rig.until(lambda: rig.server.connections())
    connection = rig.connection()
    local, peer = rig.listener.address, connection.address
    assert connection.id == f"{local[0]}:{local[1]}-{peer[0]}:{peer[1]}-0"
    assert connection.listener == "PLAINTEXT"
    assert str(connection.principal) == "User:ANONYMOUS"
    assert connection.is_privileged  # PLAINTEXT is the listener between brokers
    assert connection.authenticator is None
    client.close()


def test_the_control_plane_is_privileged(rig):
    rig.start()
    control = rig.add_listener("CONTROLLER", plane="control")
    rig.connect(control)
    rig.until(lambda: rig.server.connections())
    assert rig.connection().is_privileged
    assert len(control.processors) == 1
