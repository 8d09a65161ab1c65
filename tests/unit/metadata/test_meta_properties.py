"""`meta.properties`, as Java writes it and as people break it."""

import pytest

from odradek.metadata.meta_properties import CorruptMetaProperties, MetaProperties, java_date, parse
from odradek.protocol.uuids import format_uuid

DIRECTORY = bytes(range(16))


def test_it_looks_as_kafka_writes_it():
    plain = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", 1)
    assert plain.to_bytes(1794782044000) == (
        b"#\n#Sun Nov 15 22:34:04 UTC 2026\nnode.id=1\nversion=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n"
    )
    with_id = plain._replace(directory_id=DIRECTORY).to_bytes(0).decode()
    assert with_id.splitlines()[2:5] == ["node.id=1", f"directory.id={format_uuid(DIRECTORY)}", "version=1"]


@pytest.mark.parametrize("directory_id", [None, DIRECTORY])
@pytest.mark.parametrize("version", [0, 1])
def test_what_is_written_is_read(directory_id, version):
    meta = MetaProperties("x y=z", 7, directory_id, version)
    assert parse(meta.to_bytes(5)) == meta


def test_how_it_is_shown():
    shown = str(MetaProperties("c", 1, DIRECTORY))
    assert shown == f"{{cluster.id=c, directory.id={format_uuid(DIRECTORY)}, node.id=1, version=1}}"
    assert str(MetaProperties(None, 3, version=0)) == "{broker.id=3, version=0}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "version is missing"),
        ("version=2", "version 2 is not known"),
        ("version=1\ncluster.id=c", "node.id is missing"),
        ("version=1\nnode.id=1", "cluster.id is missing"),
        ("version=1\nnode.id=-1\ncluster.id=c", "node.id is no number"),
        ("version=1\nnode.id=99999999999\ncluster.id=c", "node.id is no number"),
        ("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=short", "directory.id"),
        ("version=\\u00x", "Malformed"),
    ],
)
def test_a_file_that_is_damaged(text, reason):
    with pytest.raises(CorruptMetaProperties, match=reason):
        parse(text.encode())


def test_java_dates():
    dates = [java_date(second * 1000) for second in (0, 951782400, 1709164799, 4107542400)]
    assert dates == [
        "Thu Jan 01 00:00:00 UTC 1970",
        "Tue Feb 29 00:00:00 UTC 2000",
        "Wed Feb 28 23:59:59 UTC 2024",
        "Mon Mar 01 00:00:00 UTC 2100",
    ]
