"""The log dirs that real KRaft brokers left behind, clean and unclean: ours starts on a copy, with the settings that
lay beside it, and serves every topic, config, ACL, quota and record.

What is expected is folded here, in the simplest way, from what Kafka itself read in the files.
"""

import contextlib

import pytest

from logdirs import DATA, disk_files, segments, unpack
from odradek.log import names
from odradek.protocol.frames import METADATA
from odradek.protocol.json_form import to_json
from odradek.protocol.uuids import parse_uuid
from odradek.records.legacy import message_set
from odradek.records.record import Record
from started import broker
from told import BROKER, GROUP, TOPIC, Told, row

KRAFT = ["kafka-3.3.2-kraft-clean", "kafka-3.3.2-kraft-unclean", "kafka-4.3.0-kraft-clean"]
METADATA_LOG = "__cluster_metadata-0/00000000000000000000.log"
CLOCK_MS = 1_700_000_000_000
# The coordinators go on with their work when the broker starts: a transaction that was left open is aborted.
COORDINATED = {"__consumer_offsets", "__transaction_state", "__share_group_state", "txn"}

OPEN_TRANSACTION = (5, 60)  # producer and first offset of the one that was open when the broker stopped


class Expected:
    """The metadata log, folded; each kind of record into one dict."""

    def __init__(self, name):
        self.files = segments(name)
        self.ids, self.partitions, self.configs, self.acls = {}, {}, {}, {}
        self.quotas, self.features, self.scram = {}, {}, {}
        for batch in self.files[METADATA_LOG]["batches"]:
            for record in [] if batch["control"] else batch["records"]:
                self._replay(METADATA.decode(bytes.fromhex(record["value"])))

    def _replay(self, decoded):
        record, version = decoded
        replay = getattr(self, f"_{type(record).__name__}", None)
        if replay is not None:
            replay(to_json(record, version))

    def _TopicRecord(self, form):  # noqa: N802 - the record's own name
        self.ids[form["name"]] = parse_uuid(form["topicId"])

    def _RemoveTopicRecord(self, form):  # noqa: N802
        name = next(name for name, topic_id in self.ids.items() if topic_id == parse_uuid(form["topicId"]))
        del self.ids[name]
        self.configs.pop((TOPIC, name), None)

    def _PartitionRecord(self, form):  # noqa: N802
        self.partitions.setdefault(parse_uuid(form["topicId"]), set()).add(form["partitionId"])

    def _ConfigRecord(self, form):  # noqa: N802
        own = self.configs.setdefault((form["resourceType"], form["resourceName"]), {})
        own.pop(form["name"], None)
        if form["value"] is not None:
            own[form["name"]] = form["value"]

    def _AccessControlEntryRecord(self, form):  # noqa: N802
        self.acls[form["id"]] = tuple(value for field, value in form.items() if field != "id")

    def _RemoveAccessControlEntryRecord(self, form):  # noqa: N802
        del self.acls[form["id"]]

    def _ClientQuotaRecord(self, form):  # noqa: N802
        entity = tuple(sorted((part["entityType"], part["entityName"]) for part in form["entity"]))
        own = self.quotas.setdefault(entity, {})
        own.pop(form["key"], None)
        if not form["remove"]:
            own[form["key"]] = form["value"]

    def _FeatureLevelRecord(self, form):  # noqa: N802
        self.features[form["name"]] = form["featureLevel"]

    def _UserScramCredentialRecord(self, form):  # noqa: N802
        self.scram.setdefault(form["name"], []).append((form["mechanism"], form["iterations"]))

    # The data

    def topics(self):
        return {name: (topic_id, len(self.partitions[topic_id])) for name, topic_id in self.ids.items()}

    def batches(self, topic, partition):
        prefix = f"{topic}-{partition}/"
        files = [form for file, form in sorted(self.files.items()) if file.startswith(prefix)]
        return [batch for form in files for batch in form["batches"]]

    def records(self, topic, partition, log_start):
        return [
            listed(record)
            for batch in self.batches(topic, partition)
            if not batch["control"]
            for record in batch["records"]
            if record["offset"] >= log_start
        ]


def listed(record):
    key, value = (None if record[field] is None else bytes.fromhex(record[field]) for field in ("key", "value"))
    headers = [(name, None if text is None else bytes.fromhex(text)) for name, text in record["headers"]]
    return record["offset"], record["timestamp"], key, value, headers


def log_starts(name):
    text = disk_files(name).get("log-start-offset-checkpoint", {}).get("text", "0\n0\n")
    rows = [line.split() for line in text.splitlines()[2:]]
    return {(topic, int(partition)): int(offset) for topic, partition, offset in rows}


@contextlib.contextmanager
def serving(name, directory):
    """Its own settings; only the dir and the address of the clients are others."""
    config = DATA / f"{name.rpartition('-')[0]}.server.properties"
    elsewhere = {
        "listeners": "INT://127.0.0.1:0,CTL://127.0.0.1:0",
        "advertised.listeners": "INT://127.0.0.1:0",
    }
    with broker(None, elsewhere, config, directory) as address:
        told = Told(*address)
        yield told
        told.close()


@pytest.fixture(scope="module", params=KRAFT)
def served(request, tmp_path_factory):
    directory = unpack(request.param, tmp_path_factory.mktemp("served"))
    with serving(request.param, directory) as told:
        yield told, Expected(request.param), request.param


def test_topics_and_features(served):
    told, expected, _ = served
    assert told.topics() == expected.topics()
    assert len(expected.topics()) >= 16
    features = {name: level for name, level in told.features().items() if name != "kraft.version"}
    assert features == expected.features


def test_configs(served):
    told, expected, _ = served
    resources = {*expected.configs, *((TOPIC, name) for name in expected.ids), (BROKER, "1"), (BROKER, "")}
    for kind, name in sorted(resources):
        assert told.set_configs(kind, name) == expected.configs.get((kind, name), {}), (kind, name)
    if expected.features["metadata.version"] > 7:
        assert told.config_resources() == [(GROUP, "share-group")]


def test_acls_and_quotas_and_credentials(served):
    told, expected, _ = served
    assert told.acls() == set(expected.acls.values())
    assert told.quotas() == expected.quotas
    assert expected.acls and expected.quotas
    if expected.scram:
        assert told.scram() == {user: sorted(rows) for user, rows in expected.scram.items()}


def test_every_record(served):
    told, expected, name = served
    starts, count = log_starts(name), 0
    for topic, partition in told.partitions():
        start = starts.get((topic, partition), 0)
        batches = expected.batches(topic, partition)
        end = batches[-1]["next_offset"] if batches else 0
        assert told.log_start(topic, partition) == start, (topic, partition)
        assert told.end(topic, partition) == end or topic in COORDINATED, (topic, partition)
        records = expected.records(topic, partition, start)
        assert told.records(topic, partition)[: len(records)] == records, (topic, partition)
        count += len(records)
    assert count >= 550


def test_every_batch_as_it_was_written(served):
    told, expected, name = served
    starts = log_starts(name)
    for topic, partition in told.partitions():
        start = starts.get((topic, partition), 0)
        listed = [
            (form["base_offset"], form["last_offset"], form["size"], form["crc"], form["partition_leader_epoch"])
            for form in expected.batches(topic, partition)
            if form["last_offset"] >= start
        ]
        found = [
            (batch.base_offset, batch.last_offset, batch.size, batch.crc, batch.partition_leader_epoch)
            for batch in told.batches(topic, partition)
        ]
        assert found[: len(listed)] == listed, (topic, partition)
        assert len(found) == len(listed) or topic in COORDINATED, (topic, partition)


def test_an_offset_in_the_middle_of_a_log(served):
    told, expected, _ = served
    for batch in expected.batches("segments", 0):
        answer = told.fetch("segments", 0, batch["base_offset"], max_bytes=1)
        assert len(bytes(answer.records)) == batch["size"]
    assert told.offset("segments", 0, CLOCK_MS + 505)[:2] == (51, CLOCK_MS + 510)


def test_aborted_transactions_are_told_as_the_index_has_them(served):
    told, _, name = served
    entries = {
        (entry["producer_id"], entry["first_offset"])
        for path, form in disk_files(name).items()
        if path.startswith("txn-0/") and path.endswith(names.TRANSACTION_INDEX)
        for entry in form["entries"]
    }
    assert told.aborted("txn", 0) - {OPEN_TRANSACTION} == entries
    assert len(entries) == 4
    visible, everything = told.committed_records("txn", 0), told.records("txn", 0)
    assert 0 < len(visible) < len(everything)
    assert OPEN_TRANSACTION[1] not in [row[0] for row in visible]


def test_what_was_deleted_is_gone(served):
    told, _, _ = served
    assert "to-drop" not in told.topics()


@pytest.mark.parametrize("name", KRAFT)
def test_a_second_start_tells_the_same(name, tmp_path):
    """Its own files, now: what it has written itself, after a stop and after a kill."""
    directory = unpack(name, tmp_path)
    told_each_time = []
    for _ in range(2):
        with serving(name, directory) as told:
            data = {part: told.records(*part) for part in told.partitions() if part[0] not in COORDINATED}
            told_each_time.append((told.topics(), told.acls(), told.quotas(), data))
    assert told_each_time[0] == told_each_time[1]


# Message formats 0 and 1: a topic that an old broker began


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3], ids=["plain", "gzip", "snappy", "lz4"])
def test_records_of_an_older_format(magic, codec, tmp_path):
    name = "kafka-3.3.2-kraft-clean"
    directory = unpack(name, tmp_path)
    written = [
        Record(at, b"k%d" % at, None if at == 3 else b"value %d" % at, CLOCK_MS + at if magic else -1)
        for at in range(10)
    ]
    log = directory / "headers-0" / "00000000000000000000.log"
    for path in log.parent.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    log.write_bytes(bytes(message_set(written[:6], magic, codec=codec) + message_set(written[6:], magic, codec=codec)))
    _forget_checkpoints(directory, "headers 0 ")
    with serving(name, directory) as told:
        assert told.end("headers", 0) == 10
        assert told.records("headers", 0) == [row(record) for record in written]
        for version in (0, 1, 2, 4, 12):
            offsets = [record.offset for batch in told.batches("headers", 0, version) for record in batch.records()]
            assert offsets == list(range(10)), version


def _forget_checkpoints(directory, line):
    """As after a crash: the file was replaced, so that nothing may be known of it."""
    (directory / ".kafka_cleanshutdown").unlink()
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        path = directory / name
        first, _, *rows = path.read_text().splitlines()
        kept = [row for row in rows if not row.startswith(line)]
        path.write_text("\n".join([first, str(len(kept)), *kept]) + "\n")
