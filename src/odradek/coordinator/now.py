"""The time of an event: two clocks that must never be taken for each other."""

from typing import NamedTuple


class Now(NamedTuple):
    """`mono_ms` for every timeout, `wall_ms` for what is written to the log or compared with it."""

    mono_ms: int
    wall_ms: int
