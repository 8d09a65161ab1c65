"""What programs import from the package: the names are there, cost nothing before they are used, and have types."""

import ast
import sys
from pathlib import Path

import pytest

import odradek
import outside
from odradek import errors, version
from odradek.protocol import errors as table
from odradek.protocol import topic_partition
from odradek.records import record

ROOT = Path(__file__).resolve().parents[2]


def printed(code):
    return outside.run([sys.executable, "-c", code], check=True).stdout.strip()


def test_the_public_names():
    assert odradek.__all__ == ["Header", "Record", "TopicPartition", "__version__", "errors"]
    assert odradek.Record is record.Record and odradek.Header is record.Header
    assert odradek.TopicPartition is topic_partition.TopicPartition
    assert odradek.errors is errors and odradek.__version__ == version.VERSION


def test_they_are_shown_before_they_are_used():
    assert set(odradek.__all__) <= set(ast.literal_eval(printed("import odradek; print(dir(odradek))")))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'odradek' has no attribute 'Recrod'"):
        _ = odradek.Recrod


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import odradek", []),
        ("from odradek import errors", ["odradek.errors", "odradek.protocol", "odradek.protocol.errors"]),
    ],
)
def test_only_what_is_used_is_loaded(code, loaded):
    shown = printed(f"import sys; {code}; print(sorted(m for m in sys.modules if m.startswith('odradek.')))")
    assert ast.literal_eval(shown) == loaded


def test_the_package_itself_loads_nothing():
    shown = printed("import sys; before = set(sys.modules); import odradek; print(sorted(set(sys.modules) - before))")
    assert ast.literal_eval(shown) == ["odradek"]


def test_every_error_of_the_table_is_public():
    for row in table.table():
        assert getattr(errors, row.__name__) is row
    assert errors.by_code(6) is errors.NotLeaderOrFollower
    assert errors.PeerProtocolError is table.PeerProtocolError and errors.EncodeError is table.EncodeError


TYPED = """
from odradek import Header, Record, TopicPartition, __version__, errors
from odradek.errors import KafkaError, NotLeaderOrFollower

header: Header = ("a", None)
reveal_type(Record(0, b"k", None, headers=[header]).value)
reveal_type(NotLeaderOrFollower.retriable)
reveal_type(errors.by_code(6))
reveal_type(__version__)
reveal_type(TopicPartition("orders", 0).partition)
"""
WRONG = """
from odradek import Recrod
from odradek.errors import NotLeader
"""


def test_type_checkers_know_them(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed; install the extra dev")
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "typed.py", "wrong.py"]
    told = outside.run(command, cwd=tmp_path).stdout
    revealed = [line.partition("Revealed type is ")[2] for line in told.splitlines() if "Revealed" in line]
    assert revealed == ['"bytes | None"', '"bool"', '"type[odradek.protocol.errors.KafkaError]"', '"str"', '"int"']
    assert 'Module "odradek" has no attribute "Recrod"' in told
    assert 'Module "odradek.errors" has no attribute "NotLeader"' in told
