"""What the flags of `odradek start` make of a server.properties."""

import argparse
import re

import pytest

from odradek.cli.failure import Failure
from odradek.cli.main import main
from odradek.cli.start import add_options, server_options
from odradek.config.broker import TABLE

OWN_NAMES = """\
process.roles=broker,controller
node.id=1
listeners=INT://127.0.0.1:29090,SPX://127.0.0.1:29094,CTL://127.0.0.1:29091
advertised.listeners=INT://127.0.0.1:29090,SPX://127.0.0.1:29095
listener.security.protocol.map=INT:PLAINTEXT,SPX:SASL_PLAINTEXT,CTL:PLAINTEXT
controller.listener.names=CTL
controller.quorum.voters=1@127.0.0.1:29091
log.dirs=/data
"""


def options(tmp_path, text, *flags):
    path = tmp_path / "server.properties"
    path.write_text(text)
    parser = argparse.ArgumentParser()
    add_options(parser)
    return server_options(parser.parse_args(["--config", str(path), *flags])).properties


def test_listen_serves_the_listener_under_which_the_files_brokers_meet(tmp_path):
    text = OWN_NAMES + "inter.broker.listener.name=INT\n"
    values = options(tmp_path, text, "--listen", "127.0.0.1:0", "--data", "/elsewhere")
    assert values["listeners"] == "INT://127.0.0.1:0,CTL://127.0.0.1:29091"
    assert values["advertised.listeners"] == "INT://127.0.0.1:0"
    assert values["log.dirs"] == "/elsewhere"


def test_listen_names_its_own_listener_where_the_file_has_no_such_name(tmp_path):
    values = options(tmp_path, OWN_NAMES, "--listen", "127.0.0.1:0")
    assert values["listeners"] == "PLAINTEXT://127.0.0.1:0,CTL://127.0.0.1:29091"
    assert values["listener.security.protocol.map"].endswith(",PLAINTEXT:PLAINTEXT")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_without_listen_the_file_stands(tmp_path, host):
    text = OWN_NAMES.replace("127.0.0.1", host)
    assert options(tmp_path, text)["listeners"] == f"INT://{host}:29090,SPX://{host}:29094,CTL://{host}:29091"


@pytest.mark.parametrize(("flags", "voters"), [([], "1@127.0.0.1:9093"), (["node.id=7"], "7@127.0.0.1:9093")])
def test_without_a_file_a_3_3_is_its_own_voter_whatever_its_id(tmp_path, flags, voters):
    parser = argparse.ArgumentParser()
    add_options(parser)
    given = ["--data", str(tmp_path), "--release-version", "3.3", *(f"--override={flag}" for flag in flags)]
    assert server_options(parser.parse_args(given)).properties["controller.quorum.voters"] == voters


# A file of a few configs


def test_a_file_that_names_no_node_is_on_top_of_the_built_in_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    values = options(tmp_path, "num.partitions=4\n")
    assert values["num.partitions"] == "4"
    assert values["process.roles"] == "broker,controller"
    assert values["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:0"
    assert values["log.dirs"] == f"{tmp_path}/odradek/data"
    assert values["controller.quorum.bootstrap.servers"]


def test_such_a_file_may_say_where_it_listens_and_where_the_data_is(tmp_path):
    text = "listeners=PLAINTEXT://0.0.0.0:19092\nlog.dir=/here\n"
    values = options(tmp_path, text)
    assert values["listeners"] == "PLAINTEXT://0.0.0.0:19092,CONTROLLER://127.0.0.1:0"
    assert (values["log.dir"], values.get("log.dirs")) == ("/here", None)
    values = options(tmp_path, text, "--listen", "127.0.0.1:0", "--data", "/there")
    assert values["listeners"] == "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"
    assert values["log.dirs"] == "/there"


@pytest.mark.parametrize(
    ("listeners", "more", "expected"),
    [
        ("SSL://h:1,SASL_SSL://h:2", "", "SSL"),
        ("SSL://h:1", "security.inter.broker.protocol=SSL\n", None),  # Kafka finds it by its protocol
        ("SSL://h:1,PLAINTEXT://h:2", "", None),  # Kafka's own choice
    ],
)
def test_brokers_meet_at_the_first_listener_that_a_few_configs_name(tmp_path, listeners, more, expected):
    values = options(tmp_path, f"listeners={listeners}\n{more}")
    assert values.get("inter.broker.listener.name") == expected


def test_such_a_file_on_a_dir_of_a_3_3(tmp_path):
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    assert "controller.quorum.voters" in options(tmp_path, f"log.dirs={tmp_path},/other\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "broker.id=3\n",
            "names broker.id, so it has to describe the whole node: add process.roles=broker,controller and "
            "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093 and "
            "controller.listener.names=CONTROLLER and controller.quorum.voters=3@localhost:9093;",
        ),
        (OWN_NAMES.replace("process.roles=broker,controller\n", ""), "add process.roles=broker,controller;"),
        (OWN_NAMES.replace("node.id=1\n", ""), "add node.id=1;"),
        (OWN_NAMES.replace("controller.quorum", "#"), "add controller.quorum.voters=1@localhost:29091;"),
        ("zookeeper.connect=localhost:2181\n", "is that of a cluster on ZooKeeper"),
        ("[tool.ruff]\nline-length = 120\n", "no line of it is a config of a broker, beginning with '[tool.ruff]'"),
        ("num.partitions=4\0\n", "it is not a text file"),
    ],
)
def test_a_file_from_which_no_node_can_be_made(tmp_path, text, told):
    with pytest.raises(Failure) as failed:
        options(tmp_path, text)
    assert told in str(failed.value)
    assert str(tmp_path / "server.properties") in str(failed.value)


@pytest.mark.parametrize(
    "text",
    [
        "broker.id=0\n",
        "node.id=4\nlisteners=PLAINTEXT://:9092\n",
        "broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:9092\nzookeeper.connect=localhost:2181\n",
        "node.id=4\nlisteners=IN://:1,OUT://:2\nlistener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT\n"
        "inter.broker.listener.name=IN\n",
        "node.id=4\nlisteners=PLAINTEXT://:1,CTL://:2\ncontroller.listener.names=CTL\n",
        "controller.quorum.bootstrap.servers=localhost:9093\n",
    ],
)
def test_a_file_that_has_what_the_hint_says_is_whole(tmp_path, text):
    with pytest.raises(Failure) as failed:
        options(tmp_path, text)
    hint = re.search(r"(?:add|out and set) (.*?);", str(failed.value))[1]
    mended = text.replace("zookeeper.connect", "#") + hint.replace(" and ", "\n")
    assert TABLE.parse(options(tmp_path, mended))["process.roles"] == ("broker", "controller")


def test_what_the_file_lacks_may_come_from_the_command(tmp_path):
    text = OWN_NAMES.replace("process.roles=broker,controller\n", "")
    assert options(tmp_path, text, "--override", "process.roles=broker,controller")["node.id"] == "1"


# Flags


def test_listen_may_be_written_as_kafkas_listeners_are(tmp_path):
    values = options(tmp_path, OWN_NAMES, "--listen", "plaintext://[::1]:5")
    assert values["listeners"] == "PLAINTEXT://[::1]:5,CTL://127.0.0.1:29091"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--listen", "SSL://h:1"], "it serves PLAINTEXT only; write --override listeners=SSL://h:1 --override "),
        (["--listen", "http://h:1"], "expected HOST:PORT or PLAINTEXT://HOST:PORT, not 'http://h:1'"),
        (["--override", "log.dirs="], "log.dirs is set to nothing"),
        (["--listen", ""], "argument --listen: expected HOST:PORT, not ''"),
        (["--listen", "h:99999"], "99999 is no port: they go up to 65535"),
        (["--metrics", ""], "argument --metrics: expected HOST:PORT, not ''"),
        (["--config", ""], "argument --config: it is empty"),
        (["--log", " "], "argument --log: it is empty"),
        (["--data", ""], "--data: it names no dir; without --data it is /"),
        (["--data", "/x", "--override", "log.dirs=/y"], "--data and --override log.dirs=/y contradict each other"),
        (["--ephemeral", "--override", "log.dir=/y"], "--ephemeral and --override log.dir=/y contradict each other"),
        (
            ["--listen", "h:1", "--override", "listeners=PLAINTEXT://h:2"],
            "--listen and --override listeners=PLAINTEXT://h:2 contradict each other: use one of them",
        ),
        (["--override", "=3"], "--override: expected NAME=VALUE, not '=3'"),
        (["--override", ""], "--override: expected NAME=VALUE, not ''"),
        (["--brokers", ""], "argument --brokers: "),
        (["--brokers", "0"], "--brokers 0: there has to be a broker to start; use --brokers 1"),
        (["--brokers", "2"], "--brokers: more than one broker comes with the cluster"),
    ],
)
def test_a_value_that_makes_no_sense_is_one_line(flags, told, capsys):
    assert main(["start", *flags]) == 2
    complaint = capsys.readouterr().err
    assert told in complaint
    assert complaint.count("\n") == 1


def test_help_tells_the_address_and_the_dir_that_it_takes_by_itself(monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", "/home/me/100%")
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["start", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "(default: 127.0.0.1:9092, " in shown
    assert "(default: /home/me/100%/odradek/data, " in shown
