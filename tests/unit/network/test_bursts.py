"""Answers that go out together: where several connections are served in a row, small ones wait for each other."""

import pytest

from network_kit import correlation_id_of, echo, request
from odradek.reactor.loop import BURST
from odradek.reactor.sending_end import JOIN_BYTES_MAX

SMALL = b"x" * 100


class Log:
    """Serves as it is told, and keeps what had gone out of all connections when each request was served."""

    def __init__(self, rig):
        self.rig = rig
        self.out = []
        self.instead = {}  # by correlation id: called with the connection and the frame, in place of an echo

    def __call__(self, connection, frame):
        self.out.append(sum(one.bytes_out for one in self.rig.server.connections()))
        return self.instead.get(correlation_id_of(frame), echo)(connection, frame)


def started(rig, clients):
    """Connections that the server knows, and the log of what comes next."""
    log = Log(rig)
    rig.start(log)
    made = [rig.connect() for _ in range(clients)]
    for client in made:
        for number in range(10):
            rig.ask(client, request(number, SMALL))
    log.out.clear()
    return log, made


def ask_together(rig, clients, data):
    """All of them have asked before the server looks."""
    before = [len(client.frames()) for client in clients]
    for client in clients:
        client.send(data)
    rig.until(lambda: all(len(client.frames()) > count for client, count in zip(clients, before, strict=True)))


def test_small_answers_of_a_few_connections_go_out_together(real_rig):
    log, clients = started(real_rig, 2 * BURST)
    ask_together(real_rig, clients, request(77, SMALL))
    assert [client.correlation_ids()[-1] for client in clients] == [77] * len(clients)
    steps = [after - before for before, after in zip(log.out, log.out[1:], strict=False)]
    assert steps.count(0) >= len(clients) // 2, "between most of them nothing went out"
    assert max(steps) <= BURST * (len(SMALL) + 8)


def test_a_postponed_answer_is_one_that_is_on_its_way(real_rig):
    """Whoever stops the server waits for it."""
    log, clients = started(real_rig, 2)
    busy = []

    def look(connection, frame):
        busy.append(sum(one.is_busy for one in real_rig.server.connections()))
        return echo(connection, frame)

    log.instead[77] = look
    ask_together(real_rig, clients, request(77, SMALL))
    assert busy == [0, 1]


def test_a_large_answer_goes_out_at_once(real_rig):
    log, clients = started(real_rig, 3)
    ask_together(real_rig, clients, request(77, b"y" * JOIN_BYTES_MAX))
    steps = [after - before for before, after in zip(log.out, log.out[1:], strict=False)]
    assert len(steps) == 2 and all(step > 0 for step in steps)


def test_an_answer_that_somebody_else_brings_does_not_overtake_one_that_is_postponed(rig):
    log, clients = started(rig, 2)
    parked = []

    def second_brings_it(connection, frame):
        if not parked:
            parked.append((rig.loop.pending(), echo(connection, frame)))
            return parked[0][0]
        parked[0][0].resolve(parked[0][1])
        return echo(connection, frame)

    log.instead[2] = second_brings_it
    for client in clients:
        client.send(request(1, SMALL) + request(2, SMALL))
    rig.until(lambda: all(client.correlation_ids()[-1] == 2 for client in clients))
    assert [client.correlation_ids()[-2:] for client in clients] == [[1, 2]] * 2


class SecondEnds:
    """Whoever is served second ends the connection of the first."""

    def __init__(self, how):
        self.how = how
        self.first = None

    def __call__(self, connection, frame):
        if self.first is None:
            self.first = connection
        else:
            self.how(self.first)
        return echo(connection, frame)


@pytest.mark.parametrize(
    "how, last",
    [
        pytest.param(lambda connection: connection.close("enough"), 9, id="it takes its postponed answer along"),
        pytest.param(lambda connection: connection.close_after_send("enough"), 77, id="it sends it before"),
    ],
)
def test_a_connection_that_is_closed_within_a_burst(real_rig, how, last):
    log, clients = started(real_rig, 2)
    log.instead[77] = SecondEnds(how)
    for client in clients:
        client.send(request(77, SMALL))
    expected = [(False, 77), (True, last)]
    real_rig.until(lambda: sorted((one.is_closed, one.correlation_ids()[-1]) for one in clients) == expected)
    assert real_rig.errors == []


def test_who_does_not_read_gets_its_answers_in_order_when_it_does(rig):
    _, clients = started(rig, 3)
    deaf, busy = clients[0], clients[1:]
    deaf.reads = False
    answered = len(deaf.frames())
    asked = 0
    while not any(one.unsent_bytes for one in rig.server.connections()):
        asked += 1
        deaf.send(request(1000 + asked, b"z" * 16_000))
        ask_together(rig, busy, request(77, SMALL))
        assert asked < 2000, "the peer's buffers never fill"
    deaf.reads = True
    rig.until(lambda: len(deaf.frames()) == answered + asked)
    assert deaf.correlation_ids()[answered:] == [1000 + number for number in range(1, asked + 1)]
