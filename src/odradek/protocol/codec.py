"""The pure-Python executor of a plan. `_codec.pyx` is its compiled twin, branch for branch, and says the same words.

The result of decoding any byte string is a message or `PeerProtocolError`; encoding a message that its version cannot
carry is `EncodeError`.
"""

from typing import Any, Protocol

from odradek.protocol.decoder import Decoder
from odradek.protocol.encoder import Encoder
from odradek.protocol.parts import Part
from odradek.protocol.plan import Plan


class Executor(Protocol):
    """What both executors offer."""

    def decode(self, plan: Plan, data: Any, at: int) -> tuple[Any, int]:
        """The message at byte `at` of `data`, and the position behind it."""

    def encode(self, plan: Plan, message: Any) -> list[Part]:
        """The parts to send in order."""


def decode(plan: Plan, data: Any, at: int = 0) -> tuple[Any, int]:
    """The message at byte `at` of `data`, and the position behind it."""
    if at < 0:
        raise ValueError(f"no message begins at byte {at}")
    decoder = Decoder(memoryview(data).cast("B"), at)
    return decoder.struct(plan), decoder.position


def encode(plan: Plan, message: Any) -> list[Part]:
    """The parts to send in order: bytes, and between them the records as they were handed in."""
    encoder = Encoder()
    encoder.struct(plan, message)
    return encoder.finish()
