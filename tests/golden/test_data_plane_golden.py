"""The data plane answers what a 3.3.2 and a 4.3.0 have answered to the same requests, but for ids, times, offsets."""

import json
from copy import deepcopy
from pathlib import Path

import pytest

from log_kit import batch
from odradek.protocol import registry
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.json_form import from_json, to_json
from replica_kit import SimPlane

DATA = Path(__file__).parent / "data" / "behaviour-data-plane.jsonl"
CASES = [json.loads(line) for line in DATA.read_text().splitlines()]
FIRST_MS = 1_700_000_000_000

TOPICS = {
    "t1": {},
    "compact": {"cleanup_policy": "compact"},
    "small": {"max_message_bytes": 1000},
    "minisr": {"min_insync_replicas": 2},
    "lat": {"message_timestamp_type": "LogAppendTime"},
    "tsold": {},
    "txn": {},
    "del": {},
    "__consumer_offsets": {"cleanup_policy": "compact"},
}
TIMESTAMP_LIMITS = {
    "3.3": {"message_timestamp_difference_max_ms": 1000},
    "4.3": {"message_timestamp_before_max_ms": 1000, "message_timestamp_after_max_ms": 3_600_000},
}

# Where we answer otherwise, and why.
EXCEPTIONS = {
    ("Produce null records", "3.3"): "UNKNOWN_SERVER_ERROR tells a producer nothing: INVALID_RECORD, as for empty ones",
    ("Produce null records", "4.3"): "Kafka never answers",
    ("Produce empty records", "3.3"): "a 3.3 closes the connection; INVALID_RECORD, as a 4.3",
}

# Values of the run that was recorded: offsets count what its cases had written before.
VOLATILE = {
    "baseOffset",
    "highWatermark",
    "lastStableOffset",
    "offset",
    "endOffset",
    "records",
    "logAppendTimeMs",
    "partitionSize",
    "logDir",
    "totalBytes",
    "usableBytes",
}
UNRECORDED = "unrecorded"
OFFSETS = VOLATILE - {"records", "logDir"}


@pytest.fixture(scope="module", params=["3.3", "4.3"])
def plane(request):
    made = SimPlane(release=request.param)
    for name, configs in TOPICS.items():
        made.create_topic(name, **(TIMESTAMP_LIMITS[request.param] if name == "tsold" else configs))
    for number in range(10):
        made.produce(str(number), topic="t1", timestamp=FIRST_MS + 1000 * number)
    made.produce(*"01234", topic="del", timestamp=FIRST_MS)
    return made


def answers(case, release):
    """(request, recorded answer) of what is ours; requests that only set the scene have no answer of their own."""
    recorded = case["kafka_3_3_2" if release == "3.3" else "kafka_4_3_0"]
    requests = [asked for asked in case["request"] if asked["api"] != "InitProducerId"]
    if isinstance(recorded, dict) and "throttleTimeMs" not in recorded and "topics" not in recorded:
        recorded = [recorded["response"]] if "response" in recorded else list(recorded.values())
        if case["case"].startswith("idempotent"):
            recorded[4:4] = [UNRECORDED] * 6  # batches that push the first ones out of the window
        requests = requests[-len(recorded) :]
    elif not isinstance(recorded, list):
        recorded = [recorded]
    return list(zip(requests, recorded, strict=True))


def masked(value):
    """Negative values stay: -1 for "unknown" is part of the behaviour."""
    if isinstance(value, dict):
        return {key: _mask(key, item) for key, item in value.items()}
    return [masked(item) for item in value] if isinstance(value, list) else value


def _mask(key, item):
    if key in OFFSETS and isinstance(item, int):
        return "some" if item >= 0 else item
    if key in VOLATILE:
        return bool(item)
    if key in ("errorMessage", "batchIndexErrorMessage"):
        return item is not None
    return masked(item)


def answered(plane, asked, version):
    cls = next(registry.request(key) for key in range(70) if _name(key) == asked["api"])
    asked = deepcopy(asked)
    body = {key: value for key, value in asked["body"].items() if key in _fields(cls, version)}
    if asked["api"] == "ListOffsets" and version < 4:
        del body["topics"][0]["partitions"][0]["currentLeaderEpoch"]
    if body.get("maxWaitMs") == 700:  # a long poll at the end of the log, which is elsewhere here
        body["topics"][0]["partitions"][0]["fetchOffset"] = plane.log("t1").log_end_offset
    try:
        response = plane.ask(from_json(cls, body, version), version)
    except PeerProtocolError:
        return "connection closed"
    return to_json(response, version)


def _name(key):
    try:
        return registry.request(key).__name__.removesuffix("Request")
    except LookupError:
        return None


def _fields(cls, version):
    return {field.json_name for field in cls.fields if field.in_version(version)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_case(plane, case):
    release = plane.release.name
    if (case["case"], release) in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[case["case"], release])
    pairs = answers(case, release)
    versions = case.get("request_versions_4_3_0") if release == "4.3" else None
    for number, (asked, recorded) in enumerate(pairs):
        if recorded is None:
            pytest.skip(f"a {release} does not have this version")
        version = versions[number] if versions else asked["version"]
        found = answered(plane, asked, version)
        if recorded == UNRECORDED:
            continue
        if asked["api"] == "DescribeLogDirs":
            found, recorded = (_of_topic(form, "t1") for form in (found, recorded))
        assert masked(found) == masked(recorded), (asked, version)


def _of_topic(form, name):
    for result in form["results"]:
        result["topics"] = [topic for topic in result["topics"] if topic["name"] == name]
    return form


def test_the_exceptions_are_cases():
    assert {case for case, _ in EXCEPTIONS} <= {case["case"] for case in CASES}


def test_a_batch_of_the_recording_is_one_of_ours():
    """The recorded batches are made of magic 2 with one record at the same time as ours."""
    assert len(batch(b"v", timestamp=FIRST_MS)) == 70
