"""When each broker was last heard of. Not replicated: a new controller gives every broker a fresh session.

Brokers are kept in the order of their last heartbeat, so that the next one to expire is the first.
"""


class Session:
    __slots__ = ("controlled_shutdown_offset", "last_contact_ms", "metadata_offset")

    def __init__(self, last_contact_ms: int) -> None:
        self.last_contact_ms = last_contact_ms
        self.metadata_offset = -1  # how far the broker has read the metadata log
        self.controlled_shutdown_offset = -1  # what the others must have read before it may stop


class Sessions:
    __slots__ = ("_by_broker", "timeout_ms")

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self._by_broker: dict[int, Session] = {}  # the one that was silent longest comes first

    def touch(self, broker_id: int, now_ms: int) -> Session:
        session = self._by_broker.pop(broker_id, None) or Session(now_ms)
        session.last_contact_ms = now_ms
        self._by_broker[broker_id] = session
        return session

    def begin(self, broker_id: int, now_ms: int) -> Session:
        """Starts the session of a broker that has just registered: nothing of an earlier incarnation counts."""
        self._by_broker.pop(broker_id, None)
        return self.touch(broker_id, now_ms)

    def end(self, broker_id: int) -> None:
        self._by_broker.pop(broker_id, None)

    def of(self, broker_id: int) -> Session | None:
        return self._by_broker.get(broker_id)

    def is_alive(self, broker_id: int, now_ms: int) -> bool:
        session = self._by_broker.get(broker_id)
        return session is not None and session.last_contact_ms + self.timeout_ms > now_ms

    def expired(self, now_ms: int) -> int | None:
        """The broker that has been silent longest, if that is too long."""
        for broker_id, session in self._by_broker.items():
            return broker_id if session.last_contact_ms + self.timeout_ms <= now_ms else None
        return None

    def next_deadline_ms(self) -> int | None:
        for session in self._by_broker.values():
            return session.last_contact_ms + self.timeout_ms
        return None

    def lowest_metadata_offset(self, broker_ids: "set[int]") -> int | None:
        """How far all of these brokers have read."""
        return min(
            (self._by_broker[broker].metadata_offset for broker in broker_ids if broker in self._by_broker),
            default=None,
        )
