"""Where a consumer begins to read a partition when nothing tells it: auto.offset.reset, and what `seek_to_beginning`,
`seek_to_end` and `seek_to_time` ask for.
"""

from typing import NamedTuple

from odradek.broken_rule import present
from odradek.config.validators import duration_ms

LATEST_TIMESTAMP, EARLIEST_TIMESTAMP = -1, -2  # of ListOffsets: the end and the start of a log

_BY_DURATION = "by_duration:"


class ResetStrategy(NamedTuple):
    kind: str  # earliest, latest, none, by_duration, timestamp
    value_ms: int = 0  # the duration before now, or the time itself

    @classmethod
    def parse(cls, text: str) -> "ResetStrategy":
        """A value of auto.offset.reset, which the config table has checked; read without regard to case."""
        if text.startswith(_BY_DURATION):
            before_ms = present(duration_ms(text.removeprefix(_BY_DURATION)), "the config table has checked it")
            return cls("by_duration", before_ms)
        return cls(text.lower())

    @classmethod
    def at_time(cls, timestamp_ms: int) -> "ResetStrategy":
        """The first record at or after this time; the end of the log where there is none."""
        return cls("timestamp", timestamp_ms)

    @property
    def is_none(self) -> bool:
        return self.kind == "none"

    def timestamp_ms(self, wall_ms: int) -> int:
        """What ListOffsets is to be asked for."""
        if self.kind == "earliest":
            return EARLIEST_TIMESTAMP
        if self.kind == "latest":
            return LATEST_TIMESTAMP
        return max(0, wall_ms - self.value_ms) if self.kind == "by_duration" else self.value_ms


EARLIEST = ResetStrategy("earliest")
LATEST = ResetStrategy("latest")
NONE = ResetStrategy("none")
