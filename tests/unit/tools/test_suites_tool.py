"""The runner of other people's suites, with a script that stands for one."""

import json
import socket
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))

import suite_table
import suites
import suites_section

SCRIPT = """\
#!{python}
import json, socket, sys
host, port = sys.argv[1].split(":")
socket.create_connection((host, int(port))).close()
print("a word before the summary")
print(json.dumps({summary}))
"""
SUMMARY = {"suite": "x", "version": "x-1.0", "passed": 5, "failed": 1, "skipped": 2, "failed_ids": ["0109_x"]}


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    path = tmp_path / "suites.json"
    monkeypatch.setattr(suite_table, "RESULTS", path)
    return path


def suite(directory, kafka, **changed):
    script = directory / "x.sh"
    script.write_text(SCRIPT.format(python=sys.executable, summary=repr(SUMMARY | changed)))
    script.chmod(0o755)
    return suite_table.Suite("x", "the tests of x", "x.sh", {"4.3": suite_table.Run(("--some", "flag"), kafka)})


@pytest.mark.parametrize(("kafka", "is_good"), [((5, 1, 2), True), ((4, 2, 2), True), ((6, 0, 2), False)])
def test_it_fails_if_kafka_passes_more(tmp_path, results, kafka, is_good):
    assert suites.run_suite(tmp_path, suite(tmp_path, suite_table.Score(*kafka)), "4.3") is is_good
    kept = json.loads(results.read_text())["x"]["4.3"]
    assert kept == {name: SUMMARY[name] for name in suites.KEPT}


def test_what_fails_among_others_is_run_again_by_itself(tmp_path, results):
    script = tmp_path / "x.sh"
    first = SUMMARY | {"failed": 2, "failed_ids": ["0081_admin", "0109_x"]}
    alone = SUMMARY | {"passed": 1, "failed": 1, "failed_ids": ["0109_x"]}
    chosen = f"{first!r} if sys.argv[2:] == ['--list', 'full', '--more'] else {alone!r}"
    chosen += " if sys.argv[2:] == ['--list', '0081 0109', '--more'] else None"
    script.write_text(SCRIPT.format(python=sys.executable, summary=chosen))
    script.chmod(0o755)
    run = suite_table.Run(("--list", "full", "--more"), suite_table.Score(6, 1, 2))
    assert suites.run_suite(tmp_path, suite_table.Suite("x", "the tests of x", "x.sh", {"4.3": run}), "4.3")
    kept = json.loads(results.read_text())["x"]["4.3"]
    assert (kept["passed"], kept["failed"], kept["failed_ids"]) == (6, 1, ["0109_x"])


def test_a_race_that_kafka_loses_too_is_no_reason_to_fail():
    kafka = suite_table.Score(6, 0, 2)
    assert suite_table.is_as_good(SUMMARY | {"failed_ids": ["0102_static_group_rebalance"]}, kafka)
    assert not suite_table.is_as_good(SUMMARY | {"failed_ids": ["0103_transactions"]}, kafka)


def test_a_suite_that_cannot_run_here_is_told_and_leaves_the_last_result(tmp_path, results, capsys):
    x = suite(tmp_path, suite_table.Score(5, 1, 2))
    suites.run_suite(tmp_path, x, "4.3")
    before = results.read_text()
    suite(tmp_path, suite_table.Score(5, 1, 2), passed=0, not_run="no compiler")
    assert suites.run_suite(tmp_path, x, "4.3")
    assert "skipped: no compiler" in capsys.readouterr().out
    (tmp_path / "x.sh").unlink()
    assert suites.run_suite(tmp_path, x, "4.3")
    assert results.read_text() == before


def test_without_suites_it_says_what_to_do(monkeypatch, capsys):
    monkeypatch.delenv(suites.VARIABLE, raising=False)
    monkeypatch.setattr(sys, "argv", ["suites.py"])
    assert suites.main() == 0
    assert suites.VARIABLE in capsys.readouterr().out


def test_the_address_given_is_free():
    host, _, port = suites.free_address().partition(":")
    with socket.create_server((host, int(port))):
        pass


def test_the_page_has_ours_beside_kafkas_and_the_reason_of_a_failure(monkeypatch):
    kafka = suite_table.Score(6, 0, 2)
    x = suite_table.Suite("x", "the tests of x", "x.sh", {"4.3": suite_table.Run((), kafka)})
    monkeypatch.setattr(suites_section, "SUITES", [x])
    assert "| the tests of x |  |  |  | not run | 6/0/2 | `tools/suites.py x` |" in suites_section.render()
    suite_table.keep("x", "4.3", SUMMARY)
    page = suites_section.render()
    assert "| the tests of x | x-1.0 |  |  | 5/1/2 | 6/0/2 | `tools/suites.py x` |" in page
    assert "- `0109_x` (4.3): it denies something" in page
