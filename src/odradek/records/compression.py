"""The codecs of record data, and the one bounded decompressor that every site uses.

A stream that would grow past `limit_bytes` is `RecordListTooLarge`: it may be perfectly well formed, and
`CorruptMessage` is retriable, so that a client would send the same bomb again for ever. Everything that cannot be
decompressed at all is `CorruptMessage`. No codec is trusted with a size: each output buffer is at most as long
as the limit and as what the compressed bytes can hold at best, and it is in place before the first byte is written.
"""

from collections.abc import Callable

from odradek.protocol import errors
from odradek.records import gzip, lz4, snappy, zstd
from odradek.records.varint import Buffer

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

LIMIT_BYTES = 128 << 20  # for readers that no config bounds: more than any request that a broker takes

PRODUCER = "producer"  # compression.type: keep what the producer chose
UNCOMPRESSED = "uncompressed"  # the broker's word for it, where a producer says "none"


class Codec:
    """One row of the table. `level_default` is what an unset `compression.CODEC.level` stands for."""

    __slots__ = ("code", "compress", "decompress", "level_default", "level_max", "level_min", "name")

    def __init__(
        self,
        code: int,
        name: str,
        levels: tuple[int, int, int] | None,
        compress: Callable[[Buffer, int, int], bytes],
        decompress: Callable[[Buffer, int, int], memoryview],
    ) -> None:
        self.code = code
        self.name = name
        self.level_min, self.level_max, self.level_default = levels or (0, 0, 0)
        self.compress = compress
        self.decompress = decompress

    def __repr__(self) -> str:
        return f"Codec({self.name})"

    def has_level(self, level: int) -> bool:
        return level == self.level_default or self.level_min <= level <= self.level_max

    def checked_level(self, level: int | None) -> int:
        """The level to compress with; None is the default."""
        if level is None:
            return self.level_default
        if not isinstance(level, int):
            raise TypeError(f"a compression level is an int or None, not {type(level).__name__}")
        if not self.has_level(level):
            raise errors.InvalidConfig(
                f"Compression level {level} is out of range for {self.name}: "
                f"{self.level_min} to {self.level_max}, or {self.level_default}."
            )
        return level


def _keep(data: Buffer, level: int, magic: int) -> bytes:
    return bytes(data)


def _view(data: Buffer, limit_bytes: int, magic: int) -> memoryview:
    return memoryview(data)


CODECS: tuple[Codec, ...] = (
    Codec(NONE, "none", None, _keep, _view),
    Codec(GZIP, "gzip", (1, 9, -1), gzip.compress, gzip.decompress),
    Codec(SNAPPY, "snappy", None, snappy.compress, snappy.decompress),
    Codec(LZ4, "lz4", (1, 17, 9), lz4.compress, lz4.decompress),
    Codec(ZSTD, "zstd", (-131072, 22, 3), zstd.compress, zstd.decompress),
)

_BY_NAME = {codec.name: codec for codec in CODECS}


def codec_for(code: int) -> Codec:
    """The row of the three bits in a batch's attributes; 5, 6 and 7 are no codec."""
    if not 0 <= code < len(CODECS):
        raise errors.UnsupportedCompressionType(f"There is no compression codec {code}.")
    return CODECS[code]


def name_of(code: int) -> str:
    return CODECS[code].name if 0 <= code < len(CODECS) else f"unknown codec {code}"


def codec_named(name: str) -> Codec:
    """The row of a `compression.type`; "producer" is no codec and must be resolved before."""
    codec = CODECS[NONE] if name == UNCOMPRESSED else _BY_NAME.get(name)
    if codec is None:
        raise errors.InvalidConfig(f"{name!r} is no compression codec; known are {', '.join(_BY_NAME)}.")
    return codec


def codec_of(codec: int | str) -> Codec:
    """The row of a code or of a name."""
    if isinstance(codec, int):
        return codec_for(codec)
    if isinstance(codec, str):
        return codec_named(codec)
    raise TypeError(f"a codec is a code or a name, not {type(codec).__name__}")


def compress(code: int, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """The data as one stream of the codec, in the framing that batches of that magic have; None is its default level.

    Raises UnsupportedCompressionType for a code that is no codec and for zstd below magic 2, InvalidConfig for a level
    that the codec does not have.
    """
    codec = codec_for(code)
    level = codec.checked_level(level)
    if code == ZSTD and magic < 2:
        raise errors.UnsupportedCompressionType(f"Messages of magic {magic} cannot be compressed with zstd.")
    return codec.compress(data, level, magic)


def decompress(code: int, data: Buffer, *, limit_bytes: int, magic: int = 2) -> memoryview:
    """The decompressed bytes; an uncompressed section is returned as the view it is, without a copy."""
    codec = codec_for(code)
    if code == ZSTD and magic < 2:
        raise errors.UnsupportedCompressionType(f"Messages of magic {magic} cannot be compressed with zstd.")
    return codec.decompress(data, limit_bytes, magic)
