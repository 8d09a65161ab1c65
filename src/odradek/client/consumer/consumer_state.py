"""How a consumer is, for health checks: a word, and what belongs to it."""

from odradek.client.consumer.classic_membership import STABLE as CLASSIC_STABLE
from odradek.client.consumer.consumer_membership import ACKNOWLEDGING, FENCED, RECONCILING
from odradek.client.consumer.consumer_membership import STABLE as CONSUMER_STABLE
from odradek.client.consumer.group_session import GroupSession

UNSUBSCRIBED, JOINING, STABLE = "unsubscribed", "joining", "stable"
RECONCILES, EXPIRED, IS_FENCED, FAILED, CLOSED = "reconciling", "expired", "fenced", "failed", "closed"


class ConsumerState(str):
    """One of the words above: `if consumer.state == "stable"`.

    `error` is why it has failed, `last_poll_s` how many seconds ago the program has last polled, `lag` how many
    records are still to be read, as far as that is known.
    """

    __slots__ = ("error", "lag", "last_poll_s")

    error: Exception | None
    last_poll_s: float | None
    lag: int | None

    @classmethod
    def of(
        cls, word: str, error: Exception | None = None, last_poll_s: float | None = None, lag: int | None = None
    ) -> "ConsumerState":
        state = cls(word)
        state.error, state.last_poll_s, state.lag = error, last_poll_s, lag
        return state


def word_of(group: GroupSession | None, *, is_assigned: bool) -> str:
    """`is_assigned`: the program has chosen its partitions itself."""
    if group is None or not group.subscription:
        return STABLE if is_assigned else UNSUBSCRIBED
    if group.error is not None:
        return FAILED
    if group.is_expired:
        return EXPIRED
    return _word_of_member(group)


def _word_of_member(group: GroupSession) -> str:
    membership = group.membership
    if membership is None:
        return JOINING
    if membership.state == FENCED:
        return IS_FENCED
    if membership.state in (CLASSIC_STABLE, CONSUMER_STABLE):
        return RECONCILES if membership.change is not None else STABLE
    return RECONCILES if membership.state in (RECONCILING, ACKNOWLEDGING) else JOINING
