"""The release profiles against what real brokers answered, and against what they left on disk."""

import gzip
import json
import struct
from pathlib import Path

import pytest

from odradek.protocol import apis, releases
from odradek.protocol.releases import BROKER, CONTROLLER, RELEASE_3_3, RELEASE_4_3, ZK_BROKER

DATA = Path(__file__).parents[2] / "golden" / "data"
API_VERSIONS = 18
UNSUPPORTED_VERSION = 35
# What a 4.3.0 finalizes when it is formatted, and we do not before it is served.
NOT_YET_SERVED = {"eligible.leader.replicas.version": 1}


class Answer:
    """An ApiVersions response, read by hand so that a mistake in our codec cannot hide one in the table."""

    def __init__(self, frame, version):
        self._frame, self._at = frame, 4  # after the correlation id
        self.error = self._int16()
        self.version = 0 if self.error == UNSUPPORTED_VERSION else version
        self.api_versions = dict(self._api_key() for _ in range(self._count()))
        self.throttle_ms = self._take(">i") if self.version >= 1 else 0
        self.tags = self._tags()
        assert self._at == len(frame)

    @property
    def supported(self):
        return self._features(0)

    @property
    def finalized(self):
        return {name: highest for name, (highest, lowest) in self._features(2).items()}

    def _features(self, tag):
        inner = Answer.__new__(Answer)
        inner._frame, inner._at = self.tags.get(tag, b"\x01"), 0
        return dict(inner._feature() for _ in range(inner._uvarint() - 1))

    def _feature(self):
        name = self._bytes(self._uvarint() - 1).decode()
        pair = (self._int16(), self._int16())
        assert self._uvarint() == 0
        return name, pair

    def _api_key(self):
        key, pair = self._int16(), (self._int16(), self._int16())
        assert self.version < 3 or self._uvarint() == 0
        return key, pair

    def _count(self):
        return self._uvarint() - 1 if self.version >= 3 else self._take(">i")

    def _tags(self):
        if self.version < 3:
            return {}
        return {self._uvarint(): self._bytes(self._uvarint()) for _ in range(self._uvarint())}

    def _take(self, form):
        (value,) = struct.unpack_from(form, self._frame, self._at)
        self._at += struct.calcsize(form)
        return value

    def _int16(self):
        return self._take(">h")

    def _bytes(self, size):
        self._at += size
        return self._frame[self._at - size : self._at]

    def _uvarint(self):
        value = shift = 0
        while True:
            byte = self._take(">B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value


def lines(path):
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [json.loads(line) for line in file]


def recorded():
    """(release, listener, version, answer) of every ApiVersions answer in the recordings."""
    for path in sorted((DATA / "wire").glob("broker-*.jsonl.gz")):
        broker = path.name.split("_")[0]
        profile = RELEASE_3_3 if broker.startswith("broker-3.3") else RELEASE_4_3
        listener = ZK_BROKER if broker.endswith("-zk") else BROKER
        for line in lines(path):
            if line["dir"] == "response" and line["api_key"] == API_VERSIONS:
                yield profile, listener, line["version"], Answer(bytes.fromhex(line["hex"]), line["version"])
    for line in lines(DATA / "apiversions-controller.jsonl"):
        profile = RELEASE_3_3 if line["release"].startswith("3.3") else RELEASE_4_3
        yield profile, CONTROLLER, line["version"], Answer(bytes.fromhex(line["hex"]), line["version"])


RECORDED = list(recorded())
ANSWERED = [case for case in RECORDED if case[3].error == 0]
REFUSED = [case for case in RECORDED if case[3].error == UNSUPPORTED_VERSION]


def case_name(value):
    return value.name if isinstance(value, releases.Release) else None if isinstance(value, Answer) else str(value)


def test_recordings_cover_every_profile_listener_and_shape():
    seen = {(profile.name, listener, version) for profile, listener, version, _ in ANSWERED}
    assert seen >= {("3.3", listener, version) for listener in (BROKER, CONTROLLER, ZK_BROKER) for version in (0, 3)}
    assert seen >= {("4.3", listener, version) for listener in (BROKER, CONTROLLER) for version in (0, 3, 4)}
    assert {(profile.name, listener) for profile, listener, _, _ in REFUSED} == {
        ("3.3", BROKER),
        ("3.3", CONTROLLER),
        ("3.3", ZK_BROKER),
    }


@pytest.mark.contract("E51", "K17")
@pytest.mark.parametrize(("profile", "listener", "version", "answer"), ANSWERED, ids=case_name)
def test_advertises_what_the_release_did(profile, listener, version, answer):
    assert list(profile.api_versions(listener).items()) == list(answer.api_versions.items())


@pytest.mark.parametrize(("profile", "listener", "version", "answer"), REFUSED, ids=case_name)
def test_refused_version_is_outside_the_range_that_the_answer_names(profile, listener, version, answer):
    served = profile.api_versions(listener)[API_VERSIONS]
    assert answer.api_versions == {API_VERSIONS: served}
    assert version > served[1]


@pytest.mark.parametrize(("profile", "listener", "version", "answer"), ANSWERED, ids=case_name)
def test_supported_features_in_kafkas_order(profile, listener, version, answer):
    if version >= 3:
        ours = profile.supported_features(version, listener)
        assert list(ours.items()) == list(answer.supported.items())


@pytest.mark.parametrize(("profile", "listener", "version", "answer"), ANSWERED, ids=case_name)
def test_finalized_features_are_those_of_a_new_cluster(profile, listener, version, answer):
    if version < 3:
        return
    assert profile.tells_finalized_features(listener) is bool(answer.finalized)
    if answer.finalized:
        levels = profile.finalized_at_format
        ours = levels if profile is RELEASE_3_3 else {**levels, **NOT_YET_SERVED}
        # kraft.version is 1 in a quorum whose voters are in the log, as ours are; the recorded controller's are
        # in its config.
        static_voters = profile is RELEASE_4_3 and listener == CONTROLLER
        assert answer.finalized == {k: v for k, v in ours.items() if not (static_voters and k == "kraft.version")}


def test_minimum_0_needs_api_versions_4():
    assert RELEASE_4_3.supported_features(3) == {"metadata.version": (7, 30)}
    assert len(RELEASE_4_3.supported_features(4)) == 7
    assert RELEASE_3_3.supported_features(3) == RELEASE_3_3.supported_features(4) == {"metadata.version": (1, 7)}


def test_metadata_version_7_is_the_one_level_of_both():
    (low_3_3, high_3_3), (low_4_3, high_4_3) = (
        release.supported_features(4)["metadata.version"] for release in releases.ALL
    )
    assert set(range(low_3_3, high_3_3 + 1)) & set(range(low_4_3, high_4_3 + 1)) == {7}


@pytest.mark.parametrize("release", releases.ALL, ids=repr)
def test_levels_at_format_are_supported(release):
    supported = release.supported_features(4)
    assert release.finalized_at_format.keys() == supported.keys()
    for name, level in release.finalized_at_format.items():
        assert supported[name][0] <= level <= supported[name][1]


def test_features_that_are_off_until_served():
    off = {name for name, level in RELEASE_4_3.finalized_at_format.items() if level == 0}
    assert off == set(NOT_YET_SERVED)


def test_telemetry_is_advertised_with_a_receiver_only():
    with_receiver = RELEASE_4_3.api_versions(BROKER, has_telemetry=True)
    assert with_receiver.keys() - RELEASE_4_3.api_versions(BROKER).keys() == {71, 72}
    assert list(with_receiver) == sorted(with_receiver)
    assert RELEASE_3_3.api_versions(BROKER, has_telemetry=True) == RELEASE_3_3.api_versions(BROKER)


@pytest.mark.parametrize("release", releases.ALL, ids=repr)
@pytest.mark.parametrize("listener", [BROKER, CONTROLLER])
def test_everything_advertised_can_be_decoded_and_is_stable(release, listener):
    for key, (lowest, highest) in release.api_versions(listener, has_telemetry=True).items():
        api = apis.by_key(key)
        advertised = range(lowest, highest + 1)
        assert set(advertised) <= set(api.versions)
        assert not set(advertised) & set(api.unstable)


def test_caller_may_change_what_it_was_given():
    RELEASE_4_3.api_versions(BROKER).clear()
    RELEASE_4_3.supported_features(4).clear()
    assert RELEASE_4_3.api_versions(BROKER)
    assert RELEASE_4_3.supported_features(4)


def test_a_4_3_knows_no_zookeeper():
    for ask in (
        RELEASE_4_3.api_versions,
        RELEASE_4_3.tells_finalized_features,
        lambda listener: RELEASE_4_3.supported_features(4, listener),
    ):
        with pytest.raises(LookupError, match=r"Release 4\.3 has no 'ZK_BROKER' listener, only BROKER, CONTROLLER"):
            ask(ZK_BROKER)


@pytest.mark.parametrize(("kafka", "release"), [("3.3.2", RELEASE_3_3), ("4.3.0", RELEASE_4_3)])
def test_internal_records_have_the_version_that_kafka_wrote(kafka, release):
    written = {}
    for segment in lines(DATA / "logdirs" / f"kafka-{kafka}-kraft-clean.segments.jsonl.gz"):
        for kind, topic, key_prefix in (
            ("OffsetCommitValue", "__consumer_offsets", "0001"),
            ("GroupMetadataValue", "__consumer_offsets", "0002"),
            ("TransactionLogValue", "__transaction_state", "0000"),
        ):
            if topic in segment["file"]:
                written.setdefault(kind, set()).update(value_versions(segment, key_prefix))
    assert written == {kind: {version} for kind, version in release.record_versions.items()}


def value_versions(segment, key_prefix):
    for batch in segment["batches"]:
        for record in batch["records"]:
            if "control_type" not in record and record["value"] and record["key"].startswith(key_prefix):
                yield int(record["value"][:4], 16)


@pytest.mark.parametrize(("kafka", "release"), [("3.3.2", RELEASE_3_3), ("4.3.0", RELEASE_4_3)])
def test_files_of_a_formatted_directory(kafka, release):
    files = {
        line["path"]: line["text"]
        for line in lines(DATA / "diskfiles.jsonl.gz")
        if line["dir"] == f"kafka-{kafka}-kraft-clean" and "text" in line
    }
    quorum_state = json.loads(files["__cluster_metadata-0/quorum-state"])
    assert quorum_state["data_version"] == release.quorum_state_version
    assert ("directory.id=" in files["meta.properties"]) is release.has_directory_id


def test_profiles_are_found_by_name():
    assert releases.by_name("3.3") is RELEASE_3_3
    assert releases.by_name("4.3") is RELEASE_4_3 is releases.DEFAULT
    with pytest.raises(LookupError, match=r"'3\.9'; choose 3\.3 or 4\.3"):
        releases.by_name("3.9")
