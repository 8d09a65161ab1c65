"""The flags of Kafka's scripts, and what is said of mistakes in them."""

import pytest

from odradek.cli.kafka.options import HelpWanted, Misuse, Options, flag, optional, value
from odradek.cli.kafka.subcommands import Subcommands

OPTIONS = Options(
    "kafka-some.sh",
    "does something",
    [
        flag("list", "all"),
        value("topic", "TOPIC", "a topic"),
        value("size", "BYTES", "how much", "7"),
        optional("state", "S", "states"),
    ],
)
COMMANDS = Subcommands(
    "kafka-some.sh",
    "does something",
    [value("bootstrap-server", "HOST:PORT", "brokers")],
    {"show": [flag("all", "everything")], "drop": [value("id", "ID", "which one")]},
    {"id": "i", "bootstrap-server": "b"},
)


def test_values_stand_behind_their_flags_or_an_equals_sign():
    given = OPTIONS.parse(["--list", "--topic", "a", "--topic=b"])
    assert given.has("list")
    assert given.values("topic") == ["a", "b"]
    assert given.integer("size") == 7


def test_an_optional_value_may_be_left_out():
    assert OPTIONS.parse(["--state", "--list"]).value("state") is None
    assert OPTIONS.parse(["--state", "Empty"]).value("state") == "Empty"


def test_a_value_may_look_like_a_flag():
    assert OPTIONS.parse(["--size", "-5"]).integer("size") == -5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lis"], "lis is not a recognized option"),
        (["--topic"], "Option topic requires an argument"),
        (["-x"], "x is not a recognized option"),
    ],
)
def test_a_mistake_is_told_in_kafkas_words(arguments, words):
    with pytest.raises(Misuse, match=words):
        OPTIONS.parse(arguments)


def test_one_value_is_not_several():
    given = OPTIONS.parse(["--topic", "a", "--topic", "b"])
    with pytest.raises(Misuse, match="Found multiple arguments for option topic, but you asked for only one"):
        given.value("topic")


def test_a_number_is_a_number():
    with pytest.raises(Misuse, match="Cannot parse argument 'much' of option size"):
        OPTIONS.parse(["--size", "much"]).integer("size")


def test_help_lists_the_flags_and_version_names_the_release():
    with pytest.raises(HelpWanted, match="--topic TOPIC"):
        OPTIONS.parse(["--help", "--list"])
    with pytest.raises(HelpWanted, match=r"4\.3\.0"):
        OPTIONS.parse(["--version"])


def test_flags_of_a_subcommand_come_before_it_or_after_it():
    for arguments in (["-b", "x", "drop", "-i", "3"], ["drop", "--id=3", "--bootstrap-server", "x"]):
        command, given = COMMANDS.parse(arguments)
        assert (command, given.text("id"), given.text("bootstrap-server")) == ("drop", "3", "x")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "kafka-some: error: too few arguments"),
        (["nonsense"], r"kafka-some: error: invalid choice: 'nonsense' \(choose from 'show', 'drop'\)"),
        (["show", "--id", "3"], "kafka-some: error: unrecognized arguments: '--id'"),
        (["drop", "--id"], "kafka-some: error: argument --id/-i: expected one argument"),
    ],
)
def test_a_mistake_in_a_subcommand_is_told_in_kafkas_words(arguments, words):
    with pytest.raises(Misuse, match=words):
        COMMANDS.parse(arguments)
