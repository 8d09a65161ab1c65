"""What is built and not wired yet says so, and says it no longer once somebody in the source uses it."""

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "odradek"
TREES = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
NODES = [node for tree in TREES for node in ast.walk(tree)]
NOT_WIRED = "Not wired yet"


def unwired():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in NODES if isinstance(node, kinds) and NOT_WIRED in (ast.get_docstring(node) or "")}


def test_what_is_said_not_to_be_wired_is_used_by_nobody():
    used = {node.attr for node in NODES if isinstance(node, ast.Attribute)}
    used |= {node.id for node in NODES if isinstance(node, ast.Name)}
    assert unwired() & used == set()


def test_the_list_of_what_is_not_wired():
    """A line less when something is wired; one more is a reason to ask what it is for."""
    assert sorted(unwired()) == [
        "has_enough",
        "record_throttle",
        "route_to_others",
        "shrink_isrs",
        "update_throttle",
    ]
