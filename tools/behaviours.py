"""The clients' suite: what our clients do, shown with our broker and with Apache Kafka, counted.

    python tools/behaviours.py      a row for each file of the suite, and the sum

A behaviour is a test, or a case of one that has a table of them; it counts once, however many brokers it runs on. The
tests are read, not run: a fixture of a module that has params chooses the broker, and a test that does not lead to
one has no broker and does not count. The section is a part of docs/contracts.md.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

INTEROP = Path(__file__).resolve().parent.parent / "tests" / "interop"
FOUR = "ours 3.3 and 4.3, Apache Kafka 3.3.2 and 4.3.0"
# Each with what it is about, and the brokers that it runs on.
SUITE = {
    "test_admin_client.py": ("the admin client: what it does", FOUR),
    "test_admin_outcomes.py": ("the admin client: what becomes of each thing that is asked for", FOUR),
    "test_producer_client.py": ("the producer: what it does", FOUR),
    "test_producer_outcomes.py": ("the producer: what it is told, and what else it can", FOUR),
    "test_consumer_client.py": ("the consumer: what it does", FOUR),
    "test_consumer_outcomes.py": ("the consumer: what it is told, and what else it can", FOUR),
    "test_consumer_fetch.py": ("the consumer: how it fetches", FOUR),
    "test_share_consumer_client.py": ("the share consumer: what it does", "ours 4.3, Apache Kafka 4.3.0"),
    "test_client_logins.py": ("all three: how they log in", "Apache Kafka 3.3.2 and 4.3.0"),
}

HEAD = """\
## The clients with other brokers

`python tools/behaviours.py` counts this table. The producer, both consumers and the admin client are shown to do the
same with our broker and with Apache Kafka: {sum} behaviours, each a test or a case of one, in `tests/interop/`.

| tests | about | behaviours | brokers |
|---|---|---|---|
"""


class Fixture(NamedTuple):
    needs: tuple[str, ...]
    cases: int  # of each test that uses it
    chooses_broker: bool


def counted() -> dict[str, int]:
    """Behaviours by file."""
    return {name: sum(_cases(INTEROP / name)) for name in SUITE}


def section() -> str:
    found = counted()
    rows = [f"| `{name}` | {SUITE[name][0]} | {count} | {SUITE[name][1]} |\n" for name, count in found.items()]
    return HEAD.format(sum=sum(found.values())) + "".join(rows) + f"| | | **{sum(found.values())}** | |\n"


def _cases(path: Path) -> Iterator[int]:
    """The number of cases of each test that has a broker."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    fixtures, tables = _fixtures(path), _tables(tree)
    for test in _functions(tree):
        if not test.name.startswith("test_"):
            continue
        used = _used(_arguments(test), fixtures)
        if any(fixtures[name].chooses_broker for name in used):
            cases = 1
            for name in used:
                cases *= fixtures[name].cases
            for values in _parametrized(test):
                cases *= _length(values, tables)
            yield cases


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _arguments(function: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(each.arg for each in function.args.args)


def _used(names: tuple[str, ...], fixtures: dict[str, Fixture]) -> set[str]:
    """Those fixtures, and the ones that they need."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in fixtures and name not in found:
            found.add(name)
            waiting += fixtures[name].needs
    return found


def _fixtures(path: Path) -> dict[str, Fixture]:
    """Those of a file, and those that it has from another one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: dict[str, Fixture] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("test_"):
            found |= _fixtures(path.with_name(f"{node.module}.py"))
    tables = _tables(tree)
    for function in _functions(tree):
        for decorator in function.decorator_list:
            if "pytest.fixture" in ast.unparse(decorator):
                found[function.name] = _fixture(function, decorator, tables)
    return found


def _fixture(function: ast.FunctionDef, decorator: ast.expr, tables: dict[str, ast.expr]) -> Fixture:
    given = {each.arg: each.value for each in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    has_module_scope = "scope" in given and ast.literal_eval(given["scope"]) == "module"
    chooses_broker = "params" in given and has_module_scope
    cases = _length(given["params"], tables) if "params" in given and not chooses_broker else 1
    return Fixture(_arguments(function), cases, chooses_broker)


def _parametrized(test: ast.FunctionDef) -> Iterator[ast.expr]:
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parametrize":
            yield decorator.args[1]


def _tables(tree: ast.Module) -> dict[str, ast.expr]:
    """The values that a module gives names to."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _length(values: ast.expr, tables: dict[str, ast.expr]) -> int:
    if isinstance(values, ast.Name) and values.id in tables:
        values = tables[values.id]
    if isinstance(values, ast.List | ast.Tuple | ast.Set):
        return len(values.elts)
    if isinstance(values, ast.Dict):
        return len(values.keys)
    raise ValueError(f"the cases cannot be counted without running: {ast.unparse(values)}")


def main() -> None:
    for name, count in counted().items():
        print(f"{name:30}{count:6}   {SUITE[name][1]}")
    print(f"{'':30}{sum(counted().values()):6}")


if __name__ == "__main__":
    main()
