"""Topics that cannot be written to yet, because logs of theirs are still to be opened, and who waits for that.

The metadata tells of a new partition some milliseconds before its log is there. A client that writes in between gets
NOT_LEADER_OR_FOLLOWER and tries again, which costs its records their order, or with acks=0 the records themselves. So
whoever has a topic made is answered when it can be written to.
"""

from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending


class UnopenedTopics:
    """Counts, by topic, the reasons to wait: metadata that is being applied, and each log that is to be opened."""

    __slots__ = ("_counts", "_loop", "_waiting")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._counts: dict[str, int] = {}
        self._waiting: dict[str, Pending[None]] = {}

    def add(self, topic: str) -> None:
        """There is one more reason to wait for the topic."""
        self._counts[topic] = self._counts.get(topic, 0) + 1

    def remove(self, topic: str) -> None:
        """One reason is gone; with the last one, whoever waits for the topic goes on."""
        self._counts[topic] -= 1
        if not self._counts[topic]:
            del self._counts[topic]
            if topic in self._waiting:
                self._waiting.pop(topic).resolve(None)

    def __contains__(self, topic: str) -> bool:
        return topic in self._counts

    def until_opened(self, topic: str, milliseconds: int) -> Pending[None]:
        """Done when the logs that the topic waits for are open, or after that time.

        For a topic that waits for none it is done when the next metadata about the topic has been applied.
        """
        pending = self._waiting.get(topic)
        if pending is None:
            pending = self._waiting[topic] = self._loop.pending()
            self._loop.after(milliseconds, lambda: self._give_up(topic, pending))
        return pending

    def _give_up(self, topic: str, pending: Pending[None]) -> None:
        if self._waiting.get(topic) is pending:
            del self._waiting[topic]
        pending.resolve(None)
