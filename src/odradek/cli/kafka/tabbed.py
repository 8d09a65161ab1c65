"""Tables of the scripts that put a tab behind each cell, too."""

from collections.abc import Iterable, Sequence


def print_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    cells = [list(names), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(names))]
    for row in cells:
        print("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)))
