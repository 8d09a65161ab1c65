"""The pure-Python executor of a plan. `_codec.pyx` is its compiled twin, branch for branch, and says the same words.

The result of decoding any byte string is a message or `PeerProtocolError`; encoding a message that its version cannot
carry is `EncodeError`.
"""

from struct import Struct as Layout
from typing import Protocol

from odradek.broken_rule import BrokenRuleError
from odradek.protocol.decoder import Decoder
from odradek.protocol.encoder import Encoder
from odradek.protocol.errors import EncodeError, PeerProtocolError
from odradek.protocol.parts import Buffer, Part, records_size
from odradek.protocol.plan import LENGTH_MAX, M, Plan, StructLike, decoded_bytes_budget

REQUEST_HEAD_BYTES = 10  # API key, version, correlation id, size of the client id
_CLIENT_ID_BYTES = Layout(">h")
_PLAIN_HEAD = Layout(">ii")  # length, correlation id
_FLEXIBLE_HEAD = Layout(">iib")  # and no tags


class Executor(Protocol):
    """What both executors offer."""

    def decode(self, plan: Plan[M], data: Buffer, at: int) -> tuple[M, int]:
        """The message at byte `at` of `data`, and the position behind it."""

    def decode_request(
        self, plan: Plan[M], header_plan: Plan[StructLike] | None, frame: Buffer
    ) -> tuple[M, str | None, int]:
        """The request behind the first ten bytes of its frame, the client id before it, and where its body begins.

        `header_plan` is that of a header with tagged fields, None if the API and version have another.
        """

    def encode(self, plan: Plan[StructLike], message: object) -> list[Part]:
        """The parts to send in order."""

    def encode_response(
        self, plan: Plan[StructLike], message: object, correlation_id: int, has_tags: bool
    ) -> list[Part]:
        """The parts to send in order, with the length of the whole frame and the response header before them."""


def decode(plan: Plan[M], data: Buffer, at: int = 0) -> tuple[M, int]:
    """The message at byte `at` of `data`, and the position behind it."""
    if at < 0:
        raise ValueError(f"no message begins at byte {at}")
    view = memoryview(data).cast("B")
    decoder = Decoder(view, at, decoded_bytes_budget(plan, max(0, len(view) - at)))
    return decoder.struct(plan), decoder.position


def decode_request(plan: Plan[M], header_plan: Plan[StructLike] | None, frame: Buffer) -> tuple[M, str | None, int]:
    view = memoryview(frame).cast("B")
    at = REQUEST_HEAD_BYTES
    if len(view) < at:
        raise PeerProtocolError(f"a request header needs at least {at} bytes", len(view))
    client_id, at = _client_id(view, at)
    if header_plan is not None:
        at = at + 1 if at < len(view) and view[at] == 0 else decode(header_plan, frame, 0)[1]
    return decode(plan, frame, at)[0], client_id, at


def _client_id(view: memoryview, at: int) -> tuple[str | None, int]:
    (size,) = _CLIENT_ID_BYTES.unpack_from(view, at - _CLIENT_ID_BYTES.size)
    if size < 0:
        return None, at
    if size > len(view) - at:
        raise PeerProtocolError(f"the client id claims {size} bytes, {len(view) - at} remain", 8)
    try:
        return str(view[at : at + size], "utf-8"), at + size
    except UnicodeDecodeError:
        raise PeerProtocolError("the client id is not UTF-8", at) from None


def encode(plan: Plan[StructLike], message: object) -> list[Part]:
    """The parts to send in order: bytes, and between them the records as they were handed in."""
    encoder = Encoder()
    encoder.struct(plan, message)
    return encoder.finish()


def encode_response(plan: Plan[StructLike], message: object, correlation_id: int, has_tags: bool) -> list[Part]:
    parts = encode(plan, message)
    head_bytes = _FLEXIBLE_HEAD.size if has_tags else _PLAIN_HEAD.size
    total = head_bytes + sum(map(records_size, parts))
    if total - 4 > LENGTH_MAX:
        raise EncodeError(f"a response of {total} bytes fits no frame")
    head = (
        _FLEXIBLE_HEAD.pack(total - 4, correlation_id, 0) if has_tags else _PLAIN_HEAD.pack(total - 4, correlation_id)
    )
    first = parts[0]
    if not isinstance(first, bytes):
        raise BrokenRuleError("a message begins with bytes of its own: a length stands before the first records")
    parts[0] = head + first
    return parts
