"""What a command found, as a table for people or as lines of JSON for programs.

A table is aligned by spaces, on a terminal and in a pipe alike; numbers stand to the right. Colours are for terminals,
and not for those whose user has set NO_COLOR. With --json each row is an object on a line of its own, with the fields
that docs/cli.md lists.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"

_ABSENT = "-"


def has_colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, colour: str, stream: TextIO | None = None) -> str:
    """The text in a colour, if whoever reads the stream (standard output) sees colours."""
    return f"\x1b[{colour}m{text}\x1b[0m" if text and has_colours(stream or sys.stdout) else text


def show(options: argparse.Namespace, rows: Iterable[Mapping[str, object]], columns: Mapping[str, str]) -> None:
    """Rows with all their fields as JSON, or a table of those that `columns` gives a heading by their names."""
    if options.json:
        show_json(rows)
    else:
        show_table([[row.get(field) for field in columns] for row in rows], list(columns.values()))


def show_json(rows: Iterable[Mapping[str, object]]) -> None:
    import json

    for row in rows:
        print(json.dumps(row, ensure_ascii=False, separators=(", ", ": ")))


def show_table(rows: Sequence[Sequence[object]], headings: Sequence[str]) -> None:
    for number, line in enumerate(table_lines(rows, headings)):
        print(line if number else painted(line, BOLD))


def table_lines(rows: Sequence[Sequence[object]], headings: Sequence[str]) -> list[str]:
    """The heading first. A column of numbers stands to the right, its heading as well."""
    texts = [[cell_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *texts, strict=True)]
    is_number = [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(headings))]
    return [_line(row, widths, is_number) for row in (headings, *texts)]


def show_fields(options: argparse.Namespace, fields: Mapping[str, object], names: Mapping[str, str]) -> None:
    """One thing, a line for each of its fields that `names` has a word for."""
    if options.json:
        show_json([fields])
        return
    width = max(map(len, names.values()))
    for field, word in names.items():
        print(f"{painted(word.ljust(width), DIM)}  {cell_text(fields[field])}")


def cell_text(cell: object) -> str:
    """Nothing that would break a line or a terminal: what a cell says may come from anybody."""
    if cell is None or cell == "" or cell == ():
        return _ABSENT
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, (list, tuple, set, frozenset)):
        return ",".join(map(str, cell)) or _ABSENT
    text = str(cell)
    return text if text.isprintable() else "".join(_printable(char) for char in text)


def counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _printable(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def _is_number(cell: object) -> bool:
    return cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool))


def _line(cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, is_number, strict=True)
    ]
    return "  ".join(padded).rstrip()
