"""SQL as tokens with their lines: words, quoted names, texts, numbers and signs. Comments are left out.

Texts are in single or double quotes, names in backticks, as Spark has them; a backslash keeps the next character, two
quotes are one.
"""

import re
from dataclasses import dataclass

from odradek.spark.pipeline.mistakes import Mistake, PipelineError, Place

WORD, NAME, TEXT, NUMBER, SIGN = "word", "name", "text", "number", "sign"

_TOKEN = re.compile(
    r"""(?P<space>\s+ | --[^\n]* | /\*.*?\*/)
      | (?P<text>'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*")
      | (?P<name>`(?:[^`]|``)+`)
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<word>[^\W\d]\w*)
      | (?P<sign><=>|->>?|[<>!=]=|<>|\|\||::|.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b"}
_UNCLOSED = {"'": "a quote that is opened is not closed", '"': "a quote that is opened is not closed"}
_UNCLOSED["`"] = "a backtick that is opened is not closed"


@dataclass(frozen=True, slots=True)
class Token:
    """`value` is what a text or a name means, and a word as it stands; `start` and `end` are places in the text."""

    kind: str
    value: str
    line: int
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        return self.kind == WORD and self.value.upper() in words

    def is_sign(self, sign: str) -> bool:
        return self.kind == SIGN and self.value == sign

    @property
    def is_identifier(self) -> bool:
        return self.kind in (WORD, NAME)


def tokens(text: str, place: Place) -> list[Token]:
    """`place` is where the text begins. PipelineError for a quote or a comment that does not end."""
    found = []
    line = place.line
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        part = match.group()
        if kind == SIGN:
            _refuse_unclosed(text, match.start(), Place(place.file, line))
        if kind != "space":
            found.append(Token(kind, _meaning(kind, part), line, match.start(), match.end()))
        line += part.count("\n")
    return found


def _refuse_unclosed(text: str, at: int, place: Place) -> None:
    wrong = _UNCLOSED.get(text[at])
    if text.startswith("/*", at):
        wrong = "a comment that is opened is not closed"
    if wrong is not None:
        raise PipelineError([Mistake(place, wrong)])


def _meaning(kind: str, part: str) -> str:
    if kind == NAME:
        return part[1:-1].replace("``", "`")
    if kind != TEXT:
        return part
    quote = part[0]
    return re.sub(
        rf"\\(.)|{quote}{quote}", lambda m: quote if m[1] is None else _ESCAPES.get(m[1], m[1]), part[1:-1], flags=re.S
    )
