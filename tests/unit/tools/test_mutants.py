"""The tool that makes small mistakes: which ones it makes, and what becomes of them in a tiny package of our own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))

import mutants

from mutation import covering, trial
from mutation.mutations import mutations_of
from mutation.workspace import Workspace


def changes(text):
    """What comes out for each mutation: the lines that differ."""
    source = text.encode()
    found = []
    for mutation in mutations_of("a.py", source):
        before, after = source.decode().splitlines(), mutation.applied(source).decode().splitlines()
        found += [line.strip() for line in after if line not in before] or ["(gone)"]
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = (a) is not (b)", ["x = (a) is (b)"]),
        ("x = a not  in b", ["x = a in b"]),
        ("x = a < b <= c", ["x = a <= b <= c", "x = a < b < c"]),
        ("x = a and b or c", ["x = a and b and c", "x = a or b or c"]),
        ("x = not a", ["x = a"]),
        ("x = 7", ["x = 8"]),
        ("x = True", ["x = False"]),
        ("x = a // b", ["x = a * b"]),
        ("x = [a, b]", ["x = []"]),
        ("x = {a: b}", ["x = {}"]),
        ("x = [a for a in b]", ["x = []"]),
        ("a.b = c", ["pass"]),
        ("a += b", ["pass"]),
        ("f(a)", ["pass"]),
        ("x = f(a, b)", ["x = f(b, a)"]),
        ("x = f(a, k=b)", ["x = f(a)"]),
        ("x = f(k=b, m=c)", ["x = f(m=c)", "x = f(k=b)"]),
        ("raise Full('it is full')", ["pass"]),
        ("if a:\n    x = b", ["if not (a):"]),
        ("x = a if b else c", ["x = a if not (b) else c"]),
        ("def f():\n    return a", ["return None"]),
        ("for a in b:\n    break", ["continue"]),
        ("for a in b:\n    continue", ["break"]),
        ("async def f():\n    await g(a)", ["pass"]),
    ],
)
def test_the_mistakes(source, expected):
    assert sorted(changes(source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        '"""Of 3 words."""',
        "def f():\n    '''Adds 1.'''",
        "_log.info('%d', 3)",
        "self.log.error('gone', exc_info=True)",
        "def __repr__(self):\n    return 'X'",
        "x = f'{a + 1}'",
        "def f(a: tuple[int, 3]) -> Literal[1]: ...",
        "x: Literal[3]",
        "if TYPE_CHECKING:\n    x = 3",
        "if __name__ == '__main__':\n    main()",
        "__slots__ = ('a', 'b')",
        "Found = tuple[int, int] | None",
        "T = TypeVar('T', int, str)",
        "@overload\ndef f(a=3): ...",
        "assert x == 3",
        "require(x == 3, 'it is three')",
        "raise BrokenRuleError('never')",
    ],
)
def test_what_no_test_could_notice_is_left_alone(source):
    assert changes(source) == []


def test_a_mutation_says_where_it_is_and_what_it_does():
    (mutation,) = mutations_of("a.py", "é = 'ü'; x = a == b  # c\n".encode())
    assert str(mutation) == "a.py:1  é = 'ü'; x = a == b  # c -> é = 'ü'; x = a != b  # c"


AGES = '''"""Ages."""

ADULT_YEARS = 18


def is_adult(years):
    return years >= ADULT_YEARS


def first_adult(ages):
    at = 0
    while at < len(ages):
        if is_adult(ages[at]):
            return at
        at += 1
    return -1


def never_called(years):
    return years + 1
'''
TESTS = """
import pytest
from tiny.ages import first_adult, is_adult

@pytest.mark.parametrize("years", [19, 40])
def test_is_adult(years):
    assert is_adult(years)

def test_a_child_is_not():
    assert not is_adult(3)

def test_first_adult():
    assert first_adult([3, 40]) == 1
    assert first_adult([3]) == -1

def test_that_fails_anyway():
    assert False
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    root = tmp_path_factory.mktemp("tiny")
    for path, text in {
        "src/tiny/__init__.py": "",
        "src/tiny/ages.py": AGES,
        "src/tiny/table.py": "ROWS = {1: 2}\n",
        "src/tiny/shelf.py": "from tiny.table import ROWS\n",
        "src/tiny/reader.py": "from tiny import shelf\n\n\ndef read(key):\n    return shelf.ROWS[key]\n",
        "tests/test_reading.py": "from tiny.reader import read\n\ndef test_it():\n    assert read(1) == 2\n",
        "tests/test_ages.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture(scope="module")
def covered(tiny, tmp_path_factory):
    return covering.covering_of(tiny, Workspace(tiny, tmp_path_factory.mktemp("copies") / "0"), ["tests"], 1)


def mutation_of(tiny, after):
    found = mutations_of("src/tiny/ages.py", (tiny / "src/tiny/ages.py").read_bytes())
    return next(mutation for mutation in found if mutation.after == after)


def names(tests):
    return [test.partition("::")[2] for test in tests]


def test_the_tests_of_a_line_are_those_that_run_it(tiny, covered):
    assert names(covered.tests_of(mutation_of(tiny, "pass"))) == ["test_first_adult"]
    assert covered.tests_of(mutation_of(tiny, "return years - 1")) == []
    adult = covered.tests_of(mutation_of(tiny, "return years > ADULT_YEARS"))
    assert set(names(adult)) == {
        "test_is_adult[19]",
        "test_is_adult[40]",
        "test_a_child_is_not",
        "test_first_adult",
    }, "one that fails by itself tells nothing"


def test_of_a_line_that_runs_at_the_import_all_tests_of_the_file(tiny, covered):
    assert len(covered.tests_of(mutation_of(tiny, "ADULT_YEARS = 19"))) == 4


def test_a_table_is_tested_through_those_that_read_it(tiny, covered):
    table = mutations_of("src/tiny/table.py", (tiny / "src/tiny/table.py").read_bytes())
    assert [names(covered.tests_of(mutation)) for mutation in table] == [["test_it"]] * 3


def test_what_was_recorded_is_kept(tiny, covered, monkeypatch, tmp_path):
    monkeypatch.setattr(covering, "_record", None)
    again = covering.covering_of(tiny, Workspace(tiny, tmp_path / "copy"), ["tests"], 1)
    assert again.seconds == covered.seconds


def test_a_change_is_gone_afterwards_and_never_in_the_checkout(tiny, tmp_path):
    workspace = Workspace(tiny, tmp_path / "copy")
    file = workspace.root / "src/tiny/ages.py"
    before = file.stat().st_mtime_ns
    with workspace.changed("src/tiny/ages.py", b"x = 1"):
        assert file.read_bytes() == b"x = 1" and file.stat().st_mtime_ns != before
        assert (tiny / "src/tiny/ages.py").read_text() == AGES
    assert file.read_text() == AGES and file.stat().st_mtime_ns == before


def test_a_run_tells_the_survivors(tiny, covered, capsys):
    wanted = ["return years > ADULT_YEARS", "return -2", "return years - 1"]
    sample = [mutation_of(tiny, after) for after in wanted]
    outcomes = mutants.run(tiny, sample, ["tests"])
    assert mutants.report(outcomes).splitlines() == [
        "src/tiny/ages.py:7  return years >= ADULT_YEARS -> return years > ADULT_YEARS  (4 tests ran)",
        "src/tiny/ages.py:20  return years + 1 -> return years - 1  (no test runs this line)",
        "killed 1 of 3 (33 %)",
    ]
    assert "3 of 3, 2 survived, about 0 min left" in capsys.readouterr().out


def test_an_endless_loop_is_ended_and_counts_as_noticed(tiny, covered, monkeypatch, tmp_path):
    monkeypatch.setattr(trial, "START_SECONDS_MAX", 3.0)
    endless = mutation_of(tiny, "pass")
    outcome = trial.try_mutation(
        Workspace(tiny, tmp_path / "copy"), endless, covered.tests_of(endless), covered.seconds
    )
    assert outcome.is_killed and outcome.killed_by == "time is up"


def test_a_test_that_fails_without_a_mutation_has_killed_nothing(tiny, covered, tmp_path, capsys):
    failing = "tests/test_ages.py::test_that_fails_anyway"
    covered.seconds[failing] = 0.1
    outcome = trial.Outcome(mutation_of(tiny, "return -2"), True, 1, 0, failing, 1.0)
    (judged,) = mutants._believed(Workspace(tiny, tmp_path / "copy"), covered, [outcome])
    del covered.seconds[failing]
    assert not judged.is_killed and "fails without a mutation" in capsys.readouterr().out


def test_tests_that_would_take_too_long_are_left_out():
    seconds = {"a": 50.0, "b": 9.0, "c": 2.0}
    assert trial.chosen(["a", "b", "c"], seconds) == ["a", "b"]
    assert trial.chosen(["long"], {"long": 500.0}) == ["long"]


def test_the_same_seed_draws_the_same(tiny):
    first, again, other = (mutants.drawn(tiny, ["src"], 5, seed) for seed in (1, 1, 2))
    assert first == again != other and len(first) == 5
