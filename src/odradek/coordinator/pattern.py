"""Regular expressions of strangers, matched in time linear in the text.

Python's own matcher backtracks: a short pattern can keep it busy for years, and with it the broker's only thread. Here
the pattern is only parsed by Python, then followed in all its ways at once, a character at a time: as many steps as
the text has characters, each with at most as many ways as the pattern has instructions, and those are limited. What
needs backtracking (references to groups, looking around) is refused, as RE2 does, which Kafka uses.
"""

import re
from collections.abc import Callable, Iterable
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from odradek.protocol.errors import InvalidRegularExpression

INSTRUCTIONS_MAX = 2000

Test = Callable[[str], bool]  # of one character
Instruction = tuple[str, Test, int, int]  # its kind; a test if it takes a character; places in the program if it splits
_Node = Any  # of the tree that Python's parser makes of an expression: it has no types

_SPLIT, _CHARACTER, _AT_START, _AT_END, _MATCH = "split", "character", "start", "end", "match"

_CATEGORIES: dict[_Node, Test] = {
    sre.CATEGORY_DIGIT: lambda c: "0" <= c <= "9",
    sre.CATEGORY_NOT_DIGIT: lambda c: not "0" <= c <= "9",
    sre.CATEGORY_SPACE: lambda c: c in " \t\n\r\f\v",
    sre.CATEGORY_NOT_SPACE: lambda c: c not in " \t\n\r\f\v",
    sre.CATEGORY_WORD: lambda c: c.isascii() and (c.isalnum() or c == "_"),
    sre.CATEGORY_NOT_WORD: lambda c: not (c.isascii() and (c.isalnum() or c == "_")),
}


class Pattern:
    """Raises InvalidRegularExpression for what it cannot follow."""

    __slots__ = ("_program",)

    def __init__(self, text: str) -> None:
        try:
            tree = parser.parse(text)
            self._program = _Compiler(bool(tree.state.flags & re.IGNORECASE)).program(tree)
        except (re.error, RecursionError, OverflowError) as error:
            raise InvalidRegularExpression(f"{text!r} is no regular expression: {error}") from error

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        ways = self._closure([0], True, not text)
        for at, character in enumerate(text):
            stepped = [way + 1 for way in ways if self._takes(way, character)]
            if not stepped:
                return False
            ways = self._closure(stepped, False, at + 1 == len(text))
        return any(self._program[way][0] is _MATCH for way in ways)

    def _takes(self, way: int, character: str) -> bool:
        kind, test, _, _ = self._program[way]
        return kind is _CHARACTER and test(character)

    def _closure(self, ways: Iterable[int], is_at_start: bool, is_at_end: bool) -> list[int]:
        """Where these ways lead without a character."""
        seen: dict[int, None] = {}
        left = list(ways)
        while left:
            way = left.pop()
            if way in seen:
                continue
            seen[way] = None
            kind, _, first, second = self._program[way]
            if kind is _SPLIT:
                left += (first, second)
            elif (kind is _AT_START and is_at_start) or (kind is _AT_END and is_at_end):
                left.append(way + 1)
        return list(seen)


def _takes_none(character: str) -> bool:
    return False


class _Compiler:
    """Emits instructions one after the other; one that takes something goes on with the next."""

    def __init__(self, ignores_case: bool) -> None:
        self._ignores_case = ignores_case
        self._program: list[Instruction] = []

    def program(self, tree: _Node) -> list[Instruction]:
        self._sequence(tree)
        self._emit(_MATCH)
        return self._program

    def _emit(self, kind: str, test: Test = _takes_none, first: int = 0, second: int = 0) -> int:
        if len(self._program) >= INSTRUCTIONS_MAX:
            raise InvalidRegularExpression(f"The regular expression needs more than {INSTRUCTIONS_MAX} steps.")
        self._program.append((kind, test, first, second))
        return len(self._program) - 1

    def _split(self, at: int, first: int, second: int) -> None:
        """Says where the split at that place leads: it was emitted before that was known."""
        self._program[at] = (_SPLIT, _takes_none, first, second)

    def _sequence(self, tree: _Node) -> None:
        for operation, argument in tree:
            self._one(operation, argument)

    def _one(self, operation: _Node, argument: _Node) -> None:
        if operation in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            self._emit(_CHARACTER, self._test(operation, argument))
        elif operation is sre.SUBPATTERN:
            self._sequence(argument[3])
        elif operation is sre.BRANCH:
            self._branch(argument[1])
        elif operation in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            self._repeat(*argument)
        elif operation is sre.AT and argument in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            self._emit(_AT_START)
        elif operation is sre.AT and argument in (sre.AT_END, sre.AT_END_STRING):
            self._emit(_AT_END)
        else:
            raise InvalidRegularExpression(f"{str(operation).lower()} is not supported in regular expressions.")

    def _branch(self, alternatives: list[_Node]) -> None:
        jumps = []
        for alternative in alternatives[:-1]:
            split = self._emit(_SPLIT)
            self._sequence(alternative)
            jumps.append(self._emit(_SPLIT))
            self._split(split, split + 1, len(self._program))
        self._sequence(alternatives[-1])
        for jump in jumps:
            self._split(jump, len(self._program), len(self._program))

    def _repeat(self, least: int, most: int, tree: _Node) -> None:
        for _ in range(least):
            before = len(self._program)
            self._sequence(tree)
            if len(self._program) == before:
                return  # nothing, however often
        if most == sre.MAXREPEAT:
            split = self._emit(_SPLIT)
            self._sequence(tree)
            self._emit(_SPLIT, first=split, second=split)
            self._split(split, split + 1, len(self._program))
            return
        splits = []
        for _ in range(most - least):
            splits.append(self._emit(_SPLIT))
            self._sequence(tree)
        for split in splits:
            self._split(split, split + 1, len(self._program))

    def _test(self, operation: _Node, argument: _Node) -> Test:
        test = _test_of(operation, argument)
        if self._ignores_case:
            return lambda c: test(c) or test(c.lower()) or test(c.upper())
        return test


def _test_of(operation: _Node, argument: _Node) -> Test:
    if operation is sre.ANY:
        return lambda c: c != "\n"
    if operation is sre.LITERAL:
        return chr(argument).__eq__
    if operation is sre.NOT_LITERAL:
        return chr(argument).__ne__
    is_negated = argument[0][0] is sre.NEGATE
    tests = [_member_test(*member) for member in argument[1:] if is_negated] or [
        _member_test(*member) for member in argument if not is_negated
    ]
    return lambda c: any(test(c) for test in tests) != is_negated


def _member_test(operation: _Node, argument: _Node) -> Test:
    if operation is sre.RANGE:
        low, high = chr(argument[0]), chr(argument[1])
        return lambda c: low <= c <= high
    if operation is sre.LITERAL:
        return chr(argument).__eq__
    return _CATEGORIES[argument]
