"""Which partitions have something to send now: Kafka's `ready`, kept up to date instead of computed.

A queue is in at most one place:

    lines       by leader, in the order in which they will be served: full batches, batches that have lingered, all
                when somebody flushes or waits for memory
    leaderless  ready, but nobody knows whom to send to
    later       by time: an open batch that lingers, a partition that backs off
    blocked     ready, but the numbers of the producer do not allow it now; who told so tells when they do
    nowhere     nothing is queued, or it is muted

So a turn costs what is ready and what has changed, however many partitions there are.
"""

from collections import deque
from heapq import heappop, heappush

from odradek.client.producer.accumulator import PartitionQueue

Line = deque[PartitionQueue]


class ReadyLines:
    __slots__ = ("_entries", "_later", "_linger_ms", "blocked", "is_hurried", "leaderless", "lines")

    def __init__(self, linger_ms: int) -> None:
        self._linger_ms = linger_ms
        self._later: list[tuple[int, int, PartitionQueue]] = []  # a heap
        self._entries = 0
        self.lines: dict[int, Line] = {}
        self.leaderless: dict[PartitionQueue, None] = {}
        self.blocked: dict[PartitionQueue, None] = {}
        self.is_hurried = False  # nothing lingers: a flush, a close, a transaction that ends, memory that is waited for

    def sort_in(self, queue: PartitionQueue, now_ms: int) -> None:
        """Something has changed in the queue, or for it."""
        if queue.is_ready or queue.is_muted or not queue.batches:
            return
        if queue.retry_at_ms > now_ms:
            self._put_off(queue, queue.retry_at_ms)
        elif self.is_hurried or self._linger_ms == 0 or queue.has_full():
            self.make_ready(queue)
        else:
            first = queue.batches[0]
            due_ms = (first.created_ms if first.created_ms >= 0 else now_ms) + self._linger_ms
            if due_ms <= now_ms or first.attempts:
                self.make_ready(queue)
            else:
                self._put_off(queue, due_ms)

    def make_ready(self, queue: PartitionQueue) -> None:
        queue.is_ready = True
        self.blocked.pop(queue, None)
        if queue.leader_id < 0:
            self.leaderless[queue] = None
            return
        line = self.lines.get(queue.leader_id)
        if line is None:
            line = self.lines[queue.leader_id] = deque()
        line.append(queue)

    def block(self, queue: PartitionQueue) -> None:
        """It was taken out of its line."""
        queue.is_ready = False
        self.blocked[queue] = None

    def unblock(self, now_ms: int) -> None:
        blocked, self.blocked = self.blocked, {}
        for queue in blocked:
            self.sort_in(queue, now_ms)

    def expire(self, now_ms: int) -> None:
        """What was put off until now."""
        later = self._later
        while later and later[0][0] <= now_ms:
            queue = heappop(later)[2]
            queue.is_lingering = False
            self.sort_in(queue, now_ms)

    def hurry(self, now_ms: int) -> None:
        """From now on nothing lingers, what lingers already included."""
        self.is_hurried = True
        later, self._later = self._later, []
        for _, _, queue in later:
            queue.is_lingering = False
            self.sort_in(queue, now_ms)

    def leaders_changed(self, now_ms: int) -> None:
        """Everybody lines up anew; an event that is rare."""
        waiting = [queue for line in self.lines.values() for queue in line]
        waiting += self.leaderless
        self.lines.clear()
        self.leaderless.clear()
        for queue in waiting:
            queue.is_ready = False
            self.sort_in(queue, now_ms)

    def deadline_ms(self) -> int | None:
        return self._later[0][0] if self._later else None

    def _put_off(self, queue: PartitionQueue, due_ms: int) -> None:
        """Once is enough: whoever comes too early is put off again."""
        if not queue.is_lingering:
            queue.is_lingering = True
            self._entries += 1
            heappush(self._later, (due_ms, self._entries, queue))
