"""What nothing in the source uses is not part of it: a function, method, property or class that only tests call is
removed, and what tests need of it becomes a kit on what the product uses itself.

It goes by names. A method counts as used if its name is read off anything but a module; off `self`, only by a class of
the same family. What is used by nobody but the unused is unused as well. A method that shares its name with another
one may hide behind it: this finds what is certain.
"""

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
WORD = re.compile(r"[A-Za-z_]\w*")
REFERENCE = re.compile(r"[A-Za-z_][\w.:]*(\[.*\])?( \| .*)?")  # a string that names something: for getattr, or a type

NAME, SELF, MODULE, ANYTHING = "a name", "of itself", "of a module", "of anything"

PUBLIC_MODULES = [
    "odradek",
    "odradek.admin",
    "odradek.aio",
    "odradek.consumer",
    "odradek.serde",
    "odradek.testing",
    "odradek.compat.aiokafka",
    "odradek.compat.confluent",
    "odradek.compat.kafka_python",
]
WHOLE = {
    "odradek/protocol/messages/": "all of Kafka's messages, declared as its protocol guide tells them",
    "odradek/protocol/errors.py": "all of Kafka's errors: programs catch them",
    "odradek/sim/": "the simulator is a tool for tests",
    "odradek/spark/": "Spark finds and calls it, and is not installed everywhere",
}
CALLED_FROM_OUTSIDE = {
    "add_both": "of the futures that compat.kafka_python gives",
    "add_errback": "of the futures that compat.kafka_python gives",
    "redirect_request": "urllib asks its handlers for it, here of classes that are made in functions",
}


class Definition(NamedTuple):
    name: str
    owner: str | None  # the class, of a method
    path: str
    line: int
    is_kept: bool  # by a rule that can be read off the text

    def __str__(self):
        return f"{self.path}:{self.line} {'' if self.owner is None else self.owner + '.'}{self.name}"


class Mention(NamedTuple):
    how: str
    owner: str | None  # the class that mentions it
    within: tuple[Definition, ...]


class Reader(ast.NodeVisitor):
    """Goes through one module and notes what it defines and what it mentions."""

    def __init__(self, path, definitions, mentions, bases):
        self._path = path
        self._definitions = definitions
        self._mentions = mentions
        self._bases = bases
        self._modules = set()
        self._within = ()
        self._owner = None
        self._is_in_function = False

    def read(self):
        tree = ast.parse((SOURCE / self._path).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                self._modules |= {each.asname or each.name for each in node.names if _is_module(node.module, each.name)}
        self.visit(tree)

    def visit_ClassDef(self, node):
        names = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
        self._bases[node.name] |= {ast.unparse(base).rpartition(".")[2] for base in names}
        self._define(node, node.name, is_function=False)

    def visit_FunctionDef(self, node):
        self._define(node, self._owner, is_function=True)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - as `ast` calls it

    def _define(self, node, owner, *, is_function):
        for each in node.decorator_list:
            self.visit(each)
        is_method = self._owner is not None and not self._is_in_function
        made = Definition(
            node.name,
            self._owner if is_method else None,
            self._path,
            node.lineno,
            (bool(node.decorator_list) and not is_method)  # what decorates it has taken it
            or (node.name.startswith("__") and node.name.endswith("__"))
            or node.name.startswith("pytest_")
            or "Not wired yet" in (ast.get_docstring(node) or ""),  # a list of its own: test_unwired.py
        )
        self._definitions.append(made)
        before = self._within, self._owner, self._is_in_function
        self._within, self._owner, self._is_in_function = (*self._within, made), owner, is_function
        for field in ast.iter_child_nodes(node):
            if field not in node.decorator_list:
                self.visit(field)
        self._within, self._owner, self._is_in_function = before

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):  # a docstring mentions nothing
            self.generic_visit(node)

    def visit_Name(self, node):
        self._mention(node.id, NAME)

    def visit_alias(self, node):
        for part in node.name.split("."):
            self._mention(part, NAME)

    def visit_Attribute(self, node):
        self._mention(node.attr, self._whose(node.value))
        self.generic_visit(node)

    def _whose(self, value):
        if isinstance(value, ast.Name):
            return SELF if value.id in ("self", "cls") else MODULE if value.id in self._modules else ANYTHING
        is_super = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"
        return SELF if is_super else ANYTHING

    def visit_Constant(self, node):
        if isinstance(node.value, str) and REFERENCE.fullmatch(node.value):
            for word in WORD.findall(node.value):
                self._mention(word, ANYTHING)

    def _mention(self, name, how):
        self._mentions[name].append(Mention(how, self._owner, self._within))


def _is_module(package, name):
    path = SOURCE.joinpath(*(package or "").split("."), name)
    return path.is_dir() or path.with_suffix(".py").exists()


class Source:
    def __init__(self):
        self.definitions = []
        self.mentions = defaultdict(list)
        self.bases = defaultdict(set)
        for path in sorted((SOURCE / "odradek").rglob("*.py")):
            name = path.relative_to(SOURCE).as_posix()
            Reader(name, self.definitions, self.mentions, self.bases).read()
        for path in (*(SOURCE / "odradek").rglob("*.pyx"), ROOT / "pyproject.toml"):
            for word in WORD.findall(path.read_text(encoding="utf-8")):
                self.mentions[word].append(Mention(ANYTHING, None, ()))
        self.families = [self._family(name) for name in list(self.bases)]
        self.unused = set()

    def _family(self, name):
        found, left = set(), [name]
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += self.bases.get(one, ())
        return found

    def find_unused(self):
        """Until nothing more is found: what the unused mentions does not count."""
        asked = [each for each in self.definitions if not each.is_kept and not each.path.startswith(tuple(WHOLE))]
        found = [each for each in asked if each.name not in CALLED_FROM_OUTSIDE]
        while more := {each for each in found if each not in self.unused and not self._is_used(each)}:
            self.unused |= {each for each in more if not self._is_expected_of(each)}
            found = [each for each in found if each not in more]
        return sorted(str(each) for each in self.unused)

    def _is_used(self, made):
        return any(self._speaks_of(mention, made) for mention in self.mentions[made.name])

    def _speaks_of(self, mention, made):
        if made in mention.within or not self.unused.isdisjoint(mention.within):
            return False
        if made.owner is None:
            return mention.how != SELF
        if mention.how == SELF:
            return self._are_related(mention.owner, made.owner)
        return mention.how == ANYTHING or (mention.how == NAME and mention.owner == made.owner)

    def _are_related(self, one, other):
        return one == other or any(one in family and other in family for family in self.families)

    @staticmethod
    def _is_expected_of(made):
        """A method that a base class, of ours or another's, or a public class has: others call it."""
        if made.owner is None:
            return False
        module = importlib.import_module(made.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        owner = getattr(module, made.owner, None)
        if owner is None:
            return False
        overrides = any(made.name in vars(base) for base in owner.__mro__[1:])
        return overrides or (owner in public_classes() and not made.name.startswith("_"))


def public_classes():
    modules = [importlib.import_module(name) for name in PUBLIC_MODULES]
    named = [getattr(module, name) for module in modules for name in getattr(module, "__all__", dir(module))]
    return {base for each in named if isinstance(each, type) for base in each.__mro__}


@pytest.fixture(scope="module")
def source():
    return Source()


def test_nothing_is_there_for_tests_alone(source):
    assert source.find_unused() == []


def test_what_is_named_here_is_there(source):
    names = {each.name for each in source.definitions}
    assert set(CALLED_FROM_OUTSIDE) <= names
    assert all((SOURCE / path).exists() for path in WHOLE)
