"""The metadata logs and snapshots of real brokers: read as they meant them, written as they wrote them."""

import json
import re
from collections import Counter

import pytest

from logdirs import dump_text, unpack
from metadata_kit import Snapshot, image_of, log_batches
from odradek.metadata.bootstrap import bootstrap_of_levels, bootstrap_of_release, read_bootstrap
from odradek.metadata.image import EMPTY
from odradek.metadata.loader import MetadataLoader
from odradek.metadata.meta_properties import parse
from odradek.metadata.snapshot_file import read_snapshot, snapshot_bytes
from odradek.protocol import releases
from odradek.protocol.frames import METADATA
from odradek.protocol.json_form import to_json
from odradek.protocol.uuids import format_uuid, parse_uuid
from odradek.reactor.adapters.disk import SystemDisk
from odradek.reactor.loop import Loop
from odradek.records.batch import batches
from odradek.sim.world import World

DIRS = {
    "kafka-3.3.2-kraft-clean": releases.RELEASE_3_3,
    "kafka-3.3.2-kraft-unclean": releases.RELEASE_3_3,
    "kafka-4.3.0-kraft-clean": releases.RELEASE_4_3,
}
LOG = "00000000000000000000.log"


@pytest.fixture(scope="module", params=DIRS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def directory(name, tmp_path_factory):
    return unpack(name, tmp_path_factory.mktemp("logdirs"))


@pytest.fixture(scope="module")
def metadata_log(directory):
    return directory / "__cluster_metadata-0"


@pytest.fixture(scope="module")
def log(metadata_log):
    return log_batches(metadata_log / LOG)


def loader():
    return MetadataLoader(Loop(World(1).node("n").ports))


def image_up_to(log, offset):
    """Whole batches only: a snapshot ends between two of them."""
    following = loader()
    for batch in log:
        if batch.last_offset < offset:
            following.handle_commit(batch)
    return following.image


def snapshot_ids(metadata_log):
    return sorted((int(path.name[:20]), path) for path in metadata_log.glob("*.checkpoint") if int(path.name[:20]))


def comparable(records):
    """Listeners and features of a broker come in the order of Java's hashes, and so do the records of a part."""
    found = Counter()
    for record, version in records:
        for field in ("end_points", "features"):
            if hasattr(type(record), field):
                setattr(record, field, sorted(getattr(record, field), key=lambda each: each.name))
        found[repr(record), version] += 1
    return found


def kinds(records):
    """The kinds of records in the order in which they first come."""
    return list(dict.fromkeys(type(record).__name__ for record, _ in records))


def test_our_snapshot_has_the_records_of_kafkas(name, metadata_log, log):
    compared = 0
    for offset, path in snapshot_ids(metadata_log):
        theirs = read_snapshot(path.read_bytes()).records
        image = image_up_to(log, offset)
        assert image.offset == offset - 1
        ours = list(image.records(DIRS[name]))
        assert kinds(ours) == kinds(theirs)
        assert comparable(ours) == comparable(theirs)
        compared += len(ours)
    assert compared >= 60


def test_snapshot_and_log_give_the_same_image(metadata_log, log):
    """Whoever begins with a snapshot and goes on with the log knows what one knows who has read all of the log."""
    whole = image_up_to(log, 10**9)
    for offset, path in snapshot_ids(metadata_log):
        following = loader()
        records = [record for record, _ in read_snapshot(path.read_bytes()).records]
        following.handle_load_snapshot(Snapshot(offset, [records]))
        for batch in log:
            if batch.base_offset >= offset:
                following.handle_commit(batch)
        assert following.image.offset == whole.offset
        # The snapshots of a 4.3 do not say which broker got the last producer ids, and order by Java's hashes.
        assert same(following.image, whole)


def same(one, other):
    return comparable(one.records()) == comparable(other.records())


def test_an_image_comes_back_from_its_own_records(name, log):
    image = image_up_to(log, 10**9)
    again = image_of([record for record, _ in image.records(DIRS[name])])
    assert again[3:8] == image[3:8]
    assert again.producer_ids.next_producer_id == image.producer_ids.next_producer_id
    assert again[9:] == image[9:]


def test_every_record_of_the_log_is_written_again_byte_for_byte(metadata_log):
    for batch in batches((metadata_log / LOG).read_bytes()):
        for record in () if batch.is_control else batch.records():
            assert METADATA.encode(*METADATA.decode(record.value)) == bytes(record.value)


def test_a_snapshot_file_of_kafka_is_written_again_byte_for_byte(metadata_log):
    for path in metadata_log.glob("*.checkpoint"):
        data = path.read_bytes()
        content = read_snapshot(data)
        first, *middle, last = batches(data)
        again = snapshot_bytes(
            content.records,
            first.base_timestamp,
            epoch=first.partition_leader_epoch,
            last_contained_log_timestamp=content.last_contained_log_timestamp,
            voters=content.voters,
        )
        ours = list(batches(again))
        assert len(ours) == len(middle) + 2
        for mine, theirs in zip(ours, (first, *middle, last), strict=True):
            # Kafka looks at the clock for every batch; the crc covers the time.
            assert bytes(mine.body()) == bytes(theirs.body())
            assert bytes(mine.buffer[:17]) == bytes(theirs.buffer[:17])
            assert bytes(mine.buffer[21:27]) == bytes(theirs.buffer[21:27])
            assert bytes(mine.buffer[43:]) == bytes(theirs.buffer[43:])


@pytest.mark.parametrize("version", ["3.3.2", "4.3.0"])
def test_the_dump_of_kafka_says_the_same(version, tmp_path):
    """kafka-dump-log's JSON of each record, in order, is that of what we read."""
    name = f"kafka-{version}-kraft-clean"
    lines = dump_text(name, "metadata")[f"__cluster_metadata-0/{LOG}"]
    theirs = [json.loads(re.search(r"payload: (\{.*\})", line)[1]) for line in lines if "payload: " in line]
    path = unpack(name, tmp_path) / "__cluster_metadata-0" / LOG
    ours = []
    for batch in batches(path.read_bytes()):
        for record in () if batch.is_control else batch.records():
            message, at = METADATA.decode(record.value)
            ours.append((at, to_json(message, at)))
    assert [form["version"] for form in theirs] == [at for at, _ in ours]
    assert [form["data"] for form in theirs] == [form for _, form in ours]


def test_topics_are_those_whose_directories_are_there(directory, log):
    """What the metadata says this node hosts is what lies on its disk, under the same ids."""
    image = image_up_to(log, 10**9)
    expected = {}
    for topic in image.topics.by_name.values():
        for index, partition in topic.partitions.items():
            assert partition.replicas == (1,)
            expected[f"{topic.name}-{index}"] = format_uuid(topic.id)
    found = {}
    for path in directory.iterdir():
        file = path / "partition.metadata"
        if file.exists() and path.name != "__cluster_metadata-0" and not path.name.endswith("-delete"):
            found[path.name] = file.read_text().split("topic_id: ")[1].strip()
    assert found == expected


def test_what_was_set_is_there(name, log):
    image = image_up_to(log, 10**9)
    segment_bytes = "segment.bytes" if "3.3" in name else "internal.segment.bytes"
    assert image.configs.of(2, "segments") == {segment_bytes: "2048", "index.interval.bytes": "200"}
    assert image.configs.of(4, "")["message.max.bytes"] == "1200000"
    assert image.configs.of(4, "1") == {"log.cleaner.threads": "1"}
    assert image.configs.of(2, "to-drop") == {}
    assert image.client_quotas.of((("client-id", "app"), ("user", "bob"))) == {"producer_byte_rate": 1048576.0}
    assert image.client_quotas.of((("client-id", None),)) == {"consumer_byte_rate": 2e6, "request_percentage": 55.5}
    assert {(acl.principal, acl.resource_name) for acl in image.acls.by_id.values()} == {
        ("User:bob", "acl-topic"),
        ("User:eve", "pre-"),
        ("User:*", "*"),
    }
    assert image.features.metadata_version == (7 if "3.3" in name else 30)
    broker = image.cluster.brokers[1]
    assert [endpoint.listener for endpoint in broker.endpoints] == ["INT", "PRX", "SPX"]
    assert broker.in_controlled_shutdown == ("unclean" not in name)
    assert {user for _, user in image.scram.by_mechanism_and_user} == (set() if "3.3" in name else {"admin"})


def test_bootstrap_and_meta_properties(name, directory):
    records = read_bootstrap(SystemDisk(), str(directory))
    meta = parse((directory / "meta.properties").read_bytes())
    assert (meta.cluster_id, meta.node_id) == ("AAECAwQFBgcICQoLDA0ODw", 1)
    if "3.3" in name:
        assert records == bootstrap_of_release(releases.RELEASE_3_3)
        assert meta.directory_id is None
    else:
        on = {"eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1}
        levels = {**releases.RELEASE_4_3.finalized_at_format, **on}
        assert records == bootstrap_of_levels(levels)
        assert meta.directory_id == parse_uuid("P5tE1K8gQD-5S3Sxj-QCMA")
    text = (directory / "meta.properties").read_text()
    date = text.splitlines()[1]
    again = meta.to_bytes(1794782044000 if "3.3" in name else 1794782045000).decode()
    assert again == text
    assert date in again


def test_the_empty_image_has_no_records():
    assert list(EMPTY.records()) == []
