"""Types and validators: Python values are taken as well as texts, and secrets stay secret."""

import pickle

import pytest

from odradek.config import ConfigError, Password
from odradek.config.definition import LOW, row
from odradek.config.types import (
    BOOLEAN,
    CLASS,
    DOUBLE,
    INT,
    LIST,
    LONG,
    PASSWORD,
    SHORT,
    STRING,
    shown,
    text_of,
)
from odradek.config.validators import ANY, at_least, between, distinct, duration_ms, one_of


@pytest.mark.parametrize(
    ("kind", "value", "parsed"),
    [
        (BOOLEAN, True, True),
        (INT, 5, 5),
        (LONG, 2**63 - 1, 2**63 - 1),
        (DOUBLE, 3, 3.0),
        (DOUBLE, 0.5, 0.5),
        (LIST, ["a", "b"], ("a", "b")),
        (LIST, ("a",), ("a",)),
        (CLASS, " org.example.Thing ", "org.example.Thing"),
        (CLASS, dict, dict),
        (STRING, None, None),
        (INT, None, None),
    ],
)
def test_python_values_are_taken(kind, value, parsed) -> None:
    assert kind.parse("n", value) == parsed


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (INT, True),
        (INT, 5.0),
        (INT, 2**31),
        (SHORT, -(2**15) - 1),
        (LONG, 2**63),
        (INT, "9" * 5000),
        (DOUBLE, True),
        (DOUBLE, 10**400),
        (BOOLEAN, 1),
        (STRING, 7),
        (STRING, b"x"),
        (LIST, 7),
        (LIST, [1, 2]),
        (CLASS, 7),
        (PASSWORD, 7),
    ],
)
def test_values_of_another_type_are_refused(kind, value) -> None:
    with pytest.raises(ConfigError, match=r"configuration some\.name: "):
        kind.parse("some.name", value)


def test_an_integer_of_one_type_is_not_one_of_a_smaller() -> None:
    assert LONG.parse("n", "2147483648") == 2147483648
    with pytest.raises(ConfigError, match="Not a number of type INT"):
        INT.parse("n", "2147483648")


def test_a_password_shows_in_no_form() -> None:
    secret = PASSWORD.parse("ssl.key.password", " s3cret ")
    assert secret.value == "s3cret"
    assert repr(secret) == str(secret) == f"{secret}" == shown(secret) == "[hidden]"
    assert "s3cret" not in repr([secret]) + repr({"k": secret})
    assert secret == Password("s3cret") != Password("other")
    assert hash(secret) == hash(Password("s3cret"))
    assert text_of(secret) == "s3cret"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)


def test_a_bad_password_is_not_repeated_in_the_error() -> None:
    with pytest.raises(ConfigError) as caught:
        PASSWORD.parse("ssl.key.password", ["s3cret"])
    assert "s3cret" not in str(caught.value) + repr(caught.value)
    assert caught.value.value == "[hidden]"


def test_a_validator_does_not_repeat_a_secret_either() -> None:
    secret = row("SCRAM-SHA-256", STRING, None, one_of("x"), LOW, "")
    with pytest.raises(ConfigError) as caught:
        secret.parse("password=s3cret")
    assert "s3cret" not in str(caught.value)


def test_an_error_is_one_line_and_short() -> None:
    with pytest.raises(ConfigError) as caught:
        INT.parse("a\nb", "x\r\n\x1b[31m" + "y" * 10_000)
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 400
    assert text.endswith("for configuration a\\nb: Not a number of type INT")


def test_ranges_include_their_ends_and_exclude_nan() -> None:
    assert [between(1, 3).check(value) is None for value in (0, 1, 3, 4)] == [False, True, True, False]
    assert at_least(0).check(float("nan")) is not None
    assert between(0, 1).check(None) == "Value must be non-null"


def test_duplicates_of_a_list_are_dropped_in_order() -> None:
    listed = row("n", LIST, (), distinct(), LOW, "")
    assert listed.parse("b,a,b,c,a") == ("b", "a", "c")
    assert row("n", LIST, (), ANY, LOW, "").parse("b,a,b") == ("b", "a", "b")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("P1D", 86_400_000),
        ("PT1H", 3_600_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("pt0.001s", 1),
        ("PT-1S", -1000),
        ("-PT1S", -1000),
        ("PT-0.5S", -500),
        ("P-1DT25H", 3_600_000),
    ],
)
def test_durations_are_read_as_in_java(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "1D", "P1H", "PT1D", "P1W", "PT1.5H", "P1DT", "PT1S ", "PT" + "1" * 200]
)
def test_other_texts_are_no_durations(text: str) -> None:
    assert duration_ms(text) is None


def test_a_duration_of_more_than_a_hundred_characters_is_not_looked_at() -> None:
    """The time to match one grows with its length, and clients send them."""
    assert duration_ms(f"P1DT{'0' * 94}1S") == duration_ms("P1DT1S")
    assert duration_ms(f"P1DT{'0' * 95}1S") is None
