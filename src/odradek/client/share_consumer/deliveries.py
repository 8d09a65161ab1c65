"""The records that a program of a share consumer has, and what it says of them. A core without I/O.

    in hand    given by a poll, and nothing said       acknowledge: said; with implicit acknowledgement the next poll
                                                       or commit says ACCEPT of all of them
    said       until it is sent, it may be said anew   take: to be sent, gone from here; RENEW: renewing
    renewing   its lock is being renewed               outcome: renewed, or gone if that was refused
    renewed    it is the program's again               acknowledge: said; the next poll gives it once more: in hand

A record that could not be deserialized was given to nobody: it is RELEASE from the beginning, and the program may say
something else by its offset. Gaps are said by the client, and are not the program's business.
"""

from collections import deque
from collections.abc import Iterable

from odradek.client.consumer.records import Record
from odradek.client.share_consumer.acknowledgement import (
    ACCEPT,
    GAP,
    RELEASE,
    RENEW,
    Acknowledged,
    AcknowledgeType,
    Source,
    by_source,
)
from odradek.protocol.topic_partition import TopicPartition

Key = tuple[TopicPartition, int]


class Delivery:
    """One offset that was acquired. `record` is None for a gap, and for what could not be deserialized."""

    __slots__ = ("offset", "record", "said", "source")

    def __init__(self, source: Source, offset: int, record: Record | None = None, said: int | None = None) -> None:
        self.source = source
        self.offset = offset
        self.record = record
        self.said = said

    @property
    def key(self) -> Key:
        return self.source.place, self.offset


class Deliveries:
    __slots__ = ("_held", "_renewed", "_renewing")

    def __init__(self) -> None:
        self._held: dict[Key, Delivery] = {}  # in hand, or said
        self._renewing: dict[Key, Delivery] = {}
        self._renewed: dict[Key, Delivery] = {}

    @property
    def has_unacknowledged(self) -> bool:
        return any(each.said is None for each in self._held.values())

    @property
    def is_renewing(self) -> bool:
        return bool(self._renewing)

    # What comes

    def give(self, deliveries: Iterable[Delivery]) -> None:
        """They are in hand. A second time gives the same: an interrupt may have come between."""
        for each in deliveries:
            self._held[each.key] = each
            self._renewed.pop(each.key, None)

    def renewed(self) -> list[Delivery]:
        """To be given once more."""
        return list(self._renewed.values())

    # What is said

    def accept_rest(self) -> None:
        """All of which nothing was said: implicit acknowledgement."""
        for each in self._held.values():
            if each.said is None:
                each.said = ACCEPT

    def acknowledge(self, place: TopicPartition, offset: int, kind: AcknowledgeType) -> None:
        key = (place, offset)
        delivery = self._held.get(key) or self._renewed.get(key)
        if delivery is None or delivery.said == GAP:
            raise RuntimeError(
                f"{place}, offset {offset}: this record is not in hand; it was acknowledged and sent, or no poll of "
                "this consumer has returned it"
            )
        if kind == RENEW and delivery.record is None:
            raise RuntimeError(f"{place}, offset {offset}: what could not be deserialized cannot be renewed")
        delivery.said = kind
        self._held[key] = delivery
        self._renewed.pop(key, None)

    def take(self, unsent: "deque[Acknowledged]") -> list[Acknowledged]:
        """Puts down what is to be sent, by partition and broker. It is there before it is gone from here: after an
        interrupt in between it is said twice, and never not at all.
        """
        said = {key: each for key, each in self._held.items() if each.said is not None}
        put_down = by_source((each.source, each.offset, each.said or GAP) for each in said.values())
        unsent += put_down
        self._renewing.update({key: each for key, each in said.items() if each.said == RENEW})
        self._held = {key: each for key, each in self._held.items() if key not in said}
        return put_down

    def outcome(self, acknowledged: Acknowledged) -> None:
        """What was renewed is the program's again; what could not be is somebody else's, or soon will be."""
        for offset, kind in acknowledged.types.items():
            key = (acknowledged.source.place, offset)
            if kind != RENEW or (delivery := self._renewing.get(key)) is None:
                continue
            if delivery.source == acknowledged.source:
                del self._renewing[key]
                if acknowledged.error is None:
                    delivery.said = None
                    self._renewed[key] = delivery


def failed(source: Source, offset: int) -> Delivery:
    """Of a record that could not be deserialized."""
    return Delivery(source, offset, said=RELEASE)
