"""The pages for people: links lead somewhere, and the names of invariants are defined."""

import io
import re
import tokenize
from pathlib import Path

import pytest

import outside

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
FILE = re.compile(r"`((?:\w+/)*(?!kNN)\w+\.pyx?)`")
NAME = re.compile(r"(?<![\w./-])([A-Z])(\d{1,2})(?:-([A-Z])?(\d{1,2}))?(?![\w.-])")
CONTRACTS = re.compile(r"pytest\.mark\.contract\([^)]*\)")  # their lines are numbered with letters, too
PYX_COMMENT = re.compile(r'#.*|"""[^"]*"""')  # Cython is not Python's to tokenize
DEFINITION = re.compile(r"^\| ([A-Z]\d{1,3}) \|", re.MULTILINE)


def tracked(*patterns):
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *patterns]
    listed = outside.run(listing, cwd=ROOT, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


PAGES = tracked("*.md")


def words(path):
    """What a person reads: of a program its comments and strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    if path.suffix == ".pyx":
        return "\n".join(PYX_COMMENT.findall(text))
    tokens = tokenize.generate_tokens(io.StringIO(CONTRACTS.sub("None", text)).readline)
    return "\n".join(token.string for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING))


def cited(text):
    for letter, first, _, last in NAME.findall(text):
        yield from (f"{letter}{number}" for number in range(int(first), int(last or first) + 1))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert [
        page.name for page in DOCS.glob("*.md") if page.name != "README.md" and f"]({page.name})" not in index
    ] == []


def test_every_script_has_its_line():
    rows = re.findall(r"^\| (`kafka-[^|]*)", (DOCS / "scripts.md").read_text(), re.MULTILINE)
    named = re.findall(r"`(kafka-[a-z-]+\.sh)`", "".join(rows))
    assert sorted(named) == sorted(script.name for script in (ROOT / "bin").glob("*.sh"))


def test_every_file_that_the_architecture_names_is_there():
    there = [f"/{path.relative_to(ROOT)}" for path in tracked("*.py", "*.pyx")]
    named = set(FILE.findall((DOCS / "architecture.md").read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in there)] == []


def defined(page):
    return set(DEFINITION.findall((DOCS / page).read_text(encoding="utf-8")))


def undefined(names, *patterns):
    """By file, what is cited there and is none of the names."""
    unknown = {path: set(cited(words(path))) - names for path in tracked(*patterns)}
    return {str(path.relative_to(ROOT)): sorted(found) for path, found in unknown.items() if found}


def test_the_source_names_nothing_but_invariants():
    """A letter and a number in a comment or a string is an invariant, never a line of docs/contracts.md."""
    assert undefined(defined("invariants.md"), "src/*.py", "src/*.pyx") == {}


def test_every_name_of_an_invariant_or_a_contract_is_defined():
    """Contracts have letters of their own and some of the invariants': those mean the invariant."""
    invariants = defined("invariants.md")
    letters = {name[0] for name in invariants}
    contracts = {name for name in defined("contracts.md") if name[0] not in letters}
    assert (
        undefined(invariants | contracts, "tests/*.py", "bench/*.py", "docs/*.md", "README.md", ":!docs/contracts.md")
        == {}
    )


def test_a_range_of_names_names_all_of_them():
    assert list(cited("(T1-T3, L2)")) == ["T1", "T2", "T3", "L2"]
