"""The count of the clients' suite: a behaviour is a test or a case of one, once for all brokers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

import behaviours

BROKERS = """
import pytest

KINDS = ["ours", "theirs"]
TABLE = {"one": 1, "two": 2, "three": 3}

@pytest.fixture(scope="module", params=KINDS)
def cluster(request): ...

@pytest.fixture
def topic(cluster): ...

@pytest.fixture(params=["eager", "newer"])
def kind(request): ...

class TestSome:
    def test_alone(self, topic): ...

    @pytest.mark.parametrize("what", TABLE)
    def test_of_a_table(self, cluster, what): ...

    @pytest.mark.parametrize(("a", "b"), [(1, 2), (3, 4)])
    def test_of_two_kinds(self, cluster, kind, a, b): ...

def test_without_a_broker(kind): ...
"""


def test_cases_count_and_brokers_do_not(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(BROKERS)
    assert list(behaviours._cases(tmp_path / "test_some.py")) == [1, 3, 4]


def test_fixtures_of_another_file_are_known(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(BROKERS)
    (tmp_path / "test_more.py").write_text("from test_some import kind, topic\n\ndef test_it(kind, topic): ...\n")
    assert list(behaviours._cases(tmp_path / "test_more.py")) == [2]


def test_every_file_of_the_suite_is_there_and_has_some() -> None:
    assert all(behaviours.counted().values())
    assert str(sum(behaviours.counted().values())) in behaviours.section()
