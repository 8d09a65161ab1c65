"""What the flags of `odradek start` and of Kafka's own script come to, before anything is started."""

import argparse
import os

import pytest

from odradek.cli import kafka_server, run_class, server_stop, start
from odradek.cli.failure import Failure
from odradek.cli.main import main


def asked(*arguments):
    parser = argparse.ArgumentParser()
    start.add_to(parser.add_subparsers())
    return start.server_options(parser.parse_args(["start", *arguments]))


@pytest.mark.contract("D11")
def test_without_flags_it_is_one_node_on_the_usual_port(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    options = asked()
    properties = options.properties
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:0"
    assert properties["log.dirs"] == f"{tmp_path}/odradek/data"
    assert properties["process.roles"] == "broker,controller"
    assert options.formats_fresh_dirs and options.announces


def test_a_3_3_names_its_voters(tmp_path):
    assert "controller.quorum.voters" in asked("--data", str(tmp_path), "--release-version", "3.3").properties
    assert "controller.quorum.voters" not in asked("--data", str(tmp_path)).properties
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    assert "controller.quorum.voters" in asked("--data", str(tmp_path)).properties, "the dir is a 3.3's"


def test_flags_and_overrides_go_before_the_file(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=7\nlog.dirs=/x\nlisteners=PLAINTEXT://:1,C://:2\n"
        "controller.listener.names=C\ncontroller.quorum.voters=7@:2\n"
    )
    given = asked("--config", str(file), "--listen", "[::1]:5", "--override", "node.id=8", "--data", "/y").properties
    assert given["listeners"] == "PLAINTEXT://[::1]:5,C://:2"
    assert given["log.dirs"] == "/y"
    assert given["node.id"] == "8"
    assert "offsets.topic.replication.factor" not in given, "a file is taken as it is"


def test_a_reference_to_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ODRADEK_TEST_DIR", "/from/env")
    file = tmp_path / "server.properties"
    file.write_text(
        "config.providers=env\nlog.dirs=${env:ODRADEK_TEST_DIR}\n"
        "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
    )
    assert asked("--config", str(file)).properties["log.dirs"] == "/from/env"


def test_a_data_dir_is_one(tmp_path):
    with pytest.raises(Failure, match=r"a,b: it is one dir.*--override log\.dirs=A,B"):
        asked("--data", "a,b")


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(Failure, match="the working directory is not there"):
        asked("--data", "x")
    assert asked("--data", str(tmp_path)).properties["log.dirs"] == str(tmp_path)


def test_no_place_for_temporary_data(monkeypatch, capsys):
    def fails(**_):
        raise FileNotFoundError(2, "No usable temporary directory found in ['/x']")

    monkeypatch.setattr("tempfile.mkdtemp", fails)
    assert main(["start", "--ephemeral"]) == 1
    assert capsys.readouterr().err == (
        "odradek: --ephemeral: No usable temporary directory found in ['/x']; set TMPDIR to a dir that can be written\n"
    )


@pytest.mark.parametrize("text", ["9092", "host:", "host:99999", "host:x"])
def test_an_address_that_is_none(text):
    with pytest.raises(argparse.ArgumentTypeError):
        start.address(text)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["start", "--lisen", "x:1"],
            "odradek start: error: unrecognized arguments: --lisen x:1 (did you mean --listen?)",
        ),
        (["start", "surplus"], "odradek start: error: unrecognized arguments: surplus; see odradek start --help\n"),
        (
            ["log", "check", "--jsn", "/x"],
            "odradek log check: error: unrecognized arguments: --jsn (did you mean --json?)",
        ),
        (["--versio", "start"], None),
        (["--nonsense", "start"], "odradek: error: unrecognized arguments: --nonsense; see odradek --help\n"),
        (["start", "--foo"], "unrecognized arguments: --foo; see odradek start --help"),
        (["start", "--port", "9"], "unrecognized arguments: --port 9 (did you mean --listen?)"),
        (["start", "--dir=x", "-c", "y"], "unrecognized arguments: --dir=x -c y (did you mean --data and --config?)"),
        (["start", "server.properties"], "server.properties (did you mean --config server.properties?)"),
        (["strat"], "there is no 'strat' (did you mean start?); there are start, topics, "),
        (["log", "chek", "/x"], "there is no 'chek' (did you mean check?); there are dump, check"),
        (["storage", "formt"], "there is no 'formt' (did you mean format?)"),
        (["start", "--release-version", "4.2"], "there is no '4.2' (did you mean 4.3?); there are 3.3, 4.3"),
    ],
)
def test_an_argument_that_is_not_known_is_told_by_its_command(arguments, told, capsys):
    if told is None:
        assert main(arguments) == 0, "an abbreviation of one is known"
        return
    assert main(arguments) == 2
    complaint = capsys.readouterr().err
    assert told in complaint
    assert complaint.startswith("odradek")
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("flags", [["--ephemeral", "--data", "/x"], ["--brokers", "2"]])
def test_flags_that_do_not_go_together(flags):
    parser = argparse.ArgumentParser()
    start.add_to(parser.add_subparsers())
    options = parser.parse_args(["start", *flags])
    with pytest.raises(Failure):
        options.run(options)


def test_kafkas_overrides():
    assert kafka_server.overridden(["--override", "a=1", "--override=b=2"]) == ["a=1", "b=2"]
    with pytest.raises(Failure, match="--nonsense"):
        kafka_server.overridden(["--nonsense"])


def test_a_daemon_whose_output_has_no_place(monkeypatch, capsys):
    monkeypatch.setenv("LOG_DIR", "/proc/nowhere")
    assert run_class.main(["-daemon", "-name", "kafkaServer", "kafka.Kafka", "server.properties"]) == 1
    complaint = capsys.readouterr().err
    assert "/proc/nowhere" in complaint and "LOG_DIR" in complaint
    assert complaint.count("\n") == 1


def test_every_class_that_is_named_is_there():
    for name in run_class.CLASSES:
        assert callable(run_class.find(name))
    with pytest.raises(Failure, match="is not served"):
        run_class.find("org.example.Nothing")


def test_which_servers_to_stop():
    assert server_stop._wanted(["--node-id=3", "--process-role", "broker"]) == {
        "node.id": "3",
        "process.roles": "broker",
    }
    with pytest.raises(Failure):
        server_stop._wanted(["--all"])


def test_a_server_is_known_by_its_file_and_what_was_set_beside_it(tmp_path, monkeypatch):
    (tmp_path / "server.properties").write_text("node.id=1\nprocess.roles=broker, controller\n")
    monkeypatch.chdir(tmp_path)
    values = server_stop.properties_of(os.getpid(), ["server.properties", "--override", "node.id=7"])
    assert values["node.id"] == "7"
    assert server_stop._has(values, {"node.id": "7", "process.roles": "controller"})
    assert not server_stop._has(values, {"node.id": "1"})
    assert server_stop.properties_of(os.getpid(), ["nowhere.properties"]) == {}
