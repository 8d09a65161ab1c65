"""How many answers carried which error, per API: `ErrorsPerSec`, NONE included, as Kafka counts.

Every code that stands in an answer counts, that of the whole and those of its parts. Which fields these are is worked
out once for an API and version. Produce and Fetch spare their common answer, one partition and no error, that way: they
add one to a slot.
"""

from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from odradek.metrics import Registry
from odradek.protocol import apis, errors
from odradek.protocol.declare import Response, Struct
from odradek.protocol.field import ARRAY, STRUCT, Field

GROUP, TYPE, NAME = "kafka.network", "RequestMetrics", "ErrorsPerSec"
PRODUCE, FETCH = 0, 1
CODE_FIELDS = ("error_code", "partition_error_code")  # not why the configs of a new topic are not told
FETCH_CODES = 2  # that of the whole answer and that of its partition

Codes = defaultdict[int, int]  # how often each code
Count = Callable[[Response], None]
_Walk = Callable[[Struct, Codes], None]
_Get = Callable[[Struct], Any]  # Any: a struct is walked by the names of its fields, whatever these hold


class ErrorCounts:
    __slots__ = ("_by_key", "_counts", "fetched", "produced")

    def __init__(self) -> None:
        self._by_key: dict[int, Codes] = {}
        self._counts: dict[tuple[int, int], Count] = {}
        self.produced = 0  # answers for one partition, without an error
        self.fetched = 0

    def counter(self, key: int, response: type[Response], version: int) -> Count:
        """A function that counts the error codes in an answer of this class and version."""
        found = self._counts.get((key, version))
        if found is None:
            codes = self._by_key.setdefault(key, defaultdict(int))
            walk = _walk(response, version)
            found = self._counts[key, version] = lambda answer: walk(answer, codes)
        return found

    def hand_in(self, registry: Registry) -> None:
        self._hand_in_plain()
        for key, codes in self._by_key.items():
            for code, count in codes.items():
                name = "NONE" if code == errors.NONE else errors.by_code(code).name
                tags = {"request": apis.by_key(key).message, "error": name}
                registry.meter(GROUP, TYPE, NAME, tags).count += count
            codes.clear()

    def _hand_in_plain(self) -> None:
        for key, count in ((PRODUCE, self.produced), (FETCH, self.fetched * FETCH_CODES)):
            if count:
                self._by_key.setdefault(key, defaultdict(int))[errors.NONE] += count
        self.produced = self.fetched = 0


def _walk(struct: type[Struct], version: int) -> _Walk:
    carried = [field for field in struct.fields if field.in_version(version)]
    codes: list[_Get] = [attrgetter(field.name) for field in carried if field.name in CODE_FIELDS]
    inner = [(field, _walk(held, version)) for field in carried if (held := _struct_of(field)) is not None]
    parts: list[tuple[_Get, bool, _Walk]] = [
        (attrgetter(field.name), field.kind == ARRAY, walk) for field, walk in inner if walk is not _nothing
    ]
    if not parts:
        return _leaf(codes[0]) if codes else _nothing
    if len(parts) == 1 and parts[0][1] and not codes:
        return _branch(parts[0][0], parts[0][2])
    return _struct(codes, parts)


# Most answers are made of these two, and each call counts where there is one for every request.


def _leaf(code: _Get) -> _Walk:
    def walk(value: Struct, codes: Codes) -> None:
        codes[code(value)] += 1

    return walk


def _branch(items: _Get, each: _Walk) -> _Walk:
    def walk(value: Struct, codes: Codes) -> None:
        for item in items(value) or ():
            each(item, codes)

    return walk


def _struct(own: list[_Get], parts: list[tuple[_Get, bool, _Walk]]) -> _Walk:
    def walk(value: Struct, codes: Codes) -> None:
        for code in own:
            codes[code(value)] += 1
        for get, is_array, each in parts:
            held = get(value)
            if held is not None:
                for part in held if is_array else (held,):
                    each(part, codes)

    return walk


def _nothing(value: Struct, codes: Codes) -> None:
    """Counts nothing: there is no error code in such a struct."""


def _struct_of(field: Field) -> type[Struct] | None:
    """The struct that the field holds, once or many times."""
    inner = field.item if field.kind == ARRAY else field
    struct: type[Struct] | None = inner.item if inner.kind == STRUCT else None
    return struct
