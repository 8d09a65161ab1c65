"""The commands that ask a cluster and change it, run as a user runs them: as processes, against a real broker."""

import json
import os
import sys
import time

import pytest

import outside
import started
from cli_shell import SECONDS_MAX, STEP_S_MAX, Shell, terminals

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def odradek(tmp_path_factory):
    with started.broker(properties=AUTHORIZER) as (host, port):
        yield Shell(f"{host}:{port}", tmp_path_factory.mktemp("home"))


def test_the_life_of_a_topic(odradek):
    assert odradek.run("topics", "list").stderr == "there are no topics; odradek topics create NAME makes one\n"
    made = odradek("topics", "create", "orders", "-p", "3", "--set", "retention.ms=3600000")
    assert made == "CREATED  PARTITIONS  REPLICAS\norders            3         1\n"
    assert odradek("topics", "list") == "TOPIC   PARTITIONS  REPLICAS\norders           3         1\n"
    (shown,) = odradek.json("topics", "show", "orders")
    assert shown["configs"] == {"retention.ms": "3600000"}
    assert [each["partition"] for each in shown["partitions"]] == [0, 1, 2]

    odradek("topics", "grow", "orders", "4")
    odradek("topics", "set", "orders", "retention.ms=7200000", "cleanup.policy=compact")
    odradek("topics", "set", "orders", "--unset", "cleanup.policy")
    (shown,) = odradek.json("topics", "show", "orders")
    assert (shown["configs"], len(shown["partitions"])) == ({"retention.ms": "7200000"}, 4)

    like_it = json.dumps({**shown, "name": "orders-copy"})
    odradek("topics", "create", "--file", "-", input=like_it)
    (copied,) = odradek.json("topics", "show", "orders-copy")
    assert (copied["configs"], len(copied["partitions"])) == (shown["configs"], 4)
    assert odradek("topics", "list", "--names", "orders-*") == "orders-copy\n"

    planned = odradek.run("topics", "delete", "orders-*")
    assert planned.stderr == "this is the plan, nothing was done: --execute does it\n"
    assert "orders-copy" in odradek("topics", "list", "--names")
    odradek("topics", "delete", "orders-*", "--execute")
    assert odradek("topics", "list", "--names") == "orders\n"


def test_what_is_not_there(odradek):
    odradek("topics", "create", "payments", "--if-missing")
    assert odradek.refused("topics", "show", "paymnts").endswith("did you mean payments?")
    assert odradek.refused("topics", "offsets", "payments:7", status=2).endswith("it has 1, counted from 0")
    assert odradek.refused("topics", "create", "payments").startswith(
        "odradek: payments: Topic 'payments' already exists"
    )
    assert odradek.refused("groups", "lag", "nobody").startswith("odradek: there is no group 'nobody'")
    assert odradek.refused("configs", "show", "topic", "payments", "retention.mss").endswith(
        "did you mean retention.ms?"
    )
    assert odradek.refused("configs", "show", "broker", "77").startswith("odradek: there is no broker 77; there are 1")
    assert odradek.refused("transactions", "show", "nobody").startswith("odradek: there is no transactional id")
    waited = odradek.run("wait", "--topic", "later", "--timeout", "4")
    assert (waited.returncode, "there is no topic later" in waited.stderr) == (1, True)
    nowhere = odradek.refused("-b", "127.0.0.1:1", "--timeout", "1.5", "topics", "list")
    assert nowhere.startswith("odradek: no broker answers at 127.0.0.1:1: connection refused; start one")


def test_where_a_group_goes_on(odradek):
    odradek("topics", "create", "journeys", "-p", "2")
    odradek("groups", "reset", "travellers", "--topic", "journeys", "--to", "start", "--execute")
    assert odradek("groups", "list", "--names", "trav*") == "travellers\n"
    rows = odradek.json("groups", "lag", "travellers")
    assert [(row["partition"], row["committed"], row["end"], row["lag"]) for row in rows] == [
        (0, 0, 0, 0),
        (1, 0, 0, 0),
    ]
    (total,) = odradek.json("groups", "lag", "--topic", "journeys")
    assert (total["group"], total["partitions"], total["lag"]) == ("travellers", 2, 0)
    odradek("groups", "copy", "travellers", "sleepers", "--execute")
    assert {row["group"] for row in odradek.json("groups", "list")} >= {"travellers", "sleepers"}
    odradek("groups", "delete", "sleepers", "--execute")
    assert "sleepers" not in odradek("groups", "list", "--names")
    odradek("wait", "--group", "travellers", "--timeout", "30")


def test_configs_and_the_cluster(odradek):
    odradek("topics", "create", "settings", "--if-missing")
    odradek("configs", "set", "topic", "settings", "retention.ms=1000")
    rows = odradek.json("configs", "show", "topic", "settings")
    assert [(row["config"], row["value"]) for row in rows] == [("retention.ms", "1000")]
    odradek("configs", "unset", "topic", "settings", "retention.ms")
    odradek("configs", "set", "topic", "settings", "--file", "-", input="\n".join(map(json.dumps, rows)))
    assert odradek.json("configs", "show", "topic", "settings") == rows
    odradek("configs", "set", "user", "alice", "producer_byte_rate=1000")
    (quota,) = odradek.json("configs", "show", "user", "alice")
    assert (quota["config"], quota["value"]) == ("producer_byte_rate", "1000")
    assert {(row["kind"], row["name"]) for row in odradek.json("configs", "list")} >= {
        ("topic", "settings"),
        ("broker", "1"),
        ("user", "alice"),
    }
    (info,) = odradek.json("cluster", "info")
    assert [each["id"] for each in info["brokers"]] == [info["controller"]]
    assert odradek.json("cluster", "health") == [{"is_healthy": True, "problems": []}]
    assert "metadata.version" in odradek("cluster", "features")
    (status,) = odradek.json("quorum", "status")
    assert status["cluster"] == info["cluster"]
    assert odradek.json("quorum", "replicas")[0]["role"] == "leader"
    assert odradek.json("transactions", "list") == []
    assert odradek.json("transactions", "hanging") == []


def until(condition):
    deadline = time.monotonic() + STEP_S_MAX
    while not condition():
        assert time.monotonic() < deadline


def test_who_may_do_what(odradek):
    made = odradek.json("acls", "allow", "alice", "read", "describe", "--topic", "or", "--prefix")
    assert [(each["principal"], each["operation"], each["pattern"]) for each in made] == [
        ("User:alice", "read", "prefixed"),
        ("User:alice", "describe", "prefixed"),
    ]
    odradek("acls", "deny", "*", "write", "--cluster")
    until(lambda: len(odradek.json("acls", "list")) == 3)
    assert odradek.json("acls", "list", "--principal", "alice") == made
    odradek("acls", "delete", "--principal", "alice", "--execute")
    until(lambda: [each["principal"] for each in odradek.json("acls", "list")] == ["User:*"])
    assert odradek.refused("acls", "allow", "alice", "raed", "--cluster", status=2).endswith("did you mean read?")
    assert odradek.refused("acls", "delete", status=2).startswith("odradek: which rules?")

    odradek("users", "set", "alice", "--mechanism", "256", input="secret\n")
    until(lambda: odradek.json("users", "list"))
    assert odradek.json("users", "list") == [{"user": "alice", "mechanism": "SCRAM-SHA-256", "iterations": 4096}]
    odradek("users", "set", "alice", "--mechanism", "512", input="secret\n")
    until(lambda: len(odradek.json("users", "list")) == 2)
    assert odradek.refused("users", "delete", "alic").endswith("did you mean alice?")
    odradek("users", "delete", "alice", "--execute")
    until(lambda: not odradek.json("users", "list"))


def test_a_context_instead_of_an_address(odradek):
    environment, odradek.environment = odradek.environment, {**odradek.environment, "ODRADEK_BOOTSTRAP": ""}
    try:
        odradek("contexts", "set", "here", "-b", odradek.bootstrap)
        odradek("-c", "here", "wait")
        odradek("contexts", "use", "here")
        odradek("wait", "--timeout", "10")
    finally:
        odradek.environment = environment


def test_names_are_completed_by_bash(odradek):
    odradek("topics", "create", "completions")
    odradek("groups", "reset", "completers", "--topic", "completions", "--to", "start", "--execute")
    script = """
odradek() { "$PYTHON" -m odradek "$@"; }
source <(odradek completion bash)
for COMP_LINE in 'odradek --timeout 30 topics show compl' 'odradek --timeout 30 groups show compl'; do
    COMP_POINT=${#COMP_LINE}
    _odradek odradek
    printf '%s ' "${COMPREPLY[@]}"
done
"""
    environment = {**odradek.environment, "PYTHON": sys.executable}
    done = outside.run(["bash", "-c", script], env=environment, seconds=SECONDS_MAX, check=True)
    assert done.stdout.split() == ["completions", "completers"]


@pytest.fixture
def terminal(odradek):
    with terminals(odradek) as opened:
        yield opened


def test_a_table_that_is_watched_is_drawn_again_until_ctrl_c(terminal):
    screen = terminal("groups", "lag", "--watch", "0.1")
    screen.until("\x1b[H", times=3)
    assert "Ctrl-C ends" in screen.text
    assert screen.interrupt() == 130
    assert "Traceback" not in screen.text


def test_a_terminal_is_told_what_is_waited_for(terminal):
    screen = terminal("-b", "127.0.0.1:1", "topics", "list")
    screen.until("waiting for 127.0.0.1:1 ... connection refused")
    assert screen.interrupt() == 130
    assert "Traceback" not in screen.text


def test_colours_on_a_terminal(terminal):
    screen = terminal("topics", "list")
    screen.until("\x1b[1mTOPIC")
    assert screen.process.wait(STEP_S_MAX) == 0


def test_a_reader_that_leaves(odradek):
    reader, writer = os.pipe()
    os.close(reader)
    command = odradek.command("topics", "list")
    with outside.Program(command, env=odradek.environment, stdout=writer, stderr=outside.PIPE) as process:
        os.close(writer)
        _, error = process.communicate(timeout=SECONDS_MAX)
    assert (process.returncode, error) == (0, b"")
