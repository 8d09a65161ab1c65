"""The generated pages are the ones that are committed, and say of every config and API what it is."""

import shutil
import sys
from pathlib import Path
from typing import Any

import outside
from odradek.config import broker, consumer
from odradek.protocol import apis

ROOT = Path(__file__).resolve().parents[3]


def check(root: Path) -> Any:
    return outside.run([sys.executable, root / "tools" / "pages.py", "--check"])


def test_the_pages_are_what_the_tables_say() -> None:
    assert check(ROOT).stdout == ""


def test_a_page_that_differs_fails_the_check(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    tables = ("kits/differences.py", "interop/scenarios.py", "data/contracts.jsonl", "data/contracts_otherwise.txt")
    suite = [f"interop/{path.name}" for path in (ROOT / "tests" / "interop").glob("test_*.py")]
    for table in (*tables, *suite):
        (tmp_path / "tests" / table).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / table, tmp_path / "tests" / table)
    (tmp_path / "docs" / "configs.md").write_text("old", encoding="utf-8")
    checked = check(tmp_path)
    assert checked.returncode == 1
    assert "configs.md" in checked.stdout and "make pages" in checked.stdout


def test_the_pages_name_every_config_and_api() -> None:
    configs = (ROOT / "docs" / "configs.md").read_text(encoding="utf-8")
    for name in (*broker.TABLE.rows, *broker.TABLE.companions, *consumer.TABLE.rows):
        assert f"**`{name}`**" in configs
    gaps = (ROOT / "docs" / "gaps.md").read_text(encoding="utf-8")
    for api in apis.ALL:
        assert f"| {api.key} | {api.message} |" in gaps
