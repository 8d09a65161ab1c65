"""How connections come to processors: how many processors there are, in which order, and what each has of its own."""

import struct

import pytest

from network_kit import broker_config, correlation_id_of, echo, request


def holders(rig, listener=None):
    """How many connections each processor of a listener has."""
    return [len(processor) for processor in (listener or rig.listener).processors]


@pytest.mark.contract("E9", "E14")
def test_connections_go_to_the_processors_of_their_listener_in_turn(rig):
    rig.start(overrides={"num.network.threads": "3", "listener.name.late.num.network.threads": "2"})
    late = rig.add_listener("LATE")
    for count in range(1, 7):
        rig.connect()
        rig.until(lambda count=count: len(rig.server.connections()) == count)
    assert holders(rig) == [2, 2, 2]
    rig.connect(late)
    rig.connect(late)
    rig.until(lambda: sum(holders(rig, late)) == 2)
    assert holders(rig, late) == [1, 1]


@pytest.mark.contract("E11")
def test_processors_are_numbered_over_all_listeners_and_no_number_comes_again(rig):
    rig.start(overrides={"num.network.threads": "2"})
    late = rig.add_listener("LATE")
    assert [[one.number for one in listener.processors] for listener in (rig.listener, late)] == [[0, 1], [2, 3]]
    for count in ("1", "2"):
        rig.server.update_config(broker_config({"num.network.threads": count}))
    assert [[one.number for one in listener.processors] for listener in (rig.listener, late)] == [[0, 4], [2, 5]]
    for number, listener in ((0, "PLAINTEXT"), (5, "LATE")):
        tags = {"listener": listener, "networkProcessor": str(number)}
        assert rig.registry.find("kafka.server", "socket-server-metrics", "connection-count", tags) is not None


@pytest.mark.contract("E20")
def test_a_processor_that_is_added_while_running_serves_and_one_that_goes_leaves_its_connections(rig):
    rig.start(overrides={"num.network.threads": "1"})
    clients = [rig.connect()]
    rig.until(lambda: len(rig.server.connections()) == 1)
    rig.server.update_config(broker_config({"num.network.threads": "2"}))
    clients += [rig.connect(), rig.connect()]
    rig.until(lambda: len(rig.server.connections()) == 3)
    assert sorted(holders(rig)) == [1, 2]
    for number, client in enumerate(clients):
        assert rig.ask(client, request(number)) == [struct.pack(">i", number)]
    rig.server.update_config(broker_config({"num.network.threads": "1"}))
    assert holders(rig) == [3]
    for number, client in enumerate(clients):
        assert rig.ask(client, request(number)) == [struct.pack(">i", number)]


@pytest.mark.contract("E26")
def test_the_index_in_the_id_of_a_connection_never_comes_again(rig):
    rig.start(overrides={"num.network.threads": "1"})
    seen = []
    for _ in range(3):
        client = rig.connect()
        seen.append(rig.connection().id)
        client.close()
        rig.until(lambda: not rig.server.connections())
    assert [one.rpartition("-")[2] for one in seen] == ["0", "1", "2"]


@pytest.mark.contract("E40")
def test_an_answer_goes_out_by_the_processor_that_its_request_came_in_by(rig):
    waiting = {}

    def serve(connection, frame):
        waiting[correlation_id_of(frame)] = rig.loop.pending(), echo(connection, frame)
        return waiting[correlation_id_of(frame)][0]

    rig.start(serve, overrides={"num.network.threads": "2"})
    clients = [rig.connect() for _ in range(2)]
    rig.until(lambda: holders(rig) == [1, 1])
    for number, client in enumerate(clients):
        client.send(request(number, b"x" * (10 + number)))
    rig.until(lambda: len(waiting) == 2)
    for number in (1, 0):  # the later one first
        pending, answer = waiting[number]
        pending.resolve(answer)
    rig.until(lambda: all(client.frames() for client in clients))
    assert [client.correlation_ids() for client in clients] == [[0], [1]]
    for processor in rig.listener.processors:
        (connection,) = processor.connections()
        assert processor.bytes_out == connection.bytes_out == connection.bytes_in - 6 > 0


@pytest.mark.contract("E25")
def test_a_connection_that_fails_takes_nobody_along(rig):
    def serve(connection, frame):
        if correlation_id_of(frame) == 2:
            raise RuntimeError("a bug")
        return echo(connection, frame)

    rig.start(serve, overrides={"num.network.threads": "1"})
    bad, good = rig.connect(), rig.connect()
    bad.send(request(2))
    rig.until(lambda: bad.is_closed)
    assert rig.ask(good, request(1, b"still here")) == [struct.pack(">i", 1) + b"still here"]
    assert rig.ask(rig.connect(), request(3)) == [struct.pack(">i", 3)]
    assert [str(error) for error in rig.errors] == ["a bug"]


@pytest.mark.contract("E44")
@pytest.mark.parametrize("outcome", ["an answer", "none", "a wait", "a bug"])
def test_the_memory_of_a_long_request_is_given_back_whatever_becomes_of_it(rig, outcome):
    held, parked = [], []

    def serve(connection, frame):
        held.append(rig.server.memory.used_bytes)
        if outcome == "a bug":
            raise RuntimeError(outcome)
        if outcome == "a wait":
            parked.append(rig.loop.pending())
            return parked[0]
        return None if outcome == "none" else [struct.pack(">ii", 4, 1)]

    client = rig.start(serve).connect()
    client.send(request(1, b"x" * 300_000))
    rig.until(lambda: held)
    rig.pass_ms(5)
    assert held[0] >= 300_000
    assert rig.server.memory.used_bytes == 0


@pytest.mark.contract("E36")
def test_a_send_that_takes_its_time_is_measured_and_what_follows_is_served_behind_it(sim_rig):
    size = 10 * 1024 * 1024

    def serve(connection, frame):
        return [struct.pack(">ii", 4 + size, correlation_id_of(frame)), bytes(size)]

    client = sim_rig.start(serve).connect()
    client.reads = False
    client.send(request(1))
    sim_rig.until(lambda: sim_rig.connection().unsent_bytes)
    sim_rig.pass_ms(300)
    client.reads = True
    sim_rig.until(lambda: client.frames())
    sim_rig.ask(client, request(2))
    assert client.correlation_ids() == [1, 2]
    list(sim_rig.registry)  # whoever reads them has them handed in
    sent = sim_rig.registry.find("kafka.network", "RequestMetrics", "ResponseSendTimeMs", {"request": "Metadata"})
    assert sent.maximum >= 300
    assert sent.count == 2
