"""The page of contracts: every name on a test is a line that there is."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

import contracts


def test_every_line_that_a_test_names_is_there():
    known = {row["id"] for row in contracts.lines()}
    assert set(contracts.shown_by()) - known == set()
    assert set(contracts.otherwise()) - known == set()


def test_a_test_is_found_by_its_marker():
    tree = contracts.ast.parse('@pytest.mark.contract("C3", "C4")\ndef test_it():\n    ...\n\ndef test_other(): ...\n')
    assert list(contracts._marked(tree)) == [("test_it", ["C3", "C4"])]
