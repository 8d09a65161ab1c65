"""The recorded behaviour of real brokers: a case is some requests, and the error codes of a 3.3.2 and of a 4.3.0.

    for case in cases("4.3"):
        assert case.run(target) == case.expected

What is compared are the error codes, each with the path of its field, and whether the connection was closed. The cases
were recorded in this order on one broker, which had `TOPICS` and `PROPERTIES`; a few build on what an earlier one left.
`SKIPPED` are the cases that cannot be played here, `EXCEPTIONS` those that get another answer; both with the reason.
"""

import gzip
import json
import time
from pathlib import Path
from typing import NamedTuple

from odradek.handlers import table
from odradek.protocol import apis, registry, releases, whole
from odradek.protocol.declare import Struct
from odradek.protocol.field import ARRAY, STRUCT
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

FILE = Path(__file__).parent / "golden" / "data" / "behaviour.jsonl.gz"
CLOSED = "connection closed"
COLUMNS = {"3.3": "kafka_3_3_2", "4.3": "kafka_4_3_0"}

PROPERTIES = {
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}

# What was there before the first case: partitions and configs by name.
TOPICS = {
    "t1": (1, {}),
    "t3": (3, {}),
    "a.b": (1, {}),
    "small": (1, {"max.message.bytes": "1000"}),
    "compact": (1, {"cleanup.policy": "compact"}),
    "nogz": (1, {}),
    "del": (1, {}),
    "txn": (1, {}),
    "minisr": (1, {"min.insync.replicas": "2"}),
    "lat": (1, {"message.timestamp.type": "LogAppendTime"}),
    "tsold": (1, {"message.timestamp.difference.max.ms": "1000"}),  # a 4.3 has it as ...before.max.ms
    "__consumer_offsets": (2, {"cleanup.policy": "compact"}),
    "__transaction_state": (2, {"cleanup.policy": "compact"}),
}
RENAMED_IN_4_3 = {"message.timestamp.difference.max.ms": "message.timestamp.before.max.ms"}

# Which requests of a case its results belong to, where it is not simply the last ones.
ANSWERED = {"idempotent: first": (1, 2, 3, 4, 11, 12, 13, 14, 15, 16, 17, 18, 19)}

SKIPPED = {
    "two pipelined requests": "no requests are recorded; tests/unit/network has the order of answers",
    "SASL": "needs a SASL listener; the conversations sasl-plain are replayed by tests/golden/test_wire_replay.py",
    "authorization failures": "ACLs are stored and described, and not enforced yet",
    "InitProducerId with unknown": "needs the transaction coordinator",
    "InitProducerId twice": "needs the transaction coordinator",
    "transactional produce": "needs the transaction coordinator",
    "Fetch read_committed shows": "needs the transaction coordinator",
    "Fetch long poll": "its offset is that of records that skipped cases would have written",
    "DeleteRecords ok then": "its offsets are those of records that skipped cases would have written",
}
_INVALID_RECORD = [(".responses.partitionResponses.errorCode", 87)]
# (release, case): what is answered here, and why.
EXCEPTIONS = {
    ("4.3", "Produce null records"): ([_INVALID_RECORD], "a 4.3.0 never answers it"),
    ("3.3", "Produce null records"): (
        [_INVALID_RECORD],
        "recorded as UNKNOWN_SERVER_ERROR, and the next 3.3.2 closed the connection; we say what is wrong",
    ),
    ("3.3", "Produce empty records"): ([_INVALID_RECORD], "recorded as closed; asked again, a 3.3.2 answers so"),
}

_FRAME = "frame"  # an answer that was recorded as bytes


class Case(NamedTuple):
    name: str
    requests: list
    expected: object

    def run(self, ask):
        """What `ask(name, frame)` answers to the requests, reduced to codes: the last ones, as many as expected."""
        answers = [self._asked(ask, request) for request in self.requests]
        indexes = next((rows for start, rows in ANSWERED.items() if self.name.startswith(start)), None)
        if indexes is not None:
            return [answers[index] for index in indexes]
        return answers[-len(self.expected) :]

    def _asked(self, ask, request):
        if "raw_hex" in request:
            frame = bytes.fromhex(request["raw_hex"])[4:]
            key, version = int.from_bytes(frame[:2], "big", signed=True), int.from_bytes(frame[2:4], "big", signed=True)
            return _answer_codes(ask(self.name, frame), key, version)
        api = apis.by_name(request["api"])
        version = request["version"]
        header = RequestHeader(
            request_api_key=api.key, request_api_version=version, correlation_id=7, client_id="behaviour"
        )
        request_type = registry.request(api.key)
        body = from_json(request_type, _only_carried(request_type, request["body"], version), version)
        frame = b"".join(whole.encode_request(header, body))
        return _answer_codes(ask(self.name, frame), api.key, version)


def cases(release):
    """Every case that can be played on a broker of that release, in the recorded order."""
    with gzip.open(FILE, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            case = _case(row, release)
            if case is not None:
                yield case


def reason_to_skip(name):
    return next((reason for start, reason in SKIPPED.items() if name.startswith(start)), None)


def _case(row, release):
    result = row[COLUMNS[release]]
    requests = row["request"]
    if release == "4.3" and "request_4_3_0" in row:
        requests = row["request_4_3_0"]
    if release == "4.3" and "request_versions_4_3_0" in row:
        versions = row["request_versions_4_3_0"]
        requests = [{**request, "version": version} for request, version in zip(requests, versions, strict=True)]
    is_playable = all(_is_served(request) and _has_sane_length(request) for request in requests)
    if result is None or reason_to_skip(row["case"]) is not None or not is_playable:
        return None
    exception = EXCEPTIONS.get((release, row["case"]))
    expected = exception[0] if exception else [_recorded_codes(part, requests) for part in _parts(result)]
    return Case(row["case"], requests, expected)


def _is_served(request):
    return "api" not in request or apis.by_name(request["api"]).key in table.keys(releases.BROKER)


def _has_sane_length(request):
    """Frames whose length is a lie never get to a handler: tests/unit/network has them."""
    if "raw_hex" not in request:
        return True
    frame = bytes.fromhex(request["raw_hex"])
    return len(frame) > 4 and int.from_bytes(frame[:4], "big") == len(frame) - 4


def _parts(result):
    """The single answers of a case: it was recorded as one body, as a list of them, or each with a name."""
    if isinstance(result, list):
        return result
    is_named = isinstance(result, dict) and _FRAME not in result and all(_is_answer(part) for part in result.values())
    if is_named or (isinstance(result, dict) and "elapsed_ms_about" in result):
        return [part for part in result.values() if _is_answer(part)]
    return [result]


def _is_answer(part):
    return part == CLOSED or (isinstance(part, dict) and any(not isinstance(value, str) for value in part.values()))


def _recorded_codes(part, requests):
    if isinstance(part, dict) and _FRAME in part:
        raw = bytes.fromhex(requests[0]["raw_hex"])[4:]
        return _answer_codes(
            bytes.fromhex(part[_FRAME]), int.from_bytes(raw[:2], "big"), int.from_bytes(raw[2:4], "big")
        )
    return CLOSED if part == CLOSED else codes(part)


def _answer_codes(answer, key, version):
    if answer == CLOSED or answer is None:
        return answer
    if key == 18 and version > apis.by_key(18).versions[-1]:
        version = 0
    return codes(to_json(whole.decode_response(answer, key, version)[1], version))


def codes(form):
    """Every error code of an answer with the path to it, without those of equal items."""
    found = set()
    _collect(form, "", found)
    return sorted(found)


def _collect(form, path, found):
    if isinstance(form, list):
        for item in form:
            _collect(item, path, found)
    elif isinstance(form, dict):
        for name, value in form.items():
            if name.lower().endswith("errorcode"):
                found.add((f"{path}.errorCode", value))
            else:
                _collect(value, f"{path}.{name}", found)


def _only_carried(struct, body, version):
    """The recorded bodies leave out what is at its default, and keep what the version does not carry."""
    form = to_json(struct(), version)
    fields = {_camel(field.name): field for field in struct.fields}
    for name, value in body.items():
        field = fields.get(name)
        if field is None or not field.versions[0] <= version <= field.versions[1]:
            continue
        item = field.item.item if field.kind == ARRAY else field.item
        if field.kind == ARRAY and value is not None and isinstance(item, type) and issubclass(item, Struct):
            form[name] = [_only_carried(item, element, version) for element in value]
        elif field.kind == STRUCT and value is not None:
            form[name] = _only_carried(field.item, value, version)
        else:
            form[name] = value
    return form


def _camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def create_topics(ask, release):
    """`TOPICS`, through the API itself."""
    topics = [
        CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=RENAMED_IN_4_3.get(key, key) if release == "4.3" else key, value=value)
                for key, value in configs.items()
            ],
        )
        for name, (partitions, configs) in TOPICS.items()
    ]
    header = RequestHeader(request_api_key=19, request_api_version=7, correlation_id=1, client_id="behaviour")
    frame = b"".join(whole.encode_request(header, CreateTopicsRequest(topics=topics, timeout_ms=10_000)))
    answer = whole.decode_response(ask("set-up", frame), 19, 7)[1]
    assert {topic.error_code for topic in answer.topics} <= {0, 36}, answer
    _wait_until_made(ask)


def _wait_until_made(ask):
    """The recorded broker had had its time to make the logs."""
    topics = [
        ListOffsetsTopic(
            name=name, partitions=[ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(count)]
        )
        for name, (count, _) in TOPICS.items()
    ]
    header = RequestHeader(request_api_key=2, request_api_version=7, correlation_id=1, client_id="behaviour")
    frame = b"".join(whole.encode_request(header, ListOffsetsRequest(replica_id=-1, topics=topics)))
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        answer = whole.decode_response(ask("set-up", frame), 2, 7)[1]
        if all(partition.error_code == 0 for topic in answer.topics for partition in topic.partitions):
            return
    raise AssertionError(f"the topics were not made: {answer}")
