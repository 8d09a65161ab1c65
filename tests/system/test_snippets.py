"""Every snippet of the README and of docs/ does what its page says."""

import shutil
from pathlib import Path

import pytest
from snippets import Reader, snippets

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEEDED = ("kcat", "openssl")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if list(snippets(page))], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_snippet_runs_as_it_stands(page, tmp_path):
    everything = list(snippets(page))
    missing = [name for name in NEEDED if shutil.which(name) is None and any(name in each.text for each in everything)]
    if missing:
        pytest.skip(f"the snippets need {' and '.join(missing)}: install it")
    with Reader(tmp_path) as reader:
        for snippet in everything:
            reader.follow(snippet)


def test_a_snippet_that_is_wrong_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo hello\ngood bye\n```\n")
    with Reader(tmp_path) as reader, pytest.raises(AssertionError, match="printed\nhello"):
        reader.follow(*snippets(page))
