"""Fetches that the core lets through: answered with records, or kept waiting until there are some."""

from odradek.broken_rule import present
from odradek.protocol import errors
from odradek.protocol.messages import k01_fetch
from odradek.raft import messages
from odradek.raft.core.effects import Answer
from odradek.raft.core.roles import Leader
from odradek.raft.driver.replica import Replica
from odradek.raft.driver.waiting_request import Finish, WaitingRequest
from odradek.reactor.timers import Timer

HIGH_WATERMARK_UNKNOWN = 2**63 - 1


class WaitingFetch(WaitingRequest):
    __slots__ = ("epoch", "high_watermark", "max_bytes", "max_wait_ms", "offset", "timer")

    def __init__(
        self,
        finish: Finish,
        replica: Replica,
        request: k01_fetch.FetchRequest,
        asked: k01_fetch.FetchPartition,
    ) -> None:
        super().__init__(finish, lambda answer: _response(replica, answer))
        self.epoch: int = asked.current_leader_epoch
        self.offset: int = asked.fetch_offset
        self.high_watermark: int = asked.high_watermark
        self.max_bytes: int = request.max_bytes
        self.max_wait_ms: int = request.max_wait_ms
        self.timer: Timer | None = None


class FetchServing:
    __slots__ = ("_replica", "_waiting")

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._waiting: dict[WaitingFetch, None] = {}

    def serve(self, fetch: WaitingFetch) -> None:
        if self._has_news(fetch) or fetch.max_wait_ms <= 0:
            self._replica.loop.spawn(self._send_records(fetch))
        else:
            self._waiting[fetch] = None
            fetch.timer = self._replica.loop.after(fetch.max_wait_ms, lambda: self._release(fetch))

    def _has_news(self, fetch: WaitingFetch) -> bool:
        core = self._replica.core
        has_changed = not isinstance(core.role, Leader) or core.epoch != fetch.epoch
        is_behind = fetch.high_watermark != HIGH_WATERMARK_UNKNOWN and fetch.high_watermark < core.high_watermark
        return has_changed or is_behind or fetch.offset < core.log.end.offset

    def wake(self, *, everyone: bool = False) -> None:
        """Records came, or for everyone: the high watermark moved or leadership changed."""
        for fetch in list(self._waiting):
            if everyone or self._has_news(fetch):
                self._release(fetch)

    def _release(self, fetch: WaitingFetch) -> None:
        if fetch not in self._waiting:
            return
        del self._waiting[fetch]
        present(fetch.timer, "a fetch that waits has a timer").cancel()
        self._replica.loop.spawn(self._send_records(fetch))

    async def _send_records(self, fetch: WaitingFetch) -> None:
        replica = self._replica
        max_bytes = max(0, min(fetch.max_bytes, replica.config.fetch_bytes))
        try:
            records = await replica.log.read(fetch.offset, max_bytes, is_committed=False)
        except errors.KafkaError:
            records = b""  # truncated or cleaned meanwhile: the next Fetch is told so
        core = replica.core
        if isinstance(core.role, Leader) and core.epoch == fetch.epoch:
            fetch.resolve(_response(replica, messages.answer_of(core), records))
        else:
            fetch.resolve(_response(replica, messages.answer_of(core, errors.NotLeaderOrFollower)))


def _response(replica: Replica, answer: Answer, records: bytes = b"") -> k01_fetch.FetchResponse:
    return messages.fetch_response(answer, replica.core.high_watermark, replica.log.log_start_offset, records)
