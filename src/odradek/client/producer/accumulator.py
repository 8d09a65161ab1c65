"""The accumulator: compiled where the extension is there, else its pure-Python twin, which is the specification.

Type checkers see the twin; what serves is decided here, once (as in `records/kernel.py`).
"""

from odradek import native
from odradek.client.producer.pure_accumulator import (
    NO_HEADERS,
    NO_PARTITION,
    Accumulator,
    GatheredBatch,
    PartitionQueue,
    RecordFuture,
    Topic,
)

__all__ = [
    "NO_HEADERS",
    "NO_PARTITION",
    "Accumulator",
    "GatheredBatch",
    "PartitionQueue",
    "RecordFuture",
    "Topic",
]

COMPILED = ("Accumulator", "GatheredBatch", "PartitionQueue", "RecordFuture", "Topic")

_extension = native.load("odradek.client.producer._accumulator")
if _extension is not None:
    globals().update({name: getattr(_extension, name) for name in COMPILED})
