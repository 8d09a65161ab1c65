"""A member of a classic group."""

from typing import TYPE_CHECKING, NamedTuple

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.classic.written_group import WrittenMember

if TYPE_CHECKING:
    from odradek.coordinator.core import Ticket
    from odradek.protocol.messages.k11_join_group import JoinGroupRequest

Protocols = tuple[tuple[str, bytes], ...]  # names with the member's metadata for each, most wanted first


class Joiner(NamedTuple):
    """Who sends a JoinGroup, and what its version can take."""

    client_id: str
    client_host: str
    requires_known_member_id: bool = False
    can_skip_assignment: bool = False


class Member:
    """`join_ticket` and `sync_ticket` are of the request that this member waits with, if it does."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "is_new",
        "join_ticket",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_ticket",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        *,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = b""
        self.is_new = False  # it has never been in a generation: it may give up while it waits
        self.join_ticket: Ticket | None = None
        self.sync_ticket: Ticket | None = None

    def __repr__(self) -> str:
        waits = "joining" if self.join_ticket is not None else "syncing" if self.sync_ticket is not None else "idle"
        return f"Member({self.member_id}, {self.instance_id}, {waits})"

    @classmethod
    def of_request(cls, member_id: str, request: "JoinGroupRequest", joiner: Joiner) -> "Member":
        return cls(
            member_id,
            request.group_instance_id,
            joiner.client_id,
            joiner.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=protocols_of(request),
        )

    @classmethod
    def of_written(cls, written: WrittenMember, protocol: str | None) -> "Member":
        """The member as the log remembers it: of its protocols only the one that was chosen."""
        return cls(
            written.member_id,
            written.instance_id,
            written.client_id,
            written.client_host,
            rebalance_timeout_ms=written.rebalance_timeout_ms,
            session_timeout_ms=written.session_timeout_ms,
            protocols=((protocol or "", written.subscription),),
        )

    def to_write(self, protocol: str | None, assignment: bytes) -> WrittenMember:
        return WrittenMember(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol),
            assignment,
        )

    def is_written_as(self, written: WrittenMember, protocol: str | None) -> bool:
        """Whether the record of this member says the same; its assignment is what a record brings."""
        return self.to_write(protocol, written.assignment).with_told_timeout() == written

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_awaiting(self) -> bool:
        return self.join_ticket is not None or self.sync_ticket is not None

    def metadata(self, protocol: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return b""

    def vote(self, candidates: set[str]) -> str:
        """Its first choice among those that all members know."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise BrokenRuleError(f"{self} knows none of {sorted(candidates)}")


def protocols_of(request: "JoinGroupRequest") -> Protocols:
    return tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols)
