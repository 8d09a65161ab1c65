"""Gather in plain Python: the twin of `_gather.pyx`."""

from array import array
from itertools import accumulate

from odradek.records.rows import Buffer, Segment

INT32_MAX = 0x7FFF_FFFF
CHANGED = "the bytes behind these columns have changed since they were scanned"

GatheredColumn = tuple[bool, int, bytes | None, bytes, bytes]
LocatedHeaders = tuple[bytes, "array[int]", "array[int]", "array[int]", "array[int]", list[Segment]]


def gather(
    positions: "array[int]", lengths: "array[int]", segments: list[Segment], large: bool | None = None
) -> GatheredColumn:
    """One column in Arrow's layout: is it large, null count, validity or None, offsets, data."""
    _check_segments(segments, len(lengths))
    ends = [0, *accumulate(length if length > 0 else 0 for length in lengths)]
    is_large = ends[-1] > INT32_MAX if large is None else large
    null_count = sum(length < 0 for length in lengths)
    validity = _validity(lengths) if null_count else None
    pieces: list[Buffer] = []
    for source, first, stop in segments:
        size = len(source)
        for position, length in zip(positions[first:stop], lengths[first:stop], strict=True):
            if position < 0 or position + length > size:
                raise IndexError("a row lies outside its source")
            if length > 0:
                pieces.append(source[position : position + length])
    return is_large, null_count, validity, array("q" if is_large else "i", ends).tobytes(), b"".join(pieces)


def locate_headers(
    positions: "array[int]", lengths: "array[int]", segments: list[Segment], header_count: int
) -> LocatedHeaders:
    """List offsets and, for each header of each row, where its key and value are; both are then gathered."""
    if header_count > INT32_MAX:
        raise OverflowError(f"{header_count} headers are more than one list column can hold")
    _check_segments(segments, len(lengths))
    list_offsets = array("i", [0])
    key_positions, key_lengths = array("i"), array("i")
    value_positions, value_lengths = array("i"), array("i")
    header_segments: list[Segment] = []
    for source, first, stop in segments:
        before = len(key_lengths)
        for row in range(first, stop):
            position = positions[row] + max(lengths[row], 0)
            try:
                for key, key_length, value, value_length in _headers(source, position):
                    key_positions.append(key)
                    key_lengths.append(key_length)
                    value_positions.append(value)
                    value_lengths.append(value_length)
            except IndexError:
                raise RuntimeError(CHANGED) from None
            list_offsets.append(len(key_lengths))
        header_segments.append((source, before, len(key_lengths)))
    if len(key_lengths) != header_count:
        raise RuntimeError(CHANGED)
    return (
        list_offsets.tobytes(),
        key_positions,
        key_lengths,
        value_positions,
        value_lengths,
        header_segments,
    )


def _headers(source: Buffer, position: int) -> list[tuple[int, int, int, int]]:
    """IndexError if the bytes are not what a scan has checked."""
    count, position = _varint(source, position)
    if count < 0:
        raise IndexError
    found = []
    for _ in range(count):
        key_length, key = _varint(source, position)
        if key_length < 0:
            raise IndexError
        value_length, value = _varint(source, key + key_length)
        if value_length < -1 or value + value_length > len(source):
            raise IndexError
        position = value + max(value_length, 0)
        found.append((key, key_length, value, value_length))
    return found


def _varint(source: Buffer, position: int) -> tuple[int, int]:
    raw = 0
    for index in range(5):
        byte = source[position + index]
        raw |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            raw &= 0xFFFF_FFFF
            return (raw >> 1) ^ -(raw & 1), position + index + 1
    raise IndexError


def _validity(lengths: "array[int]") -> bytes:
    bits = "".join(["0" if length < 0 else "1" for length in reversed(lengths)])
    return int(bits, 2).to_bytes((len(lengths) + 7) // 8, "little")


def _check_segments(segments: list[Segment], rows: int) -> None:
    """Segments follow one another from the first row to the last, or the outputs would have holes."""
    expected = 0
    for _, first, stop in segments:
        if first != expected or stop < first:
            raise IndexError(f"a segment {first}:{stop} does not follow row {expected}")
        expected = stop
    if expected != rows:
        raise IndexError(f"the segments end at row {expected} of {rows}")
