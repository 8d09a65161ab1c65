"""docs/contracts.md: Kafka's described behaviour line by line, and the tests that show each.

A test names the lines that it shows with `@pytest.mark.contract("C3", "C4")`. The lines are in
tests/data/contracts.jsonl; those that are kept otherwise on purpose, with the reason, in contracts_otherwise.txt.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import behaviours

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
LINES = TESTS / "data" / "contracts.jsonl"
OTHERWISE = TESTS / "data" / "contracts_otherwise.txt"
MARK = "contract"

HEAD = """\
# What Kafka does, and the test that shows it here

Made by `make pages` from the markers on tests (`@pytest.mark.contract("C3")`); do not edit it.

The behaviour of the described Kafka, releases 2.5 to 3.3, one fact per line. A line without a test is not shown yet by
one that names it: the part may be missing, or its tests may not be marked. {shown} of {all} lines are shown,
{otherwise} are kept otherwise on purpose. The letters are those of this page, not of [invariants.md](invariants.md).
"""


def lines() -> list[dict[str, str]]:
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]


def otherwise() -> dict[str, str]:
    rows = OTHERWISE.read_text(encoding="utf-8").splitlines()
    return dict(row.split(" ", 1) for row in rows if row and not row.startswith("#"))


def shown_by() -> dict[str, list[str]]:
    """By line, the tests that name it, as `file::test`."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if f"mark.{MARK}(" in text:
            for test, ids in _marked(ast.parse(text)):
                for each in ids:
                    found.setdefault(each, []).append(f"{path.relative_to(TESTS)}::{test}")
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            ids = [each for decorator in node.decorator_list for each in _ids(decorator)]
            if ids:
                yield node.name, ids


def _ids(decorator: ast.expr) -> list[str]:
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == f"pytest.mark.{MARK}":
        return [str(ast.literal_eval(argument)) for argument in decorator.args]
    return []


def render() -> str:
    rows, shown, excused = lines(), shown_by(), otherwise()
    parts = [HEAD.format(shown=len(shown), all=len(rows), otherwise=len(excused))]
    place = ("", "")
    for row in rows:
        if (row["part"], row["about"]) != place:
            place = (row["part"], row["about"])
            parts.append(f"\n## {': '.join(filter(None, place))}\n\n| | contract | shown by |\n|---|---|---|\n")
        parts.append(f"| {row['id']} | {row['contract']} | {_told(row['id'], shown, excused)} |\n")
    return "".join([*parts, "\n", behaviours.section()])


def _told(line: str, shown: dict[str, list[str]], excused: dict[str, str]) -> str:
    tests = ", ".join(f"`{test}`" for test in shown.get(line, []))
    return "; ".join(filter(None, [tests, f"otherwise: {excused[line]}" if line in excused else ""]))
