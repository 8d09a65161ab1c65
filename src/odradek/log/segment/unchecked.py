"""Which bytes of a segment nobody has checked since the process began: sorted ranges, as a flat tuple of their bounds.

A segment that was found on disk begins as one such range; what is appended, recovered or written by compaction never
enters it. A check takes ranges out, in whole batches, so that every bound is where a batch begins. When nothing is left
the tuple is empty, which is all that a read looks at from then on.
"""

from bisect import bisect_right

RANGES_MAX = 256  # of one segment: beyond that a check is not remembered, and is made again by the next read

Bounds = tuple[int, ...]  # from, to, from, to, ...


def whole(size: int) -> Bounds:
    return (0, size) if size else ()


def first_in(bounds: Bounds, start: int, end: int) -> int | None:
    """The first byte from `start` up to `end` that is not checked."""
    slot = bisect_right(bounds, start)
    if slot % 2:
        return start
    return bounds[slot] if slot < len(bounds) and bounds[slot] < end else None


def without(bounds: Bounds, start: int, end: int) -> Bounds:
    """The bounds that are left after the check of a range."""
    left: list[int] = []
    for low, high in zip(bounds[::2], bounds[1::2], strict=True):
        if low < min(high, start):
            left += (low, min(high, start))
        if max(low, end) < high:
            left += (max(low, end), high)
    return tuple(left) if len(left) <= 2 * RANGES_MAX else bounds


def clipped(bounds: Bounds, size: int) -> Bounds:
    """The bounds that are left after the segment was cut to `size`."""
    return without(bounds, size, max(size, bounds[-1])) if bounds else bounds
