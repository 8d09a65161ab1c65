import gzip
import random
import struct
import sys
import zlib

import cramjam
import pytest

import outside
from odradek.protocol import errors
from odradek.records import compression, lz4, snappy
from odradek.records.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, compress, decompress
from odradek.records.xxh32 import xxh32_short

CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
LIMIT = 1 << 24
NOISE = random.Random(1).randbytes(200_000)
TEXT = b"".join(b"record %d;" % number for number in range(30_000))
SAMPLES = [b"", b"x", b"spool of thread " * 3, NOISE[:100], NOISE, TEXT, bytes(300_000)]


@pytest.mark.parametrize("data", SAMPLES, ids=len)
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4])
def test_round_trip(codec, magic, data):
    packed = compress(codec, data, magic=magic)
    assert decompress(codec, packed, limit_bytes=LIMIT, magic=magic) == data
    assert decompress(codec, memoryview(bytearray(packed)), limit_bytes=len(data), magic=magic) == data


@pytest.mark.parametrize("data", SAMPLES, ids=len)
def test_zstd_round_trip(data):
    assert decompress(ZSTD, compress(ZSTD, data), limit_bytes=len(data)) == data


@pytest.mark.parametrize(
    ("codec", "levels"), [(GZIP, (1, 9, -1)), (LZ4, (1, 3, 9, 12, 17)), (ZSTD, (-131072, -1, 1, 22))]
)
def test_levels(codec, levels):
    sizes = []
    for level in levels:
        packed = compress(codec, TEXT, level)
        assert packed == compress(codec, bytearray(TEXT), level) == compress(codec, memoryview(TEXT), level)
        assert decompress(codec, packed, limit_bytes=len(TEXT)) == TEXT
        sizes.append(len(packed))
    assert len(set(sizes)) > 1


@pytest.mark.parametrize(
    ("codec", "level"),
    [(GZIP, 0), (GZIP, 10), (GZIP, -2), (LZ4, 0), (LZ4, 18), (ZSTD, 23), (ZSTD, -131073), (SNAPPY, 1)],
)
def test_levels_out_of_range(codec, level):
    with pytest.raises(errors.InvalidConfig, match=str(level)):
        compress(codec, b"", level)


def test_the_table_has_kafkas_names():
    assert [codec.name for codec in compression.CODECS] == ["none", "gzip", "snappy", "lz4", "zstd"]
    assert compression.codec_named("uncompressed").code == NONE
    assert compression.codec_named("zstd").code == ZSTD
    with pytest.raises(errors.InvalidConfig):
        compression.codec_named("producer")
    for code in (5, 6, 7, -1):
        with pytest.raises(errors.UnsupportedCompressionType):
            compression.codec_for(code)


@pytest.mark.parametrize("magic", [0, 1])
def test_no_zstd_before_magic_2(magic):
    with pytest.raises(errors.UnsupportedCompressionType):
        compress(ZSTD, b"", magic=magic)
    with pytest.raises(errors.UnsupportedCompressionType):
        decompress(ZSTD, compress(ZSTD, b"x"), limit_bytes=LIMIT, magic=magic)


@pytest.mark.parametrize("data", [TEXT, bytes(300_000), b"ab"], ids=len)
@pytest.mark.parametrize("codec", CODECS)
def test_one_byte_over_the_limit_is_too_large(codec, data):
    packed = compress(codec, data)
    with pytest.raises(errors.RecordListTooLarge):
        decompress(codec, packed, limit_bytes=len(data) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_truncation_is_corrupt(codec):
    packed = compress(codec, TEXT[:2000])
    for size in range(len(packed)):
        try:
            part = decompress(codec, packed[:size], limit_bytes=LIMIT)
        except errors.CorruptMessage:
            continue
        # A cut between two parts of a stream cannot be seen; nothing may come out that was not put in.
        assert TEXT.startswith(bytes(part)) and len(part) < 2000, size
        assert codec == SNAPPY, size


# gzip


def test_gzip_members_follow_each_other():
    data = gzip.compress(b"one ") + gzip.compress(b"two ") + gzip.compress(b"")
    assert decompress(GZIP, data, limit_bytes=8) == b"one two "
    with pytest.raises(errors.RecordListTooLarge):
        decompress(GZIP, data, limit_bytes=7)


@pytest.mark.parametrize("garbage", [b"x", b"\x1f\x8b", b"garbage" * 10])
def test_gzip_ignores_what_begins_no_member_as_the_jdk_does(garbage):
    assert decompress(GZIP, gzip.compress(b"data") + garbage, limit_bytes=LIMIT) == b"data"


def test_gzip_refuses_a_second_member_that_is_damaged():
    with pytest.raises(errors.CorruptMessage):
        decompress(GZIP, gzip.compress(b"data") + gzip.compress(b"more")[:-3], limit_bytes=LIMIT)


def test_gzip_checks_its_crc():
    data = bytearray(gzip.compress(TEXT))
    data[-6] ^= 1
    with pytest.raises(errors.CorruptMessage):
        decompress(GZIP, data, limit_bytes=LIMIT)


def test_gzip_does_not_believe_the_size_in_the_trailer():
    data = bytearray(gzip.compress(b"data"))
    for claimed in (0, 0xFFFF_FFFF):
        data[-4:] = claimed.to_bytes(4, "little")
        with pytest.raises(errors.CorruptMessage):  # zlib checks it against what came out
            decompress(GZIP, data, limit_bytes=LIMIT)


# snappy


def test_snappy_is_framed_as_xerial_does():
    packed = compress(SNAPPY, bytes(70_000))
    assert packed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    sizes, position = [], 16
    while position < len(packed):
        (length,) = struct.unpack_from(">i", packed, position)
        sizes.append(cramjam.snappy.decompress_raw_len(packed[position + 4 : position + 4 + length]))
        position += 4 + length
    assert sizes == [32768, 32768, 70_000 - 65536]


def test_snappy_reads_a_bare_block():
    packed = bytes(cramjam.snappy.compress_raw(TEXT))
    assert decompress(SNAPPY, packed, limit_bytes=len(TEXT)) == TEXT
    with pytest.raises(errors.RecordListTooLarge):
        decompress(SNAPPY, packed, limit_bytes=len(TEXT) - 1)


def test_snappy_reads_framed_streams_in_a_row():
    assert decompress(SNAPPY, compress(SNAPPY, b"ab") + compress(SNAPPY, b"cd"), limit_bytes=4) == b"abcd"


def test_snappy_does_not_believe_a_declared_size():
    claim = b"\xff\xff\xff\xff\x0f\x00"
    for stream in (claim, snappy.HEADER + len(claim).to_bytes(4, "big") + claim):
        with pytest.raises(errors.CorruptMessage, match="declares"):
            decompress(SNAPPY, stream, limit_bytes=1 << 40)


# lz4


def test_lz4_frame_is_as_kafka_writes_it():
    packed = compress(LZ4, TEXT)
    assert packed[:7] == bytes.fromhex("04224d18604082")  # independent 64 KB blocks, no checksums
    assert packed[-4:] == bytes(4)
    for level in (1, 12):
        assert compress(LZ4, TEXT, level)[:7] == packed[:7]
    assert bytes(cramjam.lz4.decompress(packed)) == TEXT


def test_lz4_stores_what_does_not_shrink():
    packed = compress(LZ4, NOISE[:1000])
    assert struct.unpack_from("<I", packed, 7)[0] == 1000 | 1 << 31


def test_lz4_header_checksum_of_magic_0_is_the_broken_one():
    right, broken = (compress(LZ4, TEXT, magic=magic) for magic in (1, 0))
    assert right[:6] + right[7:] == broken[:6] + broken[7:]
    assert right[6] == xxh32_short(right[4:6]) >> 8 & 0xFF
    assert broken[6] == xxh32_short(broken[:6]) >> 8 & 0xFF != right[6]
    assert decompress(LZ4, right, limit_bytes=LIMIT, magic=0) == TEXT  # some writers of magic 0 had it right
    assert decompress(LZ4, broken, limit_bytes=LIMIT, magic=0) == TEXT
    for magic in (1, 2):
        with pytest.raises(errors.CorruptMessage, match="checksum"):
            decompress(LZ4, broken, limit_bytes=LIMIT, magic=magic)


def test_lz4_reads_checksums_and_content_size():
    compressor = cramjam.lz4.Compressor(level=4, content_checksum=True, block_linked=False)
    compressor.compress(TEXT)
    packed = bytearray(bytes(compressor.finish()))
    assert packed[4] & lz4.BLOCK_CHECKSUM and packed[4] & lz4.CONTENT_CHECKSUM
    assert decompress(LZ4, packed, limit_bytes=len(TEXT)) == TEXT
    packed[20] ^= 1
    with pytest.raises(errors.CorruptMessage):
        decompress(LZ4, packed, limit_bytes=len(TEXT))


def with_header(flags, block_descriptor, rest, content_size=b""):
    descriptor = bytes((flags, block_descriptor)) + content_size
    return lz4.MAGIC + descriptor + bytes((xxh32_short(descriptor) >> 8 & 0xFF,)) + rest


def test_lz4_content_size_is_accepted_and_not_believed():
    plain = compress(LZ4, TEXT)
    packed = with_header(0x68, 0x40, plain[7:], len(TEXT).to_bytes(8, "little"))
    assert decompress(LZ4, packed, limit_bytes=len(TEXT)) == TEXT
    lying = with_header(0x68, 0x40, plain[7:], (1 << 60).to_bytes(8, "little"))
    with pytest.raises(errors.CorruptMessage):
        decompress(LZ4, lying, limit_bytes=1 << 62)


@pytest.mark.parametrize(
    ("flags", "block_descriptor"), [(0x40, 0x40), (0x20, 0x40), (0x61, 0x40), (0x62, 0x40), (0x60, 0x30), (0x60, 0xC0)]
)
def test_lz4_frames_that_kafka_refuses(flags, block_descriptor):
    packed = with_header(flags, block_descriptor, compress(LZ4, b"data")[7:])
    with pytest.raises(errors.CorruptMessage):
        decompress(LZ4, packed, limit_bytes=LIMIT)


def test_lz4_blocks_are_as_large_as_the_header_says_and_no_larger():
    for block_descriptor, size in ((0x40, 1 << 16), (0x50, 1 << 18), (0x60, 1 << 20), (0x70, 1 << 22)):
        block = size.to_bytes(4, "little")[:3] + b"\x80" + bytes(size)
        fits = with_header(0x60, block_descriptor, block + bytes(4))
        assert decompress(LZ4, fits, limit_bytes=size) == bytes(size)
        larger = (size + 1).to_bytes(4, "little")[:3] + b"\x80" + bytes(size + 1)
        with pytest.raises(errors.CorruptMessage, match=f"larger than {size} bytes"):
            decompress(LZ4, with_header(0x60, block_descriptor, larger + bytes(4)), limit_bytes=2 * size)


def test_lz4_header_that_ends_before_its_checksum():
    whole = with_header(0x68, 0x40, b"", (9).to_bytes(8, "little"))  # with the size of the content in it
    with pytest.raises(errors.CorruptMessage, match="the header is cut off"):
        decompress(LZ4, whole[:-1], limit_bytes=LIMIT)


def test_lz4_ends_with_its_first_frame():
    assert decompress(LZ4, compress(LZ4, b"one") + compress(LZ4, b"two"), limit_bytes=LIMIT) == b"one"


@pytest.mark.parametrize(
    ("data", "expected"), [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF), (b"fifteen bytes!!", None)]
)
def test_xxh32(data, expected):
    if expected is not None:
        assert xxh32_short(data) == expected
    with pytest.raises(ValueError, match="16"):
        xxh32_short(bytes(16))


# zstd


def test_zstd_frames_follow_each_other_with_skippable_ones_between():
    skippable = (0x184D2A53).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"12345"
    data = compress(ZSTD, b"one ") + skippable + compress(ZSTD, b"two")
    assert decompress(ZSTD, data, limit_bytes=7) == b"one two"
    with pytest.raises(errors.RecordListTooLarge):
        decompress(ZSTD, data, limit_bytes=6)


def test_zstd_reads_streams_without_a_content_size():
    compressor = cramjam.zstd.Compressor(3)
    compressor.compress(TEXT)
    packed = bytes(compressor.finish())
    assert packed[4] & 0xC0 == 0
    assert decompress(ZSTD, packed, limit_bytes=len(TEXT)) == TEXT


def test_zstd_believes_a_content_size_that_is_below_what_the_blocks_can_hold():
    assert len(decompress(ZSTD, compress(ZSTD, TEXT), limit_bytes=LIMIT).obj) == len(TEXT)


def test_zstd_garbage_behind_a_frame_is_corrupt():
    with pytest.raises(errors.CorruptMessage):
        decompress(ZSTD, compress(ZSTD, b"data") + b"garbage!", limit_bytes=LIMIT)


def zstd_bomb(megabytes, window_descriptor):
    run = (128 << 10 << 3 | 1 << 1).to_bytes(3, "little") + b"\x00"
    last = (0 << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\x00" + bytes((window_descriptor,)) + run * (8 * megabytes) + last


def test_zstd_a_window_that_does_not_fit_beside_the_output_is_too_large():
    small_window, large_window = 0x58, 0x88  # 2 MB and 128 MB
    assert len(decompress(ZSTD, zstd_bomb(30, small_window), limit_bytes=32 << 20)) == 30 << 20
    with pytest.raises(errors.RecordListTooLarge):
        decompress(ZSTD, zstd_bomb(30, large_window), limit_bytes=32 << 20)
    assert len(decompress(ZSTD, zstd_bomb(1, large_window), limit_bytes=32 << 20)) == 1 << 20


# bombs: far more zeros than the limit of 64 MB, in a process of its own

BOMBS = """
import sys, zlib
import cramjam
from odradek.protocol import errors
from odradek.records.compression import decompress
from odradek.records import snappy, lz4

def peak_bytes():
    # Not ru_maxrss: that of a forked child begins with what its parent had.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))

codec = int(sys.argv[1])
chunk = bytes(1 << 20)
if codec == 1:
    deflater = zlib.compressobj(1, zlib.DEFLATED, 31)
    bomb = b"".join([deflater.compress(chunk) for _ in range(256)]) + deflater.flush()
elif codec == 2:
    block = bytes(cramjam.snappy.compress_raw(chunk))
    bomb = snappy.HEADER + (len(block).to_bytes(4, "big") + block) * 1024
elif codec == 3:
    block = bytes(cramjam.lz4.compress_block(bytes(4 << 20), store_size=False))
    descriptor = bytes((0x60, 0x70))
    bomb = lz4.MAGIC + descriptor + lz4._header_checksum(descriptor, False)
    bomb += (len(block).to_bytes(4, "little") + block) * 256 + bytes(4)
else:
    run = (128 << 10 << 3 | 1 << 1).to_bytes(3, "little") + b"\\x00"
    bomb = b"\\x28\\xb5\\x2f\\xfd\\x00\\x58" + run * 8192 + b"\\x01\\x00\\x00"
limit = 64 << 20
before = peak_bytes()
outcome = "nothing"
try:
    decompress(codec, bomb, limit_bytes=limit)
except errors.RecordListTooLarge:
    outcome = "RecordListTooLarge"
after = peak_bytes()
print(outcome, after - before, len(bomb))
"""


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_costs_the_limit_and_a_tenth_at_most(codec):
    run = outside.run([sys.executable, "-c", BOMBS, str(codec)], check=True)
    outcome, grown_bytes, size = run.stdout.split()
    assert outcome == "RecordListTooLarge"
    assert int(grown_bytes) <= (64 << 20) * 1.1
    assert int(size) < 64 << 20


def test_zlib_is_the_peer_that_reads_our_gzip():
    assert zlib.decompress(compress(GZIP, TEXT), wbits=31) == TEXT
