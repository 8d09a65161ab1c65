"""A Produce request of a producer: many batches, written without an object for each.

It is encoded by hand, versions 3 to 12 of `protocol/messages/k00_produce.py`: a request with one batch costs a few
calls, and one with a hundred a few more each. A test holds it equal to the message's own encoding.
"""

from struct import Struct

from odradek.client.producer.sent_batch import SentBatch
from odradek.protocol.parts import Part

API_KEY = 0
VERSION_MIN, VERSION_MAX = 3, 12  # before: other record formats; after: topic ids in the place of names
FLEXIBLE = 9

_INT32 = Struct(">i")
_PARTITION = Struct(">ii")  # index, and the bytes of the records
_ACKS = Struct(">hi")  # acks and timeout


class ProduceRequestFrame:
    """What is the same in all requests of a producer is encoded once per version."""

    __slots__ = ("_acks", "_prefixes", "_timeout_ms", "transactional_id")

    def __init__(self, transactional_id: str | None, acks: int, timeout_ms: int) -> None:
        self.transactional_id = transactional_id
        self._acks = acks
        self._timeout_ms = timeout_ms
        self._prefixes: dict[bool, bytes] = {}

    def prefix(self, is_flexible: bool) -> bytes:
        if is_flexible not in self._prefixes:
            name = nullable_string(self.transactional_id, is_flexible)
            self._prefixes[is_flexible] = name + _ACKS.pack(self._acks, self._timeout_ms)
        return self._prefixes[is_flexible]


class BatchesRequest:
    """One request: these batches, each of another partition. `attributes` go into their headers."""

    __slots__ = ("_attributes", "_frame", "batches", "stamps")

    api_key = API_KEY

    def __init__(self, frame: ProduceRequestFrame, batches: list[SentBatch], attributes: int) -> None:
        self._frame = frame
        self._attributes = attributes
        self.batches = batches
        self.stamps = [batch.stamp for batch in batches]  # with which they went: they may be numbered anew meanwhile

    def encode(self, version: int) -> list[Part]:
        is_flexible = version >= FLEXIBLE
        by_topic = _by_topic(self.batches)
        head = bytearray(self._frame.prefix(is_flexible))
        head += _count(len(by_topic), is_flexible)
        parts: list[Part] = []
        for topic, batches in by_topic.items():
            head += string(topic, is_flexible)
            head += _count(len(batches), is_flexible)
            for batch in batches:
                header, body = batch.encoded(self._attributes)
                size = len(header) + len(body)
                if is_flexible:
                    head += _INT32.pack(batch.queue.place[1])
                    head += uvarint(size + 1)
                else:
                    head += _PARTITION.pack(batch.queue.place[1], size)
                head += header
                parts.append(bytes(head))
                parts.append(body)
                head = bytearray(b"\0" if is_flexible else b"")
            if is_flexible:
                head.append(0)
        if is_flexible:
            head.append(0)
            parts.append(bytes(head))
        return parts

    def __repr__(self) -> str:
        return f"ProduceRequest of {len(self.batches)} batches"


def _by_topic(batches: list[SentBatch]) -> dict[str, list[SentBatch]]:
    if len(batches) == 1:
        return {batches[0].queue.place[0]: batches}
    topics: dict[str, list[SentBatch]] = {}
    for batch in batches:
        topics.setdefault(batch.queue.place[0], []).append(batch)
    return topics


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _count(count: int, is_flexible: bool) -> bytes:
    return uvarint(count + 1) if is_flexible else _INT32.pack(count)


def string(text: str, is_flexible: bool) -> bytes:
    data = text.encode()
    return (uvarint(len(data) + 1) if is_flexible else len(data).to_bytes(2, "big")) + data


def nullable_string(text: str | None, is_flexible: bool) -> bytes:
    if text is not None:
        return string(text, is_flexible)
    return b"\0" if is_flexible else b"\xff\xff"
