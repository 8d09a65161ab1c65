"""Which small mistakes can be made in a source file: each is a piece of its text and what takes its place.

A mistake is one that a person makes: a comparison that is off by its equality, a constant off by one, `and` for `or`, a
forgotten `not`, a statement that is missing, two arguments in the wrong order, a keyword that was left out, an empty
collection, `break` for `continue`.

Left out is what no test can or should notice: docstrings, log lines and other text, `__repr__`, annotations and what
else is there for the type checker only, `__slots__` and `__all__`, and the checks of rules that cannot be broken from
outside (`assert`, `require`, BrokenRuleError).
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

AROUND_CHARACTERS_MAX = 30
SHOWN_CHARACTERS_MAX = 60

_COMPARISONS = {
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "is not": "is",
    "is": "is not",
    "not in": "in",
    "in": "not in",
}
_ARITHMETIC = {"+": "-", "-": "+", "*": "//", "//": "*", "%": "//", "<<": ">>", ">>": "<<", "&": "|", "|": "&"}
_COMPARISON = re.compile(r"==|!=|<=|>=|<|>|\bis\s+not\b|\bnot\s+in\b|\bis\b|\bin\b")
_ARITHMETIC_SIGN = re.compile(r"\*\*|//|<<|>>|[-+*/%&|^@]")
_JUNCTION = re.compile(r"\b(?:and|or)\b")

_LOGGING = frozenset(["debug", "info", "warning", "error", "exception", "critical"])
_LOGGERS = frozenset(["log", "_log", "logger", "_logger", "logging"])
_TYPING_CALLS = frozenset(["TypeVar", "ParamSpec", "NewType", "cast"])
_RULES = frozenset(["require", "present", "instance", "BrokenRuleError"])
_SKIPPED_TARGETS = frozenset(["__slots__", "__all__", "__match_args__"])


class Mutation(NamedTuple):
    """`source[start:end]` becomes `replacement`. `first_line` to `last_line` is the statement that it is in."""

    path: str
    line: int
    first_line: int
    last_line: int
    start: int
    end: int
    replacement: bytes
    before: str
    after: str
    is_in_function: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before} -> {self.after}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.replacement + source[self.end :]

    def is_code(self, source: bytes) -> bool:
        """Whether what comes out is Python: a piece of text may have been cut where a parenthesis stood."""
        try:
            compile(self.applied(source), self.path, "exec", dont_inherit=True)
        except SyntaxError:
            return False
        return True


def mutations_of(path: str, source: bytes) -> list[Mutation]:
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return finder.found


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: bytes) -> None:
        self._path = path
        self._source = source
        self._line_starts = [0]
        for line in source.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))
        self._statement: ast.stmt | None = None
        self._functions = 0  # how many there are around the node
        self.found: list[Mutation] = []

    # Places and texts.

    def _start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._line_starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, start: int, end: int) -> str:
        return self._source[start:end].decode()

    def _add(self, start: int, end: int, replacement: str) -> None:
        statement = self._statement
        assert statement is not None
        left, right = self._around(start, end)
        self.found.append(
            Mutation(
                self._path,
                self._source.count(b"\n", 0, start) + 1,
                statement.lineno,
                _header_end(statement),
                start,
                end,
                replacement.encode(),
                left + _shown(self._text(start, end)) + right,
                left + _shown(replacement) + right,
                self._functions > 0,
            )
        )

    def _around(self, start: int, end: int) -> tuple[str, str]:
        """What stands before and behind on the same lines, or as much of it as helps to find the place."""
        left = self._text(self._source.rfind(b"\n", 0, start) + 1, start).lstrip()
        right, _, _ = self._source[end:].partition(b"\n")
        behind = right.decode().rstrip()
        if len(left) > AROUND_CHARACTERS_MAX:
            left = "..." + left[-AROUND_CHARACTERS_MAX:]
        if len(behind) > AROUND_CHARACTERS_MAX:
            behind = behind[:AROUND_CHARACTERS_MAX] + "..."
        return left, behind

    def _replace(self, node: ast.expr | ast.stmt, replacement: str) -> None:
        self._add(self._start(node), self._end(node), replacement)

    def _swap_sign(self, left: ast.expr, right: ast.expr, sign: re.Pattern[str], others: dict[str, str]) -> None:
        """The sign between two operands, which may have parentheses around them."""
        start = self._end(left)
        found = sign.search(self._text(start, self._start(right)))
        if found is not None and (other := others.get(" ".join(found[0].split()))) is not None:
            self._add(start + found.start(), start + found.end(), other)

    # What is looked at.

    def visit(self, node: ast.AST) -> None:
        if _is_left_out(node):
            return
        outer = self._statement
        if isinstance(node, ast.stmt):
            self._statement = node
            self._removed(node)
        super().visit(node)
        self._statement = outer

    def _each(self, nodes: "list[ast.expr] | list[ast.stmt] | list[ast.keyword]") -> None:
        for node in nodes:
            self.visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._each(node.decorator_list)
        self._each([default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None])
        self._functions += 1
        self._each(node.body)
        self._functions -= 1

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._each(node.decorator_list)
        self._each(node.keywords)
        self._each(node.body)

    def visit_If(self, node: ast.If) -> None:
        if _is_for_types(node.test):
            self._each(node.orelse)
            return
        self._negated(node.test)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        self._each(node.slice.elts if isinstance(node.slice, ast.Tuple | ast.List) else [node.slice])

    def visit_Raise(self, node: ast.Raise) -> None:
        """The statement can be missing; what it says is text."""

    # The mistakes.

    def _removed(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Expr):
            inner = node.value.value if isinstance(node.value, ast.Await) else node.value
            is_removed = isinstance(inner, ast.Call)
        elif isinstance(node, ast.Assign):
            is_removed = all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
        else:
            is_removed = isinstance(node, ast.AugAssign | ast.Raise | ast.Delete)
        if is_removed:
            self._replace(node, "pass")

    def _negated(self, test: ast.expr) -> None:
        """What is a comparison, a junction or a `not` has mutations of its own."""
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.NamedExpr):
            self._replace(test, f"not ({self._text(self._start(test), self._end(test))})")

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negated(node.test)
            self.visit(node.test)
        self._each(node.body)
        self._each(node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negated(node.test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
            self._swap_sign(left, right, _COMPARISON, _COMPARISONS)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._swap_sign(left, right, _JUNCTION, {"and": "or", "or": "and"})
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._swap_sign(node.left, node.right, _ARITHMETIC_SIGN, _ARITHMETIC)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._add(self._start(node), self._start(node.operand), "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace(node, str(node.value + 1))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._replace(node, "return None")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break")

    def visit_Call(self, node: ast.Call) -> None:
        if len(node.args) > 1 and not any(isinstance(each, ast.Starred) for each in node.args[:2]):
            first, second = (self._text(self._start(each), self._end(each)) for each in node.args[:2])
            if first != second:
                between = self._text(self._end(node.args[0]), self._start(node.args[1]))
                self._add(self._start(node.args[0]), self._end(node.args[1]), second + between + first)
        for keyword in node.keywords:
            if keyword.arg is not None:
                self._left_out(node, keyword)
        self.generic_visit(node)

    def _left_out(self, node: ast.Call, keyword: ast.keyword) -> None:
        before = [self._end(each) for each in (*node.args, *node.keywords) if self._end(each) < self._start(keyword)]
        after = [self._start(each) for each in node.keywords if self._start(each) > self._end(keyword)]
        if before:
            self._add(max(before), self._end(keyword), "")
        else:
            self._add(self._start(keyword), min(after, default=self._end(keyword)), "")

    def visit_List(self, node: ast.List) -> None:
        self._emptied(node, node.elts, "[]")

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self._emptied(node, node.elts, "()")

    def visit_Set(self, node: ast.Set) -> None:
        self._emptied(node, node.elts, "set()")

    def visit_Dict(self, node: ast.Dict) -> None:
        self._emptied(node, node.values, "{}")

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._emptied(node, [node], "[]")

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._emptied(node, [node], "{}")

    def _emptied(
        self, node: ast.List | ast.Tuple | ast.Set | ast.Dict | ast.ListComp | ast.DictComp, parts: list, empty: str
    ) -> None:
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)  # a target is written: nothing to empty
        if parts and is_read:
            self._replace(node, empty)
        self.generic_visit(node)


def _header_end(node: ast.stmt) -> int:
    """The last line of a statement; of one that has a body, the last line before it."""
    body = getattr(node, "body", None)
    if body:
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno


def _shown(text: str) -> str:
    if not text.strip():
        return text
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else text[: SHOWN_CHARACTERS_MAX - 3] + "..."


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr | ast.Assert):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name == "__repr__" or "overload" in set(_names_of(node.decorator_list))
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _is_logging(node.value)
    if isinstance(node, ast.Raise):
        return node.exc is not None and bool(_RULES & set(_names_of([node.exc])))
    if isinstance(node, ast.Assign):
        return _is_for_readers(node)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TYPING_CALLS | _RULES


def _names_of(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        called = node.func if isinstance(node, ast.Call) else node
        if isinstance(called, ast.Name | ast.Attribute):
            yield called.id if isinstance(called, ast.Name) else called.attr


def _is_logging(node: ast.expr) -> bool:
    """A log line, or a rule that is checked."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id in _RULES
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr not in _LOGGING:
        return False
    owner = called.value
    return (owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")) in _LOGGERS


def _is_for_readers(node: ast.Assign) -> bool:
    """`__slots__` and the like, and the name of a type: `Found = tuple[int, int]`."""
    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    if not names:
        return False
    is_type = names[0][0].isupper() and not names[0].isupper() and not isinstance(node.value, ast.Call | ast.Constant)
    return is_type or bool(_SKIPPED_TARGETS & set(names))


def _is_for_types(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name):
        return test.left.id == "__name__"
    return "TYPE_CHECKING" in set(_names_of([test]))
