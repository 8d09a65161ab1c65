"""The recorded behaviour of real brokers: a case is some requests, and the error codes of a 3.3.2 and of a 4.3.0.

    for case in cases("4.3"):
        assert case.run(target) == case.expected

What is compared are the error codes, each with the path of its field, and whether the connection was closed. The cases
were recorded in this order on one broker, which had `TOPICS` and `PROPERTIES`; a few build on what an earlier one left.
`differences.UNPLAYED` are the cases that cannot be played here, `differences.CASES` those that get another answer.
"""

import gzip
import json
import time
from pathlib import Path
from typing import NamedTuple

import differences
from odradek.protocol import apis, registry, whole
from odradek.protocol.declare import Struct
from odradek.protocol.errors import ConcurrentTransactions
from odradek.protocol.field import ARRAY, STRUCT
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.records.record import Record
from odradek.records.writer import record_batch

FILE = Path(__file__).parents[1] / "golden" / "data" / "behaviour.jsonl.gz"
CLOSED = "connection closed"
INIT_PRODUCER_ID, END_TXN = 22, 26
MARKERS_S_MAX = 20
COLUMNS = {"3.3": "kafka_3_3_2", "4.3": "kafka_4_3_0"}

PROPERTIES = {
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS;User:admin;User:alice",
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
RECORDS = {"del": 5}  # records that were there
RENAMED_IN_4_3 = {"message.timestamp.difference.max.ms": "message.timestamp.before.max.ms"}

# Which requests of a case its results belong to, where it is not simply the last ones.
ANSWERED = {"idempotent: first": (1, 2, 3, 4, 11, 12, 13, 14, 15, 16, 17, 18, 19)}

AT_THE_END = "Fetch long poll"

# Which id the (first) producer of a case had in a 3.3.2 and a 4.3.0: later requests of the case name it.
PRODUCER_IDS = {
    "transactional produce": (5, 4),
    "transaction: add": (7, 6),
    "EndTxn on empty": (8, 7),
    "AddPartitionsToTxn wrong": (10, 9),
    "AddPartitionsToTxn old": (11, 10),
    "EndTxn old": (12, 11),
    "EndTxn future": (13, 12),
    "Fetch read_committed shows": (16, 15),
}
# Fields that a 4.3 has by another name.
RENAMED_PATHS = {".results.results.errorCode": ".resultsByTopicV3AndBelow.resultsByPartition.errorCode"}

_FRAME = "frame"  # an answer that was recorded as bytes


class Case(NamedTuple):
    name: str
    requests: list
    expected: object
    producer_id: int | None = None  # of the first producer
    handed_out: list = []

    def run(self, ask):
        """What `ask(name, frame)` answers to the requests, reduced to codes: the last ones, as many as expected."""
        if self.producer_id is not None:
            self._skip_producer_ids(ask)
        answers = [self._asked(ask, self._placed(ask, request)) for request in self.requests]
        indexes = next((rows for start, rows in ANSWERED.items() if self.name.startswith(start)), None)
        if indexes is not None:
            return [answers[index] for index in indexes]
        return answers[-len(self.expected) :]

    def _placed(self, ask, request):
        """A case at the log's end means ours: earlier cases that are not played would have written more."""
        if not (self.name.startswith(AT_THE_END) and request.get("api") == "Fetch"):
            return request
        request = json.loads(json.dumps(request))
        topic = request["body"]["topics"][0]
        topic["partitions"][0]["fetchOffset"] = _log_end(ask, topic["topic"])
        return request

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
        answer = ask(self.name, frame)
        deadline = time.monotonic() + MARKERS_S_MAX
        while self._is_too_early(api.key, _answer_codes(answer, api.key, version)) and time.monotonic() < deadline:
            answer = ask(self.name, frame)
        if api.key == INIT_PRODUCER_ID:
            self.handed_out.append(whole.decode_response(answer, api.key, version)[1].producer_id)
        return _answer_codes(answer, api.key, version)

    def _is_too_early(self, key, codes):
        """The markers of the end before are still being written, as they were not when the case was recorded."""
        told = (".errorCode", ConcurrentTransactions.code)
        return key == END_TXN and told in codes and not any(told in each for each in self.expected)

    def _skip_producer_ids(self, ask):
        header = RequestHeader(
            request_api_key=INIT_PRODUCER_ID, request_api_version=4, correlation_id=1, client_id="behaviour"
        )
        frame = b"".join(whole.encode_request(header, InitProducerIdRequest(transactional_id=None)))
        while max(self.handed_out, default=-1) < self.producer_id - 1:
            answer = ask("set-up", frame)
            self.handed_out.append(whole.decode_response(answer, INIT_PRODUCER_ID, 4)[1].producer_id)
        assert max(self.handed_out) == self.producer_id - 1, f"the producer id {self.producer_id} is gone"


def cases(release):
    """Every case that can be played on a broker of that release, in the recorded order."""
    handed_out = []
    with gzip.open(FILE, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            case = _case(row, release)
            if case is not None:
                yield case._replace(handed_out=handed_out)


def reason_to_skip(name):
    return next((reason for start, reason in differences.UNPLAYED.items() if name.startswith(start)), None)


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
    excepted = [each for each in differences.CASES if each.case == row["case"] and release in each.releases]
    expected = excepted[0].codes if excepted else [_recorded_codes(part, requests) for part in _parts(result)]
    return Case(row["case"], requests, expected, _producer_id(row["case"], release))


def _producer_id(name, release):
    ids = next((ids for start, ids in PRODUCER_IDS.items() if name.startswith(start)), None)
    return None if ids is None else ids[0 if release == "3.3" else 1]


def _is_served(request):
    return "api" not in request or differences.is_played(apis.by_name(request["api"]).key)


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
    if part == CLOSED:
        return CLOSED
    return sorted((RENAMED_PATHS.get(path, path), code) for path, code in codes(part))


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
    for name, count in RECORDS.items():
        _write(ask, name, count)


def _write(ask, topic, count):
    records = record_batch([Record(at, b"k", b"v", 1_700_000_000_000) for at in range(count)])
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
    header = RequestHeader(request_api_key=0, request_api_version=8, correlation_id=1, client_id="behaviour")
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
    answer = whole.decode_response(ask("set-up", b"".join(whole.encode_request(header, request))), 0, 8)[1]
    assert answer.responses[0].partition_responses[0].error_code == 0, answer


def _log_end(ask, topic):
    part = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[part])])
    header = RequestHeader(request_api_key=2, request_api_version=7, correlation_id=1, client_id="behaviour")
    answer = whole.decode_response(ask("set-up", b"".join(whole.encode_request(header, request))), 2, 7)[1]
    return answer.topics[0].partitions[0].offset


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
