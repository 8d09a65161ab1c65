"""What the checks need to know of a log: `log.log.Log`, which uses them, is one."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from odradek.log.config import LogConfig
    from odradek.log.leader_epochs import LeaderEpochs
    from odradek.log.segment.segments import Segments
    from odradek.log.storage import Storage


class CheckedLog(Protocol):
    generation: int  # another one after a truncation: what was checked before may be of other bytes
    log_end_offset: int
    was_compacted: bool  # ever, so that there may be gaps whatever the policy is now

    @property
    def config(self) -> "LogConfig": ...
    @property
    def directory(self) -> str: ...
    @property
    def epochs(self) -> "LeaderEpochs": ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def segments(self) -> "Segments": ...
    @property
    def storage(self) -> "Storage": ...
