"""What can be told of a query without a parser of SQL: the names behind FROM and JOIN, and whether it aggregates.

Only what is certain is told. A name with a dot is a table of a catalog, one with an argument list a table function, a
name of WITH belongs to the query; FROM within the brackets of a function (EXTRACT, TRIM) and IS DISTINCT FROM are no
clauses.
"""

from dataclasses import dataclass

from odradek.spark.pipeline.mistakes import Place
from odradek.spark.pipeline.sql_lexer import Token, tokens

_END = Token("end", "", 0, 0, 0)
_NO_TABLES = ("LATERAL", "VALUES", "UNNEST", "STREAM", "TABLE", "SELECT", "ONLY")
_AFTER_A_TABLE = frozenset(
    """
    WHERE GROUP ORDER HAVING LIMIT UNION EXCEPT INTERSECT MINUS JOIN INNER LEFT RIGHT FULL CROSS NATURAL SEMI ANTI ON
    USING LATERAL WINDOW PIVOT UNPIVOT TABLESAMPLE SORT DISTRIBUTE CLUSTER QUALIFY OFFSET WATERMARK SELECT
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")


@dataclass(frozen=True, slots=True)
class NameInSql:
    name: str
    place: Place


def names_read(text: str, place: Place) -> list[NameInSql]:
    """Each with its own line, as often as it is read."""
    found = tokens(text, place)
    own = _own_names(found)
    read = [token for at in _table_places(found) for token in _tables_at(found, at)]
    return [NameInSql(each.value, Place(place.file, each.line)) for each in read if each.value.lower() not in own]


def aggregates_without_watermark(text: str, place: Place) -> bool:
    """It groups, and does not itself say how late a record may be."""
    found = tokens(text, place)
    groups = any(token.is_word("GROUP") and _at(found, at + 1).is_word("BY") for at, token in enumerate(found))
    return groups and not any(token.is_word("WATERMARK") for token in found)


def _own_names(found: list[Token]) -> set[str]:
    """Those of WITH: a name, AS and a bracket. With columns in brackets between, the brackets come first."""
    own = set()
    for at, token in enumerate(found):
        if token.is_word("AS") and _at(found, at + 1).is_sign("(") and at:
            before = _before_brackets(found, at - 1)
            if before >= 0 and found[before].is_identifier:
                own.add(found[before].value.lower())
    return own


def _before_brackets(found: list[Token], at: int) -> int:
    if not found[at].is_sign(")"):
        return at
    depth = 0
    while at >= 0:
        depth += found[at].is_sign(")") - found[at].is_sign("(")
        at -= 1
        if depth == 0:
            break
    return at


def _table_places(found: list[Token]) -> list[int]:
    """Where a table may stand: behind FROM of a query, and behind JOIN."""
    places = []
    in_query = [True]
    for at, token in enumerate(found):
        if at and found[at - 1].is_sign("."):
            continue
        if token.is_sign("("):
            in_query.append(_at(found, at + 1).is_word(*QUERY_WORDS))
        elif token.is_sign(")"):
            in_query = in_query[:-1] or [True]
        elif (
            in_query[-1]
            and token.is_word("FROM")
            and not (at and found[at - 1].is_word("DISTINCT") and _is_test(found, at))
        ) or token.is_word("JOIN"):
            places.append(at + 1)
    return places


def _is_test(found: list[Token], at: int) -> bool:
    """IS [NOT] DISTINCT FROM, and not SELECT DISTINCT ... FROM with nothing between, which is none."""
    return at >= 2 and found[at - 2].is_word("IS", "NOT")


def _tables_at(found: list[Token], at: int) -> list[Token]:
    """The tables of a list with commas."""
    tables: list[Token] = []
    while True:
        token = _at(found, at)
        if token.is_word(*_NO_TABLES) or not token.is_identifier:
            return tables
        following = _at(found, at + 1)
        if following.is_sign(".") or following.is_sign("("):
            return tables
        tables.append(token)
        at = _after_alias(found, at + 1)
        if not _at(found, at).is_sign(","):
            return tables
        at += 1


def _after_alias(found: list[Token], at: int) -> int:
    if _at(found, at).is_word("AS"):
        return at + 2
    token = _at(found, at)
    return at + 1 if token.is_identifier and token.value.upper() not in _AFTER_A_TABLE else at


def _at(found: list[Token], at: int) -> Token:
    return found[at] if 0 <= at < len(found) else _END
