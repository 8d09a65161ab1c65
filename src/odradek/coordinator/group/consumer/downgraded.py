"""A consumer group on its way to being a classic one."""

from odradek.coordinator.group.classic.member import Protocols


class Downgraded:
    """What a classic group needs besides its record, once that has been replayed."""

    __slots__ = ("group_id", "protocols", "rebalances")

    def __init__(self, group_id: str, protocols: dict[str, Protocols], rebalances: bool) -> None:
        self.group_id = group_id
        self.protocols = protocols
        self.rebalances = rebalances
