import pytest

from odradek.protocol import errors
from odradek.records import varint

READERS = [varint.read_varint, varint.read_varlong]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff"])
def test_bytes_that_run_out_are_corrupt(read, data):
    with pytest.raises(errors.CorruptMessage, match="end inside"):
        read(data, 0, len(data))


@pytest.mark.parametrize("read", READERS)
def test_the_end_is_honoured_inside_a_longer_buffer(read):
    with pytest.raises(errors.CorruptMessage):
        read(b"\x80\x01", 0, 1)


@pytest.mark.parametrize(("read", "size"), list(zip(READERS, (5, 10), strict=True)))
def test_no_longer_than_the_type(read, size):
    padded = b"\x80" * (size - 1) + b"\x00"
    assert read(padded, 0, size) == (0, size)
    with pytest.raises(errors.CorruptMessage, match="longer"):
        read(b"\x80" * size + b"\x00", 0, size + 1)


def test_bits_beyond_the_width_are_dropped_as_in_java():
    assert varint.read_varint(b"\xff\xff\xff\xff\x7f", 0, 5) == (-(2**31), 5)
    assert varint.read_varlong(b"\xff" * 9 + b"\x7f", 0, 10) == (-(2**63), 10)
