"""The stories of `transaction_stories/`: ODRADEK_REWRITE=1 writes down how they go now, to be read in the diff."""

import os
from pathlib import Path

import pytest

from transaction_kit import retold

STORIES = sorted((Path(__file__).parent / "transaction_stories").glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path):
    now = retold(path.read_text())
    if os.environ.get("ODRADEK_REWRITE"):
        path.write_text(now)
    assert now == path.read_text()


def test_there_are_stories():
    assert len(STORIES) >= 18
