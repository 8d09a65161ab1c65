"""What a program may give as a serializer, for editors and type checkers. Nobody imports it at run time."""

from collections.abc import Callable
from typing import TypeVar

from odradek.serde.plain import SerializerWithContext

T = TypeVar("T")

Serializer = Callable[[T], bytes | None] | SerializerWithContext[T] | type[SerializerWithContext[T]]
