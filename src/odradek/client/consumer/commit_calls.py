"""One call of a program to commit offsets, or to hear what is committed, from its start to its outcome."""

from collections.abc import Callable, Iterable, Mapping

from odradek.client.offsets import OffsetAndMetadata, Offsets, with_metadata
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition

ONCE = "once"  # sent once: whatever goes wrong is the outcome
IN_PLACE = "in place"  # sent again as long as the member keeps its place; a rebalance is the outcome
ALWAYS = "always"  # sent again in the name of whoever the member is by then


def _nobody_waits(call: object) -> None: ...


class CommitCall:
    """Done when no partition is open any more. `error` is then the first refusal, or None."""

    __slots__ = ("error", "offsets", "open", "patience", "when_done")

    def __init__(
        self, offsets: Offsets, patience: str = ALWAYS, when_done: "Callable[[CommitCall], object]" = _nobody_waits
    ) -> None:
        self.offsets: Mapping[TopicPartition, OffsetAndMetadata] = {
            place: with_metadata(offset) for place, offset in offsets.items()
        }
        self.open = set(self.offsets)
        self.patience = patience
        self.error: KafkaError | None = None
        self.when_done = when_done

    @property
    def is_done(self) -> bool:
        return not self.open

    def settle(self, place: TopicPartition, error: KafkaError | None = None) -> None:
        """What has become of one partition. Nothing happens if that was known."""
        if place not in self.open:
            return
        self.open.discard(place)
        self.error = self.error or error
        if not self.open:
            self.when_done(self)

    def fail(self, error: KafkaError) -> None:
        for place in sorted(self.open):
            self.settle(place, error)


class FetchCall:
    """Asks what is committed: `found` has an entry for each partition once it is done, unless there is an `error`.

    `is_stable`: what a transaction may still change is waited for, whatever the consumer's isolation level.
    """

    __slots__ = ("error", "found", "is_stable", "open", "when_done")

    def __init__(
        self, places: Iterable[TopicPartition], when_done: "Callable[[FetchCall], object]" = _nobody_waits
    ) -> None:
        self.open = set(places)
        self.found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        self.is_stable = False
        self.error: KafkaError | None = None
        self.when_done = when_done

    @property
    def is_done(self) -> bool:
        return not self.open

    def tell(self, place: TopicPartition, offset: OffsetAndMetadata | None) -> None:
        if place in self.open:
            self.found[place] = offset
            self.forget(place)

    def forget(self, place: TopicPartition) -> None:
        """Nobody wants to know it any more."""
        if place in self.open:
            self.open.discard(place)
            if not self.open:
                self.when_done(self)

    def fail(self, error: KafkaError) -> None:
        if self.open:
            self.error = error
            self.open.clear()
            self.when_done(self)
