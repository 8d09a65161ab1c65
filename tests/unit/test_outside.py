"""Programs from outside end in time and leave nothing behind; nothing else in the tests and the tools starts one."""

import ast
import sys
import time
from pathlib import Path

import pytest

import outside

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20
STARTS = ("subprocess", "os.system", "os.popen", "os.fork", "os.posix_spawn")
# Client programs: they run in a group that the test ends, and what they start must stay in it.
IN_A_GROUP_ALREADY = ROOT / "tests" / "interop" / "python"

HOLDS_THE_PIPE = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""
NEVER_ENDS = HOLDS_THE_PIPE + "print('some last words', flush=True); import time; time.sleep(600)"
LEAVES_THE_GROUP = HOLDS_THE_PIPE.replace("])", "], process_group=0)")


def python(code):
    return [sys.executable, "-c", code]


def is_gone(pid):
    """Soon: one that is killed may take a moment to end."""
    deadline = time.monotonic() + PATIENCE_S
    while outside.is_alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_a_child_that_keeps_the_pipe_open_neither_hangs_the_call_nor_outlives_it():
    done = outside.run(python(HOLDS_THE_PIPE), seconds=60)
    assert done.returncode == 0
    assert is_gone(int(done.stdout))


def test_at_its_deadline_a_program_ends_with_its_children_and_its_last_words_are_told():
    with pytest.raises(outside.Overdue) as overdue:
        outside.run(python(NEVER_ENDS), seconds=1)
    told = str(overdue.value)
    assert told.startswith(Path(sys.executable).name)
    assert "did not end within 1 s and was killed" in told
    assert "some last words" in told
    child = int(told.partition("It said last: ")[2].split()[0])
    assert is_gone(child)


def test_a_reader_of_lines_sees_the_end_at_the_deadline():
    with outside.Program(python(NEVER_ENDS), seconds=1, stdout=outside.PIPE, text=True) as program:
        child, words, nothing = (program.stdout.readline() for _ in range(3))
    assert (words, nothing) == ("some last words\n", "")
    assert program.is_overdue
    assert is_gone(int(child))


def test_what_a_program_leaves_running_on_purpose_ends_with_the_test():
    with outside.Program(python(HOLDS_THE_PIPE), is_outlived=True, stdout=outside.PIPE, text=True) as program:
        child = int(program.stdout.readline())
        assert program.wait(PATIENCE_S) == 0
        assert outside.is_alive(child)
    assert is_gone(child)


def test_a_session_ends_with_the_groups_inside_it():
    with outside.Session(python(LEAVES_THE_GROUP), seconds=60, stdout=outside.PIPE, text=True) as session:
        child = int(session.stdout.readline())
        assert session.wait(PATIENCE_S) == 0
    assert is_gone(child)


def test_input_output_and_status():
    done = outside.run(python("import sys; print(input()); sys.exit(3)"), input="hello\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "hello\n", "")
    with pytest.raises(AssertionError, match=r"ended with status 3. It said last: it was me"):
        outside.run(python("import sys; print('it was me'); sys.exit(3)"), check=True)


def starts_programs(path):
    """Whether a file does so by itself. Code in a string is another program's."""
    text = path.read_text()
    if not any(word in text for word in STARTS):
        return False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import) and any(each.name == "subprocess" for each in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "subprocess":
            return True
        if isinstance(node, ast.Attribute) and f"os.{node.attr}" in STARTS and ast.unparse(node) in STARTS:
            return True
    return False


def test_nothing_else_starts_programs():
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "tools").glob("*.py")]
    theirs = [path for path in files if path.name != "outside.py" and IN_A_GROUP_ALREADY not in path.parents]
    found = [str(path.relative_to(ROOT)) for path in theirs if starts_programs(path)]
    assert found == [], "use tests/kits/outside.py"
