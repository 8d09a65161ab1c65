"""What is surely a member's own, by its own clock: what it owns and what nobody else can have are not the same.

A member that was cut off learns late that others have taken over. It counts from when it *sent* the last request that
was answered well, and the coordinator has counted from later; and from when it sent the last one whose answer did not
ask for anything back, since what it is asked for it must give back within max.poll.interval.ms.

It stands between a membership and its driver, and sees what both say.
"""

from odradek.client.consumer.ownership import ASSIGN, NOTHING
from odradek.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

LONG_AGO_MS = -(1 << 62)


class Assurance:
    def __init__(self, membership, session_timeout_ms):
        self._membership = membership
        self._session_timeout_ms = session_timeout_ms
        self._max_poll_interval_ms = membership.config.max_poll_interval_ms
        self._sent_ms = {}  # by token
        self._answers = 0
        self._heard_ms = self._quiet_ms = LONG_AGO_MS

    def assured(self, now_ms):
        self._forget_if_gone()
        until_ms = min(self._heard_ms + self._session_timeout_ms, self._quiet_ms + self._max_poll_interval_ms)
        return self._membership.owned if now_ms < until_ms else NOTHING

    # A core, as a driver sees it

    def poll(self, now_ms):
        sends = self._membership.poll(now_ms)
        self._forget_if_gone()
        self._sent_ms.update({send.token: now_ms for send in sends})
        return sends

    def answered(self, token, response, now_ms):
        is_busy = self._membership.change is not None
        self._membership.answered(token, response, now_ms)
        sent_ms = self._sent_ms.pop(token)
        self._forget_if_gone()
        if self._membership._answers == self._answers:
            return
        self._answers = self._membership._answers
        self._heard_ms = max(self._heard_ms, sent_ms)
        if self._is_quiet(response, is_busy):
            self._quiet_ms = max(self._quiet_ms, sent_ms)

    def failed(self, token, now_ms):
        self._membership.failed(token, now_ms)
        del self._sent_ms[token]

    def deadline(self):
        return self._membership.deadline()

    def _is_quiet(self, response, is_busy):
        """Nothing is asked back. While the consumer is at a change, nobody knows whether the next is a revocation."""
        if not isinstance(response, ConsumerGroupHeartbeatResponse):
            return response.error_code == 0
        change = self._membership.change
        return not is_busy and (change is None or change.kind == ASSIGN)

    def _forget_if_gone(self):
        """Who has lost its place has nothing, however late the last request was."""
        if not self._membership.is_member:
            self._heard_ms = self._quiet_ms = LONG_AGO_MS
