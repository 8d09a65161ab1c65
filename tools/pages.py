"""The pages under docs/ and the one module that are made from the tables, so that they cannot lie. `--check` only
compares.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "kits"))

import compatibility
import config_page
import config_types
import contracts
import gaps
import spark_options

import differences

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES: dict[str, Callable[[], str]] = {
    "compatibility.md": compatibility.render,
    "configs.md": config_page.render,
    "contracts.md": contracts.render,
    "differences.md": differences.render,
    "gaps.md": gaps.render,
    "spark-options.md": spark_options.render,
    "../src/odradek/client/config_types.py": config_types.render,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a page is not what the tables say")
    check = parser.parse_args().check
    stale = []
    for name, render in PAGES.items():
        path, text = DOCS / name, render()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'out of date: run `make pages`:' if check else 'rewritten:'} {', '.join(stale)}")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
