"""Which source files import which: a table that has no test of its own is tested through those that read it."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = "src"


def importers(root: Path) -> dict[str, set[str]]:
    """By the path of a source file, the paths of the files that import it."""
    files = {path: str(path.relative_to(root)) for path in (root / SOURCE).rglob("*.py")}
    paths = {_module(path.relative_to(root / SOURCE)): shown for path, shown in files.items()}
    found: dict[str, set[str]] = {shown: set() for shown in files.values()}
    for path, shown in files.items():
        for name in _imported(ast.parse(path.read_bytes())):
            if name in paths and paths[name] != shown:
                found[paths[name]].add(shown)
    return found


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Names that may be modules: of `from a import b` both `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
