"""Of which types keys and values are, for editors and type checkers. Nobody imports it at run time.

They are bytes, unless a deserializer says otherwise: hence the defaults, which `typing` has from 3.13 on. T is what is
made besides None, which any record may have. What a deserializer makes that is given by its name, the program has to
tell: `KafkaConsumer[bytes, str](..., value_deserializer="shop.orders.Notes")`.
"""

from collections.abc import Callable

from typing_extensions import TypeVar

from odradek.serde.plain import DeserializerWithContext

K = TypeVar("K", default=bytes)
V = TypeVar("V", default=bytes)
T = TypeVar("T")

Deserializer = (
    Callable[[bytes], T | None] | DeserializerWithContext[T | None] | type[DeserializerWithContext[T | None]] | str
)
