"""What a start says whose metadata log cannot be opened: a full disk is no damage."""

from errno import EIO, ENOSPC
from os import strerror

import pytest

from odradek.broker.controller_server import not_opened
from odradek.log.failure import DiskFull, LogDirFailure
from odradek.protocol import errors

COPY = "bring its directory back from a copy"
SPACE = "The disk is full, and nothing is damaged: free some space and start again."


def caused(code):
    failure = LogDirFailure(f"recovery failed: {strerror(code)}", "data/__cluster_metadata-0")
    failure.__cause__ = OSError(code, strerror(code))
    return failure


@pytest.mark.parametrize(
    ("error", "expected"), [(caused(ENOSPC), SPACE), (DiskFull("data"), SPACE), (caused(EIO), COPY)]
)
def test_only_damage_sends_for_a_copy(error, expected):
    said = not_opened(error)
    assert expected in said and ((COPY in said) != (SPACE in said))


def test_a_sentence_ends_once():
    assert "metadata log. " in not_opened(errors.InvalidRequest("There are no voters in the metadata log."))
