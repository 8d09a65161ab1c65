"""Modules that know each other, be it for their types alone, are of one small package: nobody has to read two rooms at
once to understand one."""

import grimp

MODULES_MAX = 9


def knots():
    """The sets of modules of which each leads to every other by imports, those for type checkers included."""
    graph = grimp.build_graph("odradek", include_external_packages=False)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    reached = {module: _all_from(module, imports) for module in imports}
    return {frozenset(other for other in reached[module] if module in reached[other]) for module in imports} - {
        frozenset()
    }


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
