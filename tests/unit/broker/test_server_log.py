"""Lines of the server log: levels per logger, Kafka's format, and a writer that never holds up the reactor."""

import os
import re
import threading

import pytest

from odradek.broker.server_log import ServerLog
from odradek.reactor.adapters.log_writer import LogWriter, format_line
from threads import joined


@pytest.fixture
def seen():
    return []


def log_with(seen, levels=None):
    return ServerLog(lambda: 1234, lambda *line: seen.append(line), levels)


def test_a_line_has_its_prefix_and_logger(seen):
    log_with(seen).logger("kafka.server.BrokerServer", "[BrokerServer id=1] ").info("Starting broker")
    assert seen == [(1234, "INFO", "[BrokerServer id=1] Starting broker", "kafka.server.BrokerServer")]


@pytest.mark.parametrize(
    ("levels", "written"),
    [
        ({}, ["INFO", "WARN", "ERROR"]),
        ({"root": "WARN"}, ["WARN", "ERROR"]),
        ({"root": "ERROR", "kafka.server": "DEBUG"}, ["DEBUG", "INFO", "WARN", "ERROR"]),
        ({"kafka.server.X": "OFF"}, []),
        ({"kafka.serv": "OFF"}, ["INFO", "WARN", "ERROR"]),
    ],
)
def test_the_nearest_logger_decides(seen, levels, written):
    logger = log_with(seen, levels).logger("kafka.server.X")
    for write in (logger.debug, logger.info, logger.warn, logger.error):
        write("text")
    assert [line[1] for line in seen] == written


def test_levels_change_while_it_runs(seen):
    levels = {}
    logger = log_with(seen, levels).logger("kafka.server.X")
    logger.debug("before")
    levels["kafka.server.X"] = "DEBUG"
    logger.debug("after")
    assert [line[2] for line in seen] == ["after"]


def test_an_error_brings_its_traceback(seen):
    try:
        raise ValueError("broken")
    except ValueError as error:
        log_with(seen).logger("x").error("It failed.", error)
    assert seen[0][2].startswith("It failed.\nTraceback")
    assert seen[0][2].endswith("ValueError: broken")


def test_the_format_is_kafkas():
    line = format_line(1_700_000_000_042, "INFO", "[KafkaRaftServer nodeId=1] Kafka Server started", "kafka.server.X")
    assert re.fullmatch(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,042\] INFO \[Kafka.* started \(kafka\.server\.X\)\n", line)


def test_a_traceback_follows_its_line():
    assert format_line(0, "ERROR", "one\ntwo\nthree", "x").endswith(" ERROR one (x)\ntwo\nthree\n")


def test_the_writer_writes_all_of_it_in_order(tmp_path):
    path = tmp_path / "server.log"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    writer = LogWriter([fd], "INFO")
    for number in range(500):
        writer.write(0, "INFO", f"line {number} \udc80", "x")
        writer.write(0, "DEBUG", "too low", "x")
    writer.close()
    os.close(fd)
    lines = path.read_text().splitlines()
    assert len(lines) == 500
    assert all(f" line {number} " in line for number, line in enumerate(lines))


def test_a_reader_that_does_not_read_costs_lines_and_never_time():
    reading, writing = os.pipe()
    writer = LogWriter([writing], lines_max=100)
    for _ in range(20_000):
        writer.write(0, "INFO", "x" * 1000, "x")  # would block long before
    collected = bytearray()

    def read():
        while chunk := os.read(reading, 1 << 16):
            collected.extend(chunk)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    writer.close()
    os.close(writing)
    joined(reader)
    os.close(reading)
    assert b"lines were dropped" in collected
    assert collected.count(b"INFO") < 20_000
