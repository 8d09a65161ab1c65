"""Java's .properties syntax, case by case. (What Java answers to hundreds of files is in the golden tests.)"""

import pytest

from odradek.config import ConfigError
from odradek.config.properties import dump, load


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=b", {"a": "b"}),
        ("a : b", {"a": "b"}),
        ("a b=c", {"a": "b=c"}),
        ("a==b", {"a": "=b"}),
        ("a", {"a": ""}),
        ("  # no\n ! no\n\na=b", {"a": "b"}),
        ("a=b # part of the value ", {"a": "b # part of the value "}),
        ("a=one,\\\n    two", {"a": "one,two"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a=\\u00e9\\t\\q", {"a": "\u00e9\tq"}),
        ("a=\\ud83d\\ude00", {"a": "\U0001f600"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
    ],
)
def test_the_syntax(text: str, properties: dict[str, str]) -> None:
    assert load(text) == properties
    assert load(text.encode("iso-8859-1")) == properties


def test_bytes_are_latin_1_unless_marked_as_utf_8() -> None:
    assert load(b"a=\xe9") == {"a": "\u00e9"}
    assert load("a=\u00e9".encode()) == {"a": "\u00c3\u00a9"}
    assert load("\ufeffa=\u00e9".encode()) == {"a": "\u00e9"}


@pytest.mark.parametrize("escape", ["\\u12", "\\u12x4", "\\u", "\\u+123"])
def test_a_malformed_escape_names_file_and_line(escape: str) -> None:
    with pytest.raises(ConfigError, match=r"^server\.properties, line 4: Malformed"):
        load(f"a=b\n# {escape} is no matter here\nc=d\ne=\\\n  {escape}\n", "server.properties")


def test_marked_as_utf_8_but_not_so() -> None:
    with pytest.raises(ConfigError, match=r"^x: not UTF-8 at byte 5"):
        load(b"\xef\xbb\xbfa=\xff", "x")


def test_a_file_has_a_size_limit() -> None:
    with pytest.raises(ConfigError, match="are more than"):
        load(b"#" * (16 * 1024 * 1024 + 1))


def test_a_written_file_is_ascii_and_one_line_per_property() -> None:
    written = dump({"a b": " c=d\n", "#e": "\u00e9\U0001f600", "": ""})
    assert written == b"a\\ b=\\ c\\=d\\n\n\\#e=\\u00E9\\uD83D\\uDE00\n=\n"
    assert load(written) == {"a b": " c=d\n", "#e": "\u00e9\U0001f600", "": ""}
