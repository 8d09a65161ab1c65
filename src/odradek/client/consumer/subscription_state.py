"""The partitions that a consumer reads, and where it stands in each.

A partition that was just assigned has no position. It gets one in one of three ways:

    initial     nobody knows yet. The consumer asks its group for the committed offset: `set_position` if there is one,
                `reset_missing` if there is none
    reset       a strategy says where, and a broker the offset: `PositionResolver` asks. A seek to the beginning or the
                end, an offset that is out of range and a log that was truncated come here, too
    position    there is one. If it came with a leader epoch, or the leader has changed since, it is first compared with
                the leader's log (`needs_validation`); then the partition is fetched

One thread writes all this: the client's I/O thread. A caller asks it to (`host.run`), and only takes records out of the
`FetchBuffer` by itself.
"""

from collections.abc import Callable, Iterable, Iterator

from odradek.client.consumer.assigned_partition import UNKNOWN, AssignedPartition
from odradek.client.consumer.fetch_errors import NoOffsetForPartition
from odradek.client.consumer.offset_reset import LATEST, ResetStrategy
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition


class NotAssigned(ValueError):  # noqa: N818 - it tells what the caller overlooked
    """A call about a partition that this consumer does not read now."""

    def __init__(self, place: TopicPartition) -> None:
        super().__init__(f"{place} is not assigned to this consumer")


class SubscriptionState:
    __slots__ = ("_on_resumed", "_partitions", "default_reset", "is_read_committed", "version")

    def __init__(self, default_reset: ResetStrategy = LATEST, *, is_read_committed: bool = False) -> None:
        """`default_reset` is auto.offset.reset: `ResetStrategy.parse(config["auto.offset.reset"])`."""
        self.default_reset = default_reset
        self.is_read_committed = is_read_committed
        self._partitions: dict[TopicPartition, AssignedPartition] = {}
        self._on_resumed: Callable[[AssignedPartition], object] = lambda _: None
        self.version = 0  # grows with every assignment

    def when_resumed(self, callback: Callable[[AssignedPartition], object]) -> None:
        """For the fetch buffer: what a partition has buffered may be handed out again."""
        self._on_resumed = callback

    # The assignment

    def assign(self, places: Iterable[TopicPartition]) -> None:
        """From now on exactly these. Those that stay keep their state and what is buffered of them; what is buffered of
        the others is dropped.
        """
        wanted = dict.fromkeys(places)
        for place, state in self._partitions.items():
            if place not in wanted:
                state.drop_buffered()
        before = self._partitions
        self._partitions = {place: before.get(place) or AssignedPartition(TopicPartition(*place)) for place in wanted}
        self.version += 1

    def assigned(self) -> set[TopicPartition]:
        return set(self._partitions)

    def is_assigned(self, place: TopicPartition) -> bool:
        return place in self._partitions

    def mark_revoking(self, places: Iterable[TopicPartition]) -> None:
        """They may have to go: they are neither handed out nor fetched until it is decided, and nothing is dropped."""
        for place in places:
            if (state := self._partitions.get(place)) is not None:
                state.hold(is_revoking=True)

    def unmark_revoking(self, places: Iterable[TopicPartition]) -> None:
        """They stay after all."""
        for place in places:
            if (state := self._partitions.get(place)) is not None:
                state.hold(is_revoking=False)
                self._on_resumed(state)

    # Positions

    def seek(self, place: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        if isinstance(offset, OffsetAndMetadata):
            self._of(place).seek(offset.offset, offset.leader_epoch)
        else:
            self._of(place).seek(offset)

    def limit(self, place: TopicPartition, stop: int) -> None:
        """Nothing at or after this offset is fetched."""
        self._of(place).fetch_until = stop

    def request_reset(self, places: Iterable[TopicPartition], strategy: ResetStrategy | None = None) -> None:
        """The position is looked up by `strategy`, or by auto.offset.reset. NoOffsetForPartition if that is none."""
        strategy = strategy or self.default_reset
        states = [self._of(place) for place in places]
        if strategy.is_none and states:
            raise NoOffsetForPartition(state.place for state in states)
        for state in states:
            state.request_reset(strategy)

    def needing_position(self) -> list[TopicPartition]:
        """Those that have none and for which none is being looked up: the group is asked for what it has committed."""
        return [place for place, state in self._partitions.items() if state.position is None and state.reset is None]

    def set_position(self, place: TopicPartition, committed: OffsetAndMetadata) -> None:
        """What the group has committed. Nothing happens if the partition has gone, or was given a position
        meanwhile.
        """
        state = self._partitions.get(place)
        if state is not None and state.position is None and state.reset is None:
            state.seek(committed.offset, committed.leader_epoch)

    def reset_missing(self, places: Iterable[TopicPartition] | None = None) -> None:
        """For these (or all that still need one) nothing was committed: auto.offset.reset decides, and
        NoOffsetForPartition is raised if it is none.
        """
        needing = set(self.needing_position())
        missing = [place for place in (needing if places is None else places) if place in needing]
        self.request_reset(missing)

    def position(self, place: TopicPartition) -> int | None:
        """The offset of the next record to be handed out; None while it is being looked up."""
        state = self._of(place)
        return state.position if state.reset is None else None

    def began_at(self, place: TopicPartition) -> int | None:
        """Where it was first read from since it was assigned; None while it has not been."""
        return self._of(place).began_at

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Of all that have one, as a commit takes them. Commits are made of what was handed out before: `next_offsets`
        of the records, not of this.
        """
        known = {place: state.committable for place, state in self._partitions.items() if state.has_position}
        return {place: offset for place, offset in known.items() if offset is not None}

    # Flow control

    def pause(self, places: Iterable[TopicPartition]) -> None:
        """Nothing of them is handed out. What is buffered is kept, and fetched on as far as their share reaches."""
        for state in [self._of(place) for place in places]:
            state.hold(is_paused=True)

    def resume(self, places: Iterable[TopicPartition]) -> None:
        for state in [self._of(place) for place in places]:
            state.hold(is_paused=False)
            self._on_resumed(state)

    def paused(self) -> set[TopicPartition]:
        return {place for place, state in self._partitions.items() if state.is_paused}

    # What fetches have told of the log; None as long as they have not

    def high_watermark(self, place: TopicPartition) -> int | None:
        return _known(self._of(place).high_watermark)

    def last_stable_offset(self, place: TopicPartition) -> int | None:
        return _known(self._of(place).last_stable_offset)

    def log_start_offset(self, place: TopicPartition) -> int | None:
        return _known(self._of(place).log_start_offset)

    def end_offset(self, place: TopicPartition) -> int | None:
        """The last stable offset for a consumer that reads what is committed, else the high watermark."""
        return self.last_stable_offset(place) if self.is_read_committed else self.high_watermark(place)

    def lag(self, place: TopicPartition) -> int | None:
        """How many offsets there are from the position to the end."""
        position, end = self.position(place), self.end_offset(place)
        return None if position is None or end is None else max(0, end - position)

    def lead(self, place: TopicPartition) -> int | None:
        """How many offsets there are from the start of the log to the position."""
        position, start = self.position(place), self.log_start_offset(place)
        return None if position is None or start is None else max(0, position - start)

    # Replicas to read from

    def preferred_read_replica(self, place: TopicPartition, now_ms: int) -> int | None:
        """The follower that the leader has named, until that is too long ago."""
        state = self._of(place)
        if state.preferred_replica != UNKNOWN and now_ms >= state.preferred_until_ms:
            state.forget_preferred()
        return _known(state.preferred_replica)

    # For the cores

    def get(self, place: TopicPartition) -> AssignedPartition | None:
        return self._partitions.get(place)

    def __iter__(self) -> Iterator[AssignedPartition]:
        return iter(self._partitions.values())

    def __len__(self) -> int:
        return len(self._partitions)

    def _of(self, place: TopicPartition) -> AssignedPartition:
        state = self._partitions.get(place)
        if state is None:
            raise NotAssigned(TopicPartition(*place))
        return state


def _known(number: int) -> int | None:
    return None if number == UNKNOWN else number
