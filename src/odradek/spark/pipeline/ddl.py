"""Looks at a schema in Spark's DDL, `id BIGINT NOT NULL, tags ARRAY<STRING>`, where there is no Spark yet."""

from odradek.spark.pipeline.mistakes import Mistake, PipelineError, Place, did_you_mean
from odradek.spark.pipeline.sql_lexer import NUMBER, TEXT, Token, tokens

_PLAIN = frozenset(
    [
        "BOOLEAN",
        "BYTE",
        "TINYINT",
        "SHORT",
        "SMALLINT",
        "INT",
        "INTEGER",
        "LONG",
        "BIGINT",
        "FLOAT",
        "REAL",
        "DOUBLE",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMP_NTZ",
        "TIMESTAMP_LTZ",
        "STRING",
        "BINARY",
        "DECIMAL",
        "DEC",
        "NUMERIC",
        "VARIANT",
        "VOID",
        "CHAR",
        "CHARACTER",
        "VARCHAR",
        "TIME",
    ]
)
_NESTED = ("ARRAY", "MAP", "STRUCT")
_END = Token("end", "the end", 0, 0, 0)


def check_ddl(text: str, place: Place) -> None:
    """PipelineError, with the line, if it is no list of columns with types."""
    _Ddl(tokens(text, place), place).columns_to_the_end()


class _Ddl:
    def __init__(self, found: list[Token], place: Place) -> None:
        self._found = found
        self._at = 0
        self._place = place

    def columns_to_the_end(self) -> None:
        self._columns(separator=None)
        if self._now is not _END:
            self._fail(f"a comma is expected between columns, not {self._now.value!r}")

    def _columns(self, separator: str | None) -> None:
        """Of a table a name and a type; of a STRUCT there may be a colon between."""
        while True:
            if not self._now.is_identifier:
                self._fail(f"the name of a column is expected, not {self._now.value!r}")
            self._at += 1
            if self._now.is_sign(":") and separator is not None:
                self._at += 1
            self._type()
            self._rest_of_column()
            if not self._now.is_sign(","):
                return
            self._at += 1

    def _type(self) -> None:
        token, word = self._now, self._now.value.upper()
        if token is _END:
            self._fail("a column has a name and no type")
        if word in _NESTED:
            self._at += 1
            self._nested(word)
        elif word in _PLAIN:
            self._at += 1
            self._size()
        else:
            self._fail(f"there is no type {token.value!r}{did_you_mean(token.value, (*_PLAIN, *_NESTED))}")

    def _nested(self, word: str) -> None:
        self._expect("<")
        if word == "STRUCT":
            self._columns(separator=":")
        else:
            self._type()
        if word == "MAP":
            self._expect(",")
            self._type()
        self._expect(">")

    def _size(self) -> None:
        """(10, 2) behind DECIMAL."""
        if not self._now.is_sign("("):
            return
        while not self._now.is_sign(")"):
            self._at += 1
            if self._now.kind != NUMBER:
                self._fail(f"a number is expected in the brackets of a type, not {self._now.value!r}")
            self._at += 1
            if not (self._now.is_sign(",") or self._now.is_sign(")")):
                self._fail("the bracket of a type is not closed")
        self._at += 1

    def _rest_of_column(self) -> None:
        if self._now.is_word("NOT"):
            self._at += 1
            if not self._now.is_word("NULL"):
                self._fail("NOT is followed by NULL in a column")
            self._at += 1
        if self._now.is_word("COMMENT"):
            self._at += 1
            if self._now.kind != TEXT:
                self._fail("COMMENT is followed by a text in quotes")
            self._at += 1

    def _expect(self, sign: str) -> None:
        if not self._now.is_sign(sign):
            self._fail(f"{sign!r} is expected, not {self._now.value!r}")
        self._at += 1

    @property
    def _now(self) -> Token:
        return self._found[self._at] if self._at < len(self._found) else _END

    def _fail(self, text: str) -> None:
        last = self._found[min(self._at, len(self._found) - 1)].line if self._found else self._place.line
        raise PipelineError([Mistake(Place(self._place.file, last), f"in the schema, {text}")])
