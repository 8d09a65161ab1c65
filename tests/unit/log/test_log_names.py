import pytest

from odradek.log import checkpoint, names
from odradek.log.checkpoint import CorruptCheckpoint


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("00000000000000000042.log", (42, ".log", "")),
        ("00000000000000000042.log.swap", (42, ".log", ".swap")),
        ("00000000000000000042.timeindex.deleted", (42, ".timeindex", ".deleted")),
        ("00000000000000000042.log.swap.deleted", (42, ".log", ".swap.deleted")),
        ("00000000000000000091-0000000001.checkpoint", None),
        ("leader-epoch-checkpoint", None),
        ("partition.metadata", None),
        ("42.log", None),
    ],
)
def test_a_file_of_a_segment_is_known_by_its_name(name, parts):
    assert names.split(name) == parts


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("topic-0", ("topic", 0, "")),
        ("my-topic-12", ("my-topic", 12, "")),
        ("a.b-3.0123456789abcdef0123456789abcdef-delete", ("a.b", 3, "-delete")),
        ("t-1.0123-future", ("t", 1, "-future")),
        ("t-1.0123-stray", ("t", 1, "-stray")),
        ("-0", None),
        ("topic", None),
        ("topic-x", None),
        ("topic-0-delete", None),
    ],
)
def test_a_directory_of_a_partition_is_known_by_its_name(name, parts):
    assert names.parse_dir_name(name) == parts


def test_a_long_topic_name_still_gives_a_legal_directory_name():
    name = names.unique_dir_name("t" * 249, 123, "f" * 32, names.DELETE_DIR)
    assert len(name) == 255
    assert names.parse_dir_name(name)[1:] == (123, names.DELETE_DIR)


def test_checkpoints_are_kafkas_bytes():
    offsets = {("my-topic", 0): 7, ("other", 12): 0}
    data = b"0\n2\nmy-topic 0 7\nother 12 0\n"
    assert checkpoint.format_offsets(offsets) == data
    assert checkpoint.parse_offsets(data) == offsets
    assert checkpoint.format_epochs([(0, 0), (3, 40)]) == b"0\n2\n0 0\n3 40\n"
    assert checkpoint.parse_epochs(b"0\n0\n") == checkpoint.parse_epochs(b"") == []


@pytest.mark.parametrize(
    "data",
    [b"1\n0\n", b"0\n", b"0\n2\nt 0 1\n", b"0\n1\nt 0\n", b"0\n1\nt 0 1 2\n", b"0\n1\nt 0 1x\n", b"\xff\n", b"0\nx\n"],
)
def test_a_damaged_checkpoint_is_refused_not_guessed(data):
    with pytest.raises(CorruptCheckpoint):
        checkpoint.parse_offsets(data)
