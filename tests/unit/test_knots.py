"""Modules that know each other, be it for their types alone, are of one small package: nobody has to read two rooms at
once to understand one."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
MODULES_MAX = 9


def modules():
    """The path of each module of the source, by its dotted name."""
    found = {}
    for path in (SOURCE / "odradek").rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path, known):
    """The modules that one imports, for type checkers or when it runs, at the top or in a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from ({f"{node.module}.{name.name}", node.module} & known for name in node.names)
        elif isinstance(node, ast.Import):
            yield {name.name for name in node.names} & known


def knots():
    """The sets of modules of which each leads to every other by imports."""
    paths = modules()
    imports = {}
    for module, path in paths.items():
        # `from package import module` is about the module: the package is its place, not what is imported.
        imports[module] = {max(names, key=len) for names in imported(path, paths.keys()) if names} - {module}
    reached = {module: _all_from(module, imports) for module in imports}
    found = {frozenset(other for other in reached[module] if module in reached[other]) for module in imports}
    return found - {frozenset()}


def _all_from(module, imports):
    found, left = set(), [module]
    while left:
        new = imports[left.pop()] - found
        found |= new
        left += new
    return found


def test_a_knot_lies_in_one_package_and_is_small():
    found = knots()
    assert found, "a class and what it is made of may know each other: there is always one"
    for knot in found:
        assert len({module.rpartition(".")[0] for module in knot}) == 1, sorted(knot)
        assert len(knot) <= MODULES_MAX, sorted(knot)
