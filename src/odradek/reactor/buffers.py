"""Memory that is about to be written: a `bytearray` fills its own with zeros first, which costs as much as a copy.

And memory that is used again: what the operating system gives anew it has to find, clear and map page by page, which
costs more than a copy.
"""

from odradek import native

_STEP_BYTES = 256 * 1024  # lengths that differ by little share a buffer
_QUIET_MAX = 8


def unwritten(size: int) -> bytearray:
    """So many bytes, of which nobody may read one that was not written."""
    return bytearray(size)


_extension = native.load("odradek.reactor._buffers")
if _extension is not None:
    unwritten = _extension.unwritten


class LentBuffers:
    """Large buffers that were handed to somebody who tells nobody when he has read them. Python knows: a bytearray of
    which there are views cannot be made smaller. One without is used again.
    """

    __slots__ = ("_lent", "_quiet")

    def __init__(self) -> None:
        self._lent: list[bytearray] = []
        self._quiet = 0

    def __len__(self) -> int:
        return len(self._lent)

    def take(self, size: int) -> bytearray:
        """At least `size` bytes, with anything in them. Of those that are free, one more is kept."""
        self._quiet = 0
        free = [buffer for buffer in self._lent if _has_no_view(buffer)]
        found = next((buffer for buffer in free if size <= len(buffer) <= 2 * size + _STEP_BYTES), None)
        spare = next((buffer for buffer in free if buffer is not found), None)
        dropped = {id(buffer) for buffer in free if buffer is not found and buffer is not spare}
        self._lent = [buffer for buffer in self._lent if id(buffer) not in dropped]
        if found is None:
            found = unwritten(-(-size // _STEP_BYTES) * _STEP_BYTES)
            self._lent.append(found)
        return found

    def was_not_needed(self) -> None:
        """Something small has come. After a few of them in a row, what is free is given back."""
        self._quiet += 1
        if self._lent and self._quiet >= _QUIET_MAX:
            self._quiet = 0
            self._lent = [buffer for buffer in self._lent if not _has_no_view(buffer)]


def _has_no_view(buffer: bytearray) -> bool:
    try:
        del buffer[-1:]
    except BufferError:
        return False
    buffer.append(0)
    return True
