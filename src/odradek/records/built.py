"""What build returns: finished batches and where each of them lies."""

from collections.abc import Iterator

from odradek.records.rows import Buffer

Span = tuple[int, int, int, int]  # first byte, byte behind the last, first row, number of rows


class Batches:
    """Finished batches, back to back in `data`; `spans` holds first byte, end, first row and record count of each."""

    __slots__ = ("data", "spans")

    def __init__(self, data: Buffer, spans: list[Span]) -> None:
        self.data = data
        self.spans = spans

    def __len__(self) -> int:
        """The number of batches, not of records or bytes."""
        return len(self.spans)

    def __iter__(self) -> Iterator[memoryview]:
        """One view of `data` per batch, in the order of the rows; nothing is copied."""
        view = memoryview(self.data)
        return (view[start:stop] for start, stop, _, _ in self.spans)

    def __repr__(self) -> str:
        return f"Batches({len(self.spans)} batches, {len(self.data)} bytes)"
