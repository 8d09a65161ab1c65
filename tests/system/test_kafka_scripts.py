"""Kafka's scripts as processes: from bin/, with their standard streams, against a broker and against none."""

import json
from pathlib import Path

import pytest

import outside
from odradek.cli.kafka.scripts import SCRIPTS
from started import broker

BIN = Path(__file__).parents[2] / "bin"


def script(name, *arguments, **options):
    return outside.run([BIN / name, *arguments], seconds=60, **options)


@pytest.fixture(scope="module")
def bootstrap():
    with broker() as (host, port):
        yield f"{host}:{port}"


def test_every_script_is_there_and_helps():
    for name in SCRIPTS:
        assert (BIN / name).exists(), name
    done = script("kafka-topics.sh", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kafka-topics.sh: ")


def test_a_topic_is_created_listed_and_described(bootstrap):
    done = script(
        "kafka-topics.sh", "--bootstrap-server", bootstrap, "--create", "--topic", "orders", "--partitions", "2"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Created topic orders.\n", "")
    assert script("kafka-topics.sh", "--bootstrap-server", bootstrap, "--list").stdout == "orders\n"
    described = script("kafka-topics.sh", "--bootstrap-server", bootstrap, "--describe", "--topic", "orders").stdout
    assert described.count("\n") == 3


def test_what_goes_wrong_is_one_line_and_never_a_traceback(bootstrap, tmp_path):
    fast = tmp_path / "fast.properties"
    fast.write_text("default.api.timeout.ms=1000\nrequest.timeout.ms=500\n")
    for arguments in (
        ["--bootstrap-server", "127.0.0.1:1", "--command-config", str(fast), "--list"],
        ["--bootstrap-server", bootstrap, "--describe", "--topic", "absent"],
        ["--bootstrap-server", bootstrap, "--no-such-flag"],
        ["--list"],
    ):
        done = script("kafka-topics.sh", *arguments)
        assert done.returncode == 1
        assert len((done.stdout + done.stderr).splitlines()) == 1, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [["kafka-topics.sh", "--list"], ["kafka-console-consumer.sh", "--topic", "t"]])
def test_a_script_that_waits_says_for_what_and_goes_on(arguments):
    name, *rest = arguments
    command = [BIN / name, "--bootstrap-server", "127.0.0.1:1", *rest]
    with outside.Program(command, seconds=60, stdout=outside.PIPE, stderr=outside.PIPE, text=True) as program:
        assert program.stderr.readline().endswith("127.0.0.1:1: Connection refused; it is tried again\n")
        assert program.poll() is None


def test_it_says_so_once_and_still_ends_when_its_time_is_up(tmp_path):
    slow = tmp_path / "slow.properties"
    slow.write_text("default.api.timeout.ms=4000\nrequest.timeout.ms=500\n")
    done = script("kafka-topics.sh", "--bootstrap-server", "127.0.0.1:1", "--command-config", slow, "--list")
    assert done.returncode == 1
    assert done.stderr.endswith("Connection refused; it is tried again\n") and done.stderr.count("\n") == 1
    assert done.stdout.startswith("Error while executing topic command : ")


def test_an_entry_is_removed_only_if_the_question_is_answered_with_yes():
    authorizer = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with broker(properties=authorizer | {"super.users": "User:ANONYMOUS"}) as (host, port):
        there = ["--bootstrap-server", f"{host}:{port}"]
        script(
            "kafka-acls.sh",
            *there,
            "--add",
            "--allow-principal",
            "User:bob",
            "--operation",
            "Read",
            "--topic",
            "t",
            check=True,
        )
        for answer, is_left in (("n\n", True), ("y\n", False)):
            done = script("kafka-acls.sh", *there, "--remove", "--topic", "t", input=answer, check=True)
            assert "Are you sure" in done.stdout
            assert ("User:bob" in script("kafka-acls.sh", *there, "--list").stdout) is is_left


@pytest.mark.contract("B107", "B108")
def test_lines_are_written_and_read_one_at_a_time_and_no_more_than_asked_for(bootstrap):
    there = ["--bootstrap-server", bootstrap, "--topic", "lines"]
    script("kafka-console-producer.sh", *there, input="one\ntwo\nthree\n", check=True)
    for value in ("one", "two"):  # what was polled and not printed is left for the next reader of the group
        done = script("kafka-console-consumer.sh", *there, "--group", "g", "--from-beginning", "--max-messages", "1")
        assert (done.returncode, done.stdout) == (0, f"{value}\n")
        assert done.stderr == "Processed a total of 1 messages\n"
    done = script("kafka-console-consumer.sh", *there, "--partition", "0", "--offset", "2", "--max-messages", "1")
    assert done.stdout == "three\n"
    assert script("kafka-console-consumer.sh", *there, "--timeout-ms", "200").stdout == ""


def test_the_verifiable_producer_tells_of_each_record(bootstrap):
    there = ["--bootstrap-server", bootstrap, "--topic", "verified"]
    done = script("kafka-verifiable-producer.sh", *there, "--max-messages", "2", "--value-prefix", "7", check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["name"] for each in told] == [
        "startup_complete",
        "producer_send_success",
        "producer_send_success",
        "shutdown_complete",
        "tool_data",
    ]
    assert [(each["value"], each["offset"]) for each in told[1:3]] == [("7.0", 0), ("7.1", 1)]
    assert (told[-1]["sent"], told[-1]["acked"]) == (2, 2)
