"""Only the adapters and the hosts of clients touch the outside world: everything else gets it handed in, and so runs
in the simulator. What runs in the processes of Spark is outside already.
"""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "odradek"
ALLOWED = ("reactor/adapters/", "client/host/", "compat/", "serde/plain.py", "spark/", "cli/", "testing/", "native.py")
OUTSIDE = """
    os time random uuid secrets threading socket select selectors asyncio subprocess pathlib
    _thread multiprocessing signal shutil tempfile glob queue concurrent mmap fcntl
"""
FORBIDDEN = frozenset(OUTSIDE.split())
OPENERS = frozenset(["io", "gzip", "bz2", "lzma", "codecs", "builtins", "tokenize"])  # modules whose `open` opens files


def offences(code):
    """(line, what) of everything in the code that reaches outside."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in FORBIDDEN:
                    yield node.lineno, f"import {alias.name}"
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            module = (node.module or "").split(".")[0]
            names = {alias.name for alias in node.names}
            if module in FORBIDDEN or (module in OPENERS and "open" in names):
                yield node.lineno, f"from {node.module} import {', '.join(sorted(names))}"
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in ("open", "__import__"):
                yield node.lineno, f"{node.func.id}()"
            if isinstance(node.func, ast.Attribute) and node.func.attr == "open":
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id in OPENERS:
                    yield node.lineno, f"{owner.id}.open()"


def offences_in_cython(code):
    """Cython is no Python to `ast`: its import lines are enough."""
    for number, line in enumerate(code.splitlines(), 1):
        match = re.match(r"\s*(?:from|c?import)\s+([\w.]+)", line)
        module = match[1] if match else ""
        is_outside = module.split(".")[0] in FORBIDDEN or module.startswith(("libc.stdio", "posix"))
        if is_outside or re.search(r"(?<![\w.])open\(", line):
            yield number, line.strip()


def is_allowed(path):
    return path.relative_to(SOURCE).as_posix().startswith(ALLOWED)


def sources(suffix):
    found = sorted(path for path in SOURCE.rglob(f"*{suffix}") if not is_allowed(path))
    return [pytest.param(path, id=path.relative_to(SOURCE).as_posix()) for path in found]


@pytest.mark.parametrize("path", sources(".py"))
def test_no_module_reaches_outside_by_itself(path):
    assert list(offences(path.read_text())) == [], "ask a port for it; for paths use posixpath"


@pytest.mark.parametrize("path", sources(".pyx"))
def test_no_extension_reaches_outside_by_itself(path):
    assert list(offences_in_cython(path.read_text())) == []


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "import os.path",
        "import json, time",
        "from os import path",
        "from time import monotonic",
        "def f():\n    import random",
        "import socket as s",
        "from io import open",
        "import io\nio.open('x')",
        "import gzip\ngzip.open('x')",
        "open('x')",
        "__import__('os')",
        "from pathlib import Path",
    ],
)
def test_this_would_be_seen(code):
    assert list(offences(code))


@pytest.mark.parametrize("code", ["import posixpath", "disk.open('x')", "from io import BytesIO", "import errno"])
def test_this_is_fine(code):
    assert not list(offences(code))


@pytest.mark.parametrize("code", ["import os", "from posix cimport unistd", "cimport libc.stdio", "    f = open(path)"])
def test_this_would_be_seen_in_cython(code):
    assert list(offences_in_cython(code))


def optional_imports(code):
    """Of pyspark and pyarrow, where they are made when the module is imported."""
    tree = ast.parse(code)
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (name for name in names if name.split(".")[0] in ("pyspark", "pyarrow"))
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += list(ast.iter_child_nodes(node))


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_only_what_is_for_spark_needs_pyspark_or_pyarrow(path):
    if not path.is_relative_to(SOURCE / "spark"):
        assert list(optional_imports(path.read_text())) == []
        assert "pyspark" not in path.read_text() or path.is_relative_to(SOURCE / "cli")


def test_what_would_be_seen_of_optional_imports():
    assert list(optional_imports("try:\n    import pyarrow.lib\nexcept ImportError:\n    pass")) == ["pyarrow.lib"]
    assert list(optional_imports("if TYPE_CHECKING:\n    import pyarrow\ndef f():\n    import pyspark")) == []


def test_the_reactor_knows_nobody_and_the_simulator_only_the_reactor():
    for package, known in (("reactor", {"reactor", "broken_rule"}), ("sim", {"reactor", "sim", "broken_rule"})):
        for path in sorted((SOURCE / package).rglob("*.py")):
            for line in path.read_text().splitlines():
                match = re.match(r"\s*(?:from|import) odradek\.(\w+)", line)
                assert match is None or match[1] in known, f"{path}: {line}"
