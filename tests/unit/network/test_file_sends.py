"""File ranges on their way to a client: whole, released on every path, and never more than the file has."""

import struct

import pytest

from network_kit import correlation_id_of, request
from odradek.reactor.file_range import File

MB = 1024 * 1024


@pytest.fixture
def path(rig, tmp_path):
    if rig.name == "real":
        return str(tmp_path / "segment.log")
    rig.ports.disk.mkdir("/data")
    return "/data/segment.log"


@pytest.fixture
def content():
    return (bytes(range(251)) * (3 * MB // 251 + 1))[: 3 * MB]


@pytest.fixture
def file(rig, path, content):
    disk_file = rig.ports.disk.open(path, create=True)
    disk_file.append([content])
    return File(disk_file)


def sending(file, size):
    def serve(connection, frame):
        head = struct.pack(">ii", 4 + 6 + size, correlation_id_of(frame))
        return [head, b"<<<", file.range(10, size), b">>>"]

    return serve


@pytest.mark.contract("E77")
def test_a_range_is_sent_between_the_bytes_around_it(rig, file, content):
    size = 2 * MB
    client = rig.start(sending(file, size)).connect()
    frames = rig.ask(client, request(1) + request(2), count=2)
    for frame in frames:
        assert frame[4:] == b"<<<" + content[10 : 10 + size] + b">>>"
    file.release()
    assert not file.is_open


def test_an_empty_range_is_nothing(rig, file):
    client = rig.start(sending(file, 0)).connect()
    (frame,) = rig.ask(client, request(1))
    assert frame[4:] == b"<<<>>>"
    file.release()
    assert not file.is_open


def test_a_client_that_leaves_lets_the_file_go(rig, file):
    client = rig.start(sending(file, 2 * MB)).connect()
    client.reads = False
    for number in range(30):
        client.send(request(number))
    rig.until(lambda: rig.connection().unsent_bytes)
    client.close()
    rig.until(lambda: not rig.server.connections())
    file.release()
    assert not file.is_open


def test_a_file_that_was_cut_closes_the_connection(rig, file):
    client = rig.start(sending(file, 2 * MB)).connect()
    file.disk_file.truncate(1 * MB)
    client.send(request(1))
    rig.until(lambda: client.is_closed)
    assert client.frames() == []
    file.release()
    assert not file.is_open
    assert rig.errors == []


def test_an_answer_to_a_closed_connection_lets_the_file_go(rig, file):
    rig.start()
    rig.connect()
    connection = rig.connection()
    connection.close()
    connection.send([b"x", file.range(0, 100)])
    file.release()
    assert not file.is_open


def test_a_handler_that_fails_behind_an_answer_lets_the_file_go(rig, file):
    answers = sending(file, 1 * MB)

    def serve(connection, frame):
        if correlation_id_of(frame) == 2:
            raise RuntimeError("a bug")
        return answers(connection, frame)

    client = rig.start(serve).connect()
    client.send(request(1) + request(2))
    rig.until(lambda: client.is_closed)
    file.release()
    assert not file.is_open
