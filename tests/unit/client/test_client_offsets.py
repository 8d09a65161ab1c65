"""Offsets as programs give them."""

import pytest

from odradek.client.offsets import OffsetAndMetadata, with_metadata


def test_an_offset_alone_has_an_empty_text():
    assert with_metadata(5) == OffsetAndMetadata(5, "", -1)
    assert with_metadata(OffsetAndMetadata(5, "a note", 2)) == (5, "a note", 2)


@pytest.mark.parametrize("offset", [-1, OffsetAndMetadata(-1001, "a note")])
def test_what_no_log_has_is_refused(offset):
    with pytest.raises(ValueError, match="an offset is not negative: -1"):
        with_metadata(offset)
