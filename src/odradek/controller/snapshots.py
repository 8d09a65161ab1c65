"""Snapshots of the metadata, so that the log can be cleaned: after so many bytes of records, or so much time.

A publisher of the loader, on every node. The image is immutable: a job writes it while the loader goes on.
"""

from typing import TYPE_CHECKING

from odradek.controller.config import SnapshotConfig
from odradek.protocol.releases import Release
from odradek.reactor.loop import Loop

if TYPE_CHECKING:
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage
    from odradek.raft.client import RaftClient


class SnapshotGenerator:
    __slots__ = ("_bytes_at_last", "_config", "_is_writing", "_last_ms", "_loop", "_quorum", "_release", "written")

    def __init__(self, loop: Loop, quorum: "RaftClient", release: Release, config: SnapshotConfig) -> None:
        self._loop = loop
        self._quorum = quorum
        self._release = release
        self._config = config
        self._is_writing = False
        self._bytes_at_last: int | None = None
        self._last_ms = loop.ports.clock.mono_ms()
        self.written = 0

    def publish(self, delta: "MetadataDelta", image: "MetadataImage") -> None:
        if self._bytes_at_last is None:
            self._bytes_at_last = self._bytes_since_latest()
        if not self._is_writing and self._is_due(self._log_bytes() - self._bytes_at_last):
            self._is_writing = True
            self._loop.spawn(self._write(image))

    def _bytes_since_latest(self) -> int:
        """At start: what the log holds counts, unless there is a snapshot, about which we know no better."""
        return 0 if self._quorum.latest_snapshot_id is None else self._log_bytes()

    def _log_bytes(self) -> int:
        """What has been cleaned away counts on: else every clean would put the next snapshot off."""
        log = self._quorum.log
        return log.log.size + log.cleaned_bytes

    def _is_due(self, new_bytes: int) -> bool:
        if new_bytes >= self._config.snapshot_bytes:
            return True
        interval_ms = self._config.interval_ms
        return 0 < interval_ms <= self._loop.ports.clock.mono_ms() - self._last_ms and new_bytes > 0

    async def _write(self, image: "MetadataImage") -> None:
        try:
            offset = image.offset + 1
            if await self._quorum.create_snapshot(offset, image.epoch, image.records(self._release)):
                self.written += 1
        finally:
            self._bytes_at_last = self._log_bytes()
            self._last_ms = self._loop.ports.clock.mono_ms()
            self._is_writing = False
