"""Kafka Streams 4.3 in a streams group: the broker makes its topics, assigns its tasks, and moves them."""

import time

import clients
import pytest
from fetching import Unavailable

import outside
from started import broker
from wire_replay import SocketTarget, create_topic

VERSION = "4.3.0"
DEADLINE_S = 90
PROGRAM_SECONDS_MAX = 300
QUICK = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
}


class WordCount:
    """The program, a line at a time."""

    def __init__(self, command, address):
        host, port = address
        streams = {"stdin": outside.PIPE, "stdout": outside.PIPE, "text": True}
        self.process = outside.Program([*command, f"{host}:{port}"], seconds=PROGRAM_SECONDS_MAX, **streams)

    def asked(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        for told in self.process.stdout:  # Streams logs there too
            if told.startswith("> "):
                return told[2:].strip()
        raise AssertionError(f"the program ended at {line!r}")

    def until(self, line, wanted):
        deadline = time.monotonic() + DEADLINE_S
        while (told := self.asked(line)) != wanted:
            assert time.monotonic() < deadline, f"{line}: {told}, not {wanted}"
            time.sleep(0.2)

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


@pytest.fixture
def command():
    try:
        return clients.java_program(VERSION, "StreamsWordCount.java", "-streams")
    except Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def word_count(command):
    with broker("4.3", QUICK) as address:
        target = SocketTarget(*address)
        create_topic(target.ask, "words", partitions=2)
        create_topic(target.ask, "counts")
        target.close()
        program = WordCount(command, address)
        with program.process:
            yield program
            program.end()


def test_words_are_counted_wherever_the_tasks_are(word_count):
    assert word_count.asked("start one app") == "started"
    word_count.until("state one", "RUNNING")
    word_count.asked("write kafka streams kafka")
    word_count.until("counts", "{kafka=2, streams=1}")
    word_count.until("describe app", "Stable 1 members 4 tasks")

    word_count.asked("start two app")
    word_count.until("describe app", "Stable 2 members 4 tasks")
    word_count.asked("write kafka hello")
    word_count.until("counts", "{hello=1, kafka=3, streams=1}")

    assert word_count.asked("close one") == "closed"
    word_count.asked("write hello kafka")
    word_count.until("counts", "{hello=2, kafka=4, streams=1}")
    word_count.until("describe app", "Stable 1 members 4 tasks")
