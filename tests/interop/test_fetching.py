"""Fetches of several processes at the same time, and on a network that has bad moments."""

import sys
from pathlib import Path

import fetching
import pytest

import outside

PROGRAM = """
import sys, time
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
import fetching

def install(directory):
    scratch = fetching.cache() / "repository"
    scratch.mkdir()  # fails where another one is at work
    time.sleep(0.5)
    scratch.rmdir()
    (directory / "jar").write_text("all of it")
    with open(fetching.cache() / "installed", "a") as told:
        told.write(directory.name + "\\n")

for name in sys.argv[4:]:
    assert (fetching.fetched(name, "1.0", install, lock=sys.argv[3] or None) / "jar").read_text() == "all of it"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ODRADEK_TEST_CACHE", str(tmp_path))
    return tmp_path


def race(lock, *wanted):
    """Every process wants its own list of things; what they complain of."""
    here = Path(__file__).parent
    commands = [[sys.executable, "-c", PROGRAM, here, here.parent / "kits", lock, *names] for names in wanted]
    racing = [outside.Program(command, seconds=60, stderr=outside.PIPE, text=True) for command in commands]
    return [process.communicate()[1] for process in racing]


def installed(cache):
    return sorted(line.rpartition("-")[0] for line in (cache / "installed").read_text().splitlines())


def test_of_two_processes_that_want_the_same_one_fetches_it(cache):
    assert race("", ["kafka"], ["kafka"]) == ["", ""]
    assert installed(cache) == ["kafka"]


def test_two_things_from_one_repository_come_one_after_the_other(cache):
    assert race("maven", ["kafka", "shell"], ["streams", "kafka"]) == ["", ""]
    assert installed(cache) == ["kafka", "shell", "streams"]


def test_what_fails_is_cleared_away_and_tried_once_more():
    tries = []

    def install(directory):
        tries.append(sorted(path.name for path in directory.iterdir()))
        (directory / "half").touch()
        if len(tries) == 1:
            raise fetching.Unavailable("a bad moment")

    fetching.fetched("kafka", "1.0", install)
    fetching.fetched("kafka", "1.0", install)
    assert tries == [[], []]


def test_what_fails_twice_is_unavailable():
    tries = []

    def install(directory):
        tries.append(directory)
        raise fetching.Unavailable("no network")

    with pytest.raises(fetching.Unavailable, match="no network"):
        fetching.fetched("kafka", "1.0", install)
    assert len(tries) == 2


def test_another_list_of_what_is_wanted_is_another_directory():
    """So that what an earlier version of these tests has left in a cache does not serve this one."""
    fill = lambda directory: None  # noqa: E731
    assert fetching.fetched("kafka", ["3.3.2"], fill) != fetching.fetched("kafka", ["3.3.2", "slf4j"], fill)
