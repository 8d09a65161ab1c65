"""Which cluster a command talks to: flags, environment, contexts, files; and what is said of mistakes in them."""

import json
import os
import stat
import sys

import pytest

import outside
from odradek.cli.client import contexts_file, settings
from odradek.cli.command_parser import CommandParser
from odradek.cli.flags_anywhere import flags_first
from odradek.cli.main import COMMANDS, flags_behind_words, main


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("ODRADEK_BOOTSTRAP", "ODRADEK_CONTEXT", "ODRADEK_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(tmp_path))
    return tmp_path


def configs(*arguments):
    parser = CommandParser()
    settings.add_connection_options(parser)
    found = settings.client_configs(parser.parse_args(arguments))
    assert found.pop("client.id") == "odradek-cli"
    return found


def contexts(*arguments):
    assert main(["contexts", *arguments]) == 0


def test_without_anything_it_is_this_machine():
    assert configs() == {"bootstrap.servers": "localhost:9092"}


def test_the_flag_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "env:1")
    assert configs() == {"bootstrap.servers": "env:1"}
    assert configs("-b", "flag:1") == {"bootstrap.servers": "flag:1"}


def test_a_file_of_properties_and_single_configs(home):
    path = home / "client.properties"
    path.write_text("bootstrap.servers=file:1\nsecurity.protocol=SSL\n")
    assert configs("--config", str(path)) == {"bootstrap.servers": "file:1", "security.protocol": "SSL"}
    assert configs("--config", str(path), "-X", "security.protocol=PLAINTEXT", "-b", "b:1") == {
        "bootstrap.servers": "b:1",
        "security.protocol": "PLAINTEXT",
    }


def test_contexts(home, monkeypatch):
    contexts("set", "prod", "-b", "a:1,b:1", "-X", "security.protocol=SSL")
    contexts("set", "local", "-b", "localhost:1")
    assert configs() == {"bootstrap.servers": "localhost:9092"}, "none is the current one yet"
    contexts("use", "prod")
    prod = {"bootstrap.servers": "a:1,b:1", "security.protocol": "SSL"}
    assert configs() == prod
    assert configs("-c", "local") == {"bootstrap.servers": "localhost:1"}
    assert configs("-c", "prod", "-b", "c:1") == {**prod, "bootstrap.servers": "c:1"}
    monkeypatch.setenv("ODRADEK_CONTEXT", "local")
    assert configs() == {"bootstrap.servers": "localhost:1"}


def test_passwords_of_the_current_context_go_to_no_other_cluster(monkeypatch):
    contexts("set", "prod", "-b", "a:1", "-X", "sasl.jaas.config=secret")
    contexts("use", "prod")
    assert configs("-b", "other:1") == {"bootstrap.servers": "other:1"}
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "other:2")
    assert configs() == {"bootstrap.servers": "other:2"}


def test_contexts_are_listed_shown_and_deleted(home, capsys):
    contexts("set", "prod", "-b", "a:1", "-X", "sasl.jaas.config=secret")
    contexts("set", "test", "-b", "b:1")
    contexts("use", "test")
    contexts("list", "--json")
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        {"current": False, "name": "prod", "bootstrap": "a:1"},
        {"current": True, "name": "test", "bootstrap": "b:1"},
    ]
    contexts("show", "prod")
    assert "secret" not in capsys.readouterr().out
    contexts("show", "prod", "--secrets")
    assert "secret" in capsys.readouterr().out
    contexts("delete", "test")
    assert contexts_file.read().current is None
    assert list(contexts_file.read().by_name) == ["prod"]


def test_the_file_is_its_owners_alone(home):
    contexts("set", "prod", "-b", "a:1")
    assert stat.S_IMODE(os.stat(contexts_file.path()).st_mode) == 0o600


def test_any_text_comes_back_from_the_file(home):
    odd = 'a "quoted" \\ back\nslash é \x01'
    contexts_file.write(contexts_file.Contexts("x y", {"x y": {"bootstrap": "a:1", "sasl.jaas.config": odd}}))
    assert contexts_file.read().configs_of("x y") == {"bootstrap.servers": "a:1", "sasl.jaas.config": odd}


def test_a_file_that_somebody_has_written(home):
    (home / "odradek").mkdir()
    (home / "odradek" / "contexts.toml").write_text(
        'current = "a"\n[contexts.a]\nbootstrap = "h:1"\nsecurity.protocol = "SSL"\nretries = 3\nenable.x = true\n'
    )
    expected = {"bootstrap.servers": "h:1", "security.protocol": "SSL", "retries": "3", "enable.x": "true"}
    assert configs() == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["topics", "list", "-c", "prd"], "there is no context 'prd'; did you mean prod?"),
        (["topics", "list", "-X", "nonsense"], "-X nonsense: expected NAME=VALUE"),
        (["topics", "list", "-X", "clent.id=1"], "-X clent.id: no client of Kafka's has this config; did you mean"),
        (["topics", "list", "--config", "/nowhere"], "/nowhere: No such file or directory"),
        (["topics", "create", "q", "--config", "retention.ms=1"], "one of a topic by --set retention.ms=1"),
        (["topics", "list", "--config", "retention.ms=1"], "by -X NAME=VALUE, one of a topic by odradek topics set"),
        (["topics", "list", "-b", "nonsense"], "each must be host:port"),
        (["contexts", "use", "prd"], "there is no context 'prd'; did you mean prod?"),
        (["contexts", "use"], "which context?"),
        (["contexts", "set", "new"], "what shall it have? odradek contexts set new -b HOST:PORT"),
        (["topics", "create"], "which topic? name one"),
        (["topics", "create", "orders", "--file", "-"], "either named or described in a file: with --file, leave out"),
        (["topics", "set", "orders"], "what shall be set?"),
        (["groups", "reset", "billing"], "where to? one of --to PLACE, --shift N and --file FILE"),
        (["topics", "offsets", "orders", "--at", "noon"], "'noon' is no place in a partition"),
        (["configs", "set", "topic", "orders"], "what shall be set?"),
        (["configs", "set", "user", "alice", "producer_byte_rate=much"], "a quota is a number"),
        (["transactions", "abort"], "which transaction?"),
        (["topics", "list", "--bootstrap-server", "x:1"], "(did you mean --bootstrap?)"),
        (["topics", "lst"], "there is no 'lst' (did you mean list?); there are list, show"),
        (["topcs"], "there is no 'topcs' (did you mean topics?)"),
        (["topics", "list", "--timeout", "soon"], "expected a number of seconds, not 'soon'"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(arguments, told, capsys):
    contexts("set", "prod", "-b", "a:1")
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_no_broker_there_is_one_line(capsys):
    assert main(["topics", "list", "-b", "127.0.0.1:1", "--timeout", "1.5"]) == 1
    told = capsys.readouterr().err
    assert told == (
        "odradek: no broker answers at 127.0.0.1:1: connection refused; "
        "start one (odradek start) or name another with -b\n"
    )


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        ("-b a:1 topics list x", "topics list -b a:1 x"),
        ("topics -b a:1 list", "topics list -b a:1"),
        ("--json -c prod groups lag", "groups lag --json -c prod"),
        ("--bootstrap=a:1 topics list", "topics list --bootstrap=a:1"),
        ("topics list -b a:1", "topics list -b a:1"),
        ("-b a:1 wait", "wait -b a:1"),
        ("--version", "--version"),
        ("-b a:1 nothing", "-b a:1 nothing"),
        ("start --config x", "start --config x"),
        ("log dump --json", "log dump --json"),
        ("-b", "-b"),
    ],
)
def test_flags_may_stand_before_the_words(given, ordered):
    assert flags_behind_words(given.split()) == ordered.split()


@pytest.mark.parametrize("command", [name for name, (module, _) in COMMANDS.items() if module.startswith("client.")])
def test_every_command_has_help_with_examples(command, capsys):
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    actions = [
        line.split()[0] for line in text.partition("ACTION\n")[2].partition("\n\n")[0].splitlines() if line[4] != " "
    ]
    for action in actions:
        assert main([command, action, "--help"]) == 0
        assert f"  odradek {command} {action}" in capsys.readouterr().out.partition("examples:\n")[2]
    if not actions:
        assert f"odradek {command}" in text.partition("examples:\n")[2]


def test_the_list_of_commands_says_what_each_says_itself(capsys):
    assert main(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, (module, words) in COMMANDS.items():
        assert f"{name} {words}" in text
        parser = CommandParser()
        commands = parser.add_subparsers()
        __import__(f"odradek.cli.{module}", fromlist=["add_to"]).add_to(commands)
        assert [each.help for each in commands._choices_actions] == [words]


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ("orders -k anna chairs", "-k anna orders chairs"),
        ("orders --key=anna -n5 -e chairs", "--key=anna -n5 -e orders chairs"),
        ("a --watch b", "--watch a b"),
        ("a --watch 3 b", "--watch 3 a b"),
        ("a -e -- -b c", "-e -- a -b c"),
        ("a - -k", "a - -k"),
        ("a -e -k", "-e a -k"),
    ],
)
def test_flags_may_stand_between_words(given, first):
    parser = CommandParser()
    parser.add_argument("-k", "--key")
    parser.add_argument("-n", type=int)
    parser.add_argument("-e", action="store_true")
    parser.add_argument("--watch", nargs="?", type=float)
    assert flags_first(parser, given.split()) == first.split()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["consume", "orders", "--commit"], "--commit goes with -g GROUP"),
        (["consume", "orders", "--follow"], "--follow goes with --tail N"),
        (["consume", "orders", "--tail", "3", "--from", "start"], "--tail N is a place of its own"),
        (["consume", "orders", "-g", "x", "--to", "end"], "-g GROUP reads whole topics"),
        (["consume", "orders", "-g", "x", "--from", "@-1h"], "odradek groups reset x --to @-1h"),
        (["consume", "orders", "-n", "-3"], "a number of records is not negative"),
        (["consume", "orders", "--json", "-f", "%s"], "two ways to print: choose one"),
        (["consume", "orders", "-f", "%y"], "there is no %y"),
        (["consume", "orders", "--decode", "proto"], "--decode proto: expected json"),
        (["consume", "orders", "--decode", "avro"], "--decode avro needs the schema registry"),
        (["consume", "orders", "--grep", "("], "it is no regular expression"),
        (["consume", "orders", "--from-beginning"], "(did you mean --from start?)"),
        (["produce", "orders", "x", "--rate", "0"], "above 0"),
        (["produce", "orders", "x", "--json"], "from the command or from a file"),
        (["produce", "orders", "-k", "a", "-K", ":"], "choose one"),
        (["produce", "orders", "--json", "-K", ":"], "for lines of text"),
        (["produce", "orders", "--transaction", "t", "--acks", "1"], "a transaction needs --acks all"),
        (["produce", "orders", "--timestamp", "noon"], "'noon' is no time"),
        (["produce", "orders", "-z", "zip"], "there is no 'zip'"),
        (["consume", "orders", "--decode"], "argument --decode: expected one argument"),
        (["consume", "orders", "--from", "@99999999999999999999"], "is no time"),
        (["copy", "orders", "orders"], "a topic is not copied into itself"),
        (["copy", "orders", "more", "--from", "noon"], "is no place in a partition"),
    ],
)
def test_flags_that_do_not_fit_together(arguments, told, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


LOADED = """
import contextlib, io, sys
from odradek.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    main(sys.argv[1:])
print(*sys.modules, sep="\\n")
"""
CLIENTS = ("odradek.client", "odradek.channel", "odradek.reactor", "odradek.records", "threading", "logging", "json")
UNNEEDED = ("asyncio", "odradek.client.producer", "odradek.client.consumer", "odradek.records", "datetime", "json")


@pytest.mark.parametrize(
    ("arguments", "unloaded"),
    [
        ("--help", CLIENTS),
        ("topics --help", CLIENTS),
        ("consume --help", ("odradek.client.admin", "odradek.client.host", "odradek.channel", "odradek.reactor")),
        ("topics list -b 127.0.0.1:1 --timeout 0.2", UNNEEDED),
        ("groups list -b 127.0.0.1:1 --timeout 0.2", UNNEEDED),
    ],
)
def test_a_command_loads_no_more_than_it_needs(arguments, unloaded):
    """Whoever types it waits for what is loaded."""
    done = outside.run([sys.executable, "-c", LOADED, *arguments.split()], check=True)
    loaded = done.stdout.split()
    assert [name for name in loaded if name.startswith(unloaded)] == []
