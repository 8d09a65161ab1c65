"""Java's share consumer and Kafka's own tools for share groups, on a broker that is stopped and killed in between."""

import clients
import pytest
from kafka_tools import Unavailable, jars, run

import outside
from broker_process import BrokerProcess

VERSION = "4.3.0"
POLL_SECONDS_MAX = 40
SECONDS_MAX = 300  # of all polls of a test together
LOCK_MS = 15_000
GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
OVERRIDES = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "3",
}


class Consumers:
    """A process of Java's with share consumers in it."""

    def __init__(self, command, bootstrap):
        streams = {"stdin": outside.PIPE, "stdout": outside.PIPE, "stderr": outside.DEVNULL}
        self._process = outside.Program([*command, bootstrap], seconds=SECONDS_MAX, text=True, **streams)

    def tell(self, *words):
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the program ended at {words}"
        verb, *rest = line.split()
        assert verb != "failed", rest
        return rest

    def poll(self, name, seconds=POLL_SECONDS_MAX):
        """{value: delivery count}"""
        return {
            value: int(count) for value, _, count in (each.partition(":") for each in self.tell("poll", name, seconds))
        }

    def end(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def command():
    try:
        return clients.java_program(VERSION, "ShareConsumers.java")
    except Unavailable as reason:
        pytest.skip(str(reason))


def started(data):
    overrides = [part for pair in OVERRIDES.items() for part in ("--override", "=".join(pair))]
    return BrokerProcess("--data", str(data), "--release-version", "4.3", *overrides)


def tool(broker, name, *arguments):
    return run(VERSION, name, "--bootstrap-server", broker.bootstrap, *arguments)[0]


def prepare(broker, topic="t", group="g", **configs):
    tool(broker, "org.apache.kafka.tools.TopicCommand", "--create", "--topic", topic, "--partitions", "1")
    configs = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": str(LOCK_MS)}
    pairs = ",".join(f"{name}={value}" for name, value in configs.items())
    alter = ("--alter", "--entity-type", "groups", "--entity-name", group, "--add-config", pairs)
    tool(broker, "kafka.admin.ConfigCommand", *alter)


def produce(broker, topic, values):
    where = ("--bootstrap-server", broker.bootstrap, "--topic", topic)
    run(VERSION, PRODUCER, *where, input="\n".join(values) + "\n")


def offsets(broker, group="g"):
    """{partition: (start offset, lag)} as the tool tells them."""
    lines = tool(broker, GROUPS, "--describe", "--offsets", "--group", group).splitlines()
    rows = [line.split() for line in lines if line.startswith(f"{group} ")]
    return {int(row[2]): (row[3], row[4]) for row in rows}


def test_the_life_of_records(command, tmp_path):
    """Accepted, released, rejected, locked for too long, and what is left of it after a kill."""
    with started(tmp_path / "data") as broker:
        prepare(broker)
        produce(broker, "t", "abcdef")
        java = Consumers(command, broker.bootstrap)
        try:
            java.tell("open", "one", "g", "t")
            assert java.poll("one") == dict.fromkeys("abcdef", 1)
            assert java.tell("accept", "one", "a", "b") == []
            assert java.tell("reject", "one", "c") == []
            assert java.tell("release", "one", "d", "e", "f") == []
            assert java.poll("one") == dict.fromkeys("def", 2)
            assert java.tell("accept", "one", "d") == []
            java.tell("open", "two", "g", "t")
            # the locks of the others end, and they go to whoever asks
            assert java.poll("two") == {"e": 3, "f": 3}
            assert java.tell("accept", "two", "e") == []
        finally:
            java.end()
        broker.kill()
    with started(tmp_path / "data") as broker:
        java = Consumers(command, broker.bootstrap)
        try:
            java.tell("open", "three", "g", "t")
            left = java.poll("three")
            assert left.keys() == {"f"} and left["f"] >= 3
            assert java.tell("accept", "three", "f") == []
            java.tell("close", "three")
        finally:
            java.end()
        assert offsets(broker) in ({0: ("6", "0")}, {0: ("5", "0")})
        assert broker.stop() == (0, "")


def test_the_tools(tmp_path):
    try:
        jars(VERSION)
    except Unavailable as reason:
        pytest.skip(str(reason))
    with started(tmp_path / "data") as broker:
        prepare(broker)
        produce(broker, "t", ["1", "2", "3"])
        consume = ("--topic", "t", "--group", "g", "--timeout-ms", "20000", "--max-messages")
        assert tool(broker, CONSOLE, *consume, "2").split()[:2] == ["1", "2"]
        assert tool(broker, GROUPS, "--list").split() == ["g"]
        assert offsets(broker) == {0: ("2", "1")}
        assert "Empty" in tool(broker, GROUPS, "--describe", "--state", "--group", "g")
        reset = ("--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest", "--execute")
        assert "NEW-OFFSET" in tool(broker, GROUPS, *reset)
        assert offsets(broker) == {0: ("0", "3")}
        assert tool(broker, CONSOLE, *consume, "1").split()[0] == "1"
        assert "Successful" in tool(broker, GROUPS, "--delete-offsets", "--group", "g", "--topic", "t")
        assert offsets(broker) == {}
        assert "was successful" in tool(broker, GROUPS, "--delete", "--group", "g")
        assert tool(broker, GROUPS, "--list").split() == []
        assert broker.stop() == (0, "")
