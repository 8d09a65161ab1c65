"""Partitions whose logs are being opened, by topic, and who waits for that.

The metadata tells of a new partition some milliseconds before its log is there. A client that writes in between gets
NOT_LEADER_OR_FOLLOWER and tries again, which costs its records their order, or with acks=0 the records themselves. So
whoever has a topic made is answered when it can be written to.
"""

from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending


class Openings:
    __slots__ = ("_counts", "_loop", "_waiting")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._counts: dict[str, int] = {}
        self._waiting: dict[str, Pending[None]] = {}

    def began(self, topic: str) -> None:
        self._counts[topic] = self._counts.get(topic, 0) + 1

    def ended(self, topic: str) -> None:
        self._counts[topic] -= 1
        if not self._counts[topic]:
            del self._counts[topic]
            self.settled(topic)

    def settled(self, topic: str) -> None:
        """Metadata about the topic was applied: whoever waits goes on, unless logs are still to be opened."""
        if topic not in self._counts and topic in self._waiting:
            self._waiting.pop(topic).resolve(None)

    def is_opening(self, topic: str) -> bool:
        return topic in self._counts

    def until_settled(self, topic: str, milliseconds: int) -> Pending[None]:
        """Done when the next metadata about the topic, or what is under way, has been applied; or after that time."""
        pending = self._waiting.get(topic)
        if pending is None:
            pending = self._waiting[topic] = self._loop.pending()
            self._loop.after(milliseconds, lambda: self._give_up(topic, pending))
        return pending

    def _give_up(self, topic: str, pending: Pending[None]) -> None:
        if self._waiting.get(topic) is pending:
            del self._waiting[topic]
        pending.resolve(None)
