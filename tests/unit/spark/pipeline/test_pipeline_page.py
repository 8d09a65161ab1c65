"""The pipelines that docs/pipelines.md declares are free of mistakes, in each of the three forms."""

import re
from pathlib import Path

import pytest

from odradek.spark.pipeline.loading import load

PAGE = Path(__file__).resolve().parents[4] / "docs" / "pipelines.md"
ENDINGS = {"yaml": ".yaml", "sql": ".sql", "python": ".py"}


@pytest.mark.parametrize("kind", ENDINGS)
def test_what_the_page_declares_can_be_read(kind, tmp_path):
    blocks = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    file = tmp_path / f"orders{ENDINGS[kind]}"
    file.write_text(blocks[0])
    declaration = load(str(file))
    assert [source.name for source in declaration.sources] == ["orders"]
    assert declaration.sinks
