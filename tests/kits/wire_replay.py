"""Replays recorded conversations with a real Kafka and compares the answers.

A recording is a file of frames: what a client sent, what the broker answered. `Replay` sends the requests, one after
the other per connection, to whatever `ask(connection, frame)` reaches: a dispatcher, or a broker behind a socket. Both
answers are decoded to Kafka's JSON form, stripped of what differs from run to run (`VARIES`) and of what differs for a
reason (`differences.ANSWERS`), and must then be the same.

Ids that a recording got from its broker are learnt from the answers and replaced in later requests (`recorded_ids.py`).
How often a client was told to come again is a matter of speed: such an answer is not compared, and asked for again.
"""

import gzip
import json
import socket
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import differences
from odradek.protocol import apis, releases, whole
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.json_form import to_json
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from recorded_ids import RecordedIds

WIRE = Path(__file__).parents[1] / "golden" / "data" / "wire"
CLOSED = "connection closed"
USED = set()  # the rows of the table of differences that were needed

# The settings of the recorded brokers that show in their answers.
PROPERTIES = {
    "log.index.size.max.bytes": "65536",
    "log.retention.ms": "-1",
    "log.segment.delete.delay.ms": "1000",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS;User:admin;User:alice",
}

# A recorded client took its time: a broker may learn of a change after the controller has told the client.
READING = frozenset({2, 3, 16, 29, 32, 35, 48, 60, 61, 66, 75})
PATIENCE_S = 5.0
FETCH = 1
SHARE_GROUP_HEARTBEAT, SHARE_FETCH = 76, 78
NOT_LEADER_OR_FOLLOWER = 6
# A coordinator that is being made or loads, or is at the end of the last transaction.
COME_AGAIN = frozenset({14, 15, 16, 51})

# Ids, times, addresses, sizes: told by every run in its own way. Only whether they are there is compared.
VARIES = {
    "topicId",
    "producerId",
    "clusterId",
    "host",
    "port",
    "logDir",
    "partitionSize",
    "totalBytes",
    "usableBytes",
    "offsetLag",
    "finalizedFeaturesEpoch",
    "lastTimestamp",
    "logAppendTimeMs",
    "appendTimestampMs",
    "currentTxnStartOffset",
    "sessionId",
}
# Offsets depend on what was in the topic before: what counts is how they grow from the first answer on.
RELATIVE = {
    *("baseOffset", "offset", "committedOffset", "lowWatermark"),
    *("highWatermark", "lastStableOffset", "firstOffset"),
}

# Arrays that Kafka writes in the order of a hash table.
SORTED_BY = (
    "apiKey",
    "name",
    "topic",
    "nodeId",
    "brokerId",
    "partitionIndex",
    "index",
    "resourceName",
    "logDir",
    "principal",
    "groupId",
)


class Difference(NamedTuple):
    api: str
    version: int
    request: object
    recorded: object
    ours: object

    def __str__(self):
        return f"{self.api} {self.version}: {self.request}\n  recorded {self.recorded}\n  ours     {self.ours}"


def recordings(release, *flows, client="*"):
    """The files of one release: `broker-4.3.0_java-4.3.0_admin.jsonl.gz` is the flow "admin"."""
    version = {"3.3": "3.3.2", "4.3": "4.3.0"}[release]
    return [path for flow in flows for path in sorted(WIRE.glob(f"broker-{version}_{client}_{flow}.jsonl.gz"))]


def frames_of(path):
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def _exchange(frame):
    """What a request and its answer have in common."""
    return frame["conn"], frame["correlation_id"], frame["api_key"]


def _in_order(frames):
    """The requests. A Fetch waits for what others do in the meantime: it comes where it was answered. Of the heartbeats
    with which a member of a share group waits for its partitions the last one comes, and is `awaited`."""
    waiting = {}
    repetitions = _repeated_heartbeats(frames)
    for frame in frames:
        if frame["dir"] == "request" and _exchange(frame) in repetitions:
            continue
        if frame["dir"] == "request" and frame["api_key"] == FETCH:
            waiting[_exchange(frame)] = frame
        elif frame["dir"] == "request":
            yield {**frame, "awaited": _exchange(frame) in repetitions.values()}
        elif frame["dir"] == "response" and _exchange(frame) in waiting:
            yield waiting.pop(_exchange(frame))


def _repeated_heartbeats(frames):
    """Those of share groups that are sent once more as they are, and what comes in their place."""
    sent = [frame for frame in frames if frame["dir"] == "request" and frame["api_key"] == SHARE_GROUP_HEARTBEAT]
    pairs = [pair for pair in pairwise(sent) if _without_number(pair[0]) == _without_number(pair[1])]
    return {_exchange(one): _exchange(other) for one, other in pairs}


def _without_number(frame):
    """Api key and version are before the correlation id."""
    data = bytes.fromhex(frame["hex"])
    return frame["conn"], data[:4], data[8:]


class Replay:
    """`differences` is what is left after `run`; `asked` how many answers were compared, `skipped` how many not."""

    def __init__(self, release, ask):
        self.release = releases.by_name(release)
        self.ask = ask
        self.ids = RecordedIds()
        self.first_offsets = ({}, {})
        self.differences = []
        self.asked = 0
        self.skipped = 0

    def run(self, path):
        answers = self._recorded_answers(path)
        for frame in _in_order(frames_of(path)):
            if self._is_served(frame):
                self._one(frame, answers.get(_exchange(frame)))
            else:
                self.skipped += 1
        return self.differences

    def _recorded_answers(self, path):
        return {
            _exchange(frame): bytes.fromhex(frame["hex"]) for frame in frames_of(path) if frame["dir"] == "response"
        }

    def _is_served(self, frame):
        return differences.is_compared(frame["api_key"])

    def _one(self, frame, recorded):
        key, version = frame["api_key"], frame["version"]
        header, request = whole.decode_request(bytes.fromhex(frame["hex"]))
        self.ids.replace(request)
        if key == SHARE_FETCH:
            request.max_wait_ms = int(PATIENCE_S * 1000)  # what it waits for is set up when it is first asked for
        sent = b"".join(whole.encode_request(header, request))
        if recorded is None:
            self.ask(frame["conn"], sent)
            return  # the client had gone before the answer came
        if error_codes(self._decoded(recorded, key, version)) & COME_AGAIN:
            return
        self.asked += 1
        deadline = time.monotonic() + PATIENCE_S
        left, right = self._both(self.ask(frame["conn"], sent), recorded, key, version)
        is_patient = key in READING or frame.get("awaited")
        while left != right and (is_patient or _asks_again(right)) and time.monotonic() < deadline:
            left, right = self._both(self.ask(frame["conn"], sent), recorded, key, version)
        if left != right:
            api = apis.by_key(key).message
            self.differences.append(Difference(api, version, request, *_only_different(left, right)))

    def _both(self, ours, recorded, key, version):
        theirs = self._decoded(recorded, key, version)
        mine = CLOSED if ours == CLOSED else self._decoded(ours, key, version)
        if mine != CLOSED:
            self.ids.learn(key, theirs, mine)
        return self._comparable(self.ids.with_our_members(theirs), key, 0), self._comparable(mine, key, 1)

    def comparable(self, frame, key, version):
        """What counts of a recorded answer."""
        return self._comparable(self._decoded(frame, key, version), key, 0)

    def _decoded(self, frame, key, version):
        """ApiVersions in a version that is not served is answered in version 0."""
        if key == 18 and version > self.release.api_versions(releases.BROKER)[18][1]:
            version = 0
        response = whole.decode_response(frame, key, version)[1]
        return to_json(response, version)

    # What can be compared

    def _comparable(self, form, key, side):
        if form == CLOSED:
            return form
        api = apis.by_key(key).message
        return self._stripped(_excepted(form, api, self.release, side), "", side)

    def _stripped(self, form, name, side):
        if isinstance(form, dict):
            return {field: self._value(field, value, name, side) for field, value in form.items()}
        if isinstance(form, list):
            return sorted((self._stripped(item, name, side) for item in form), key=_order)
        return form

    def _value(self, field, value, parent, side):
        if isinstance(value, (dict, list)):
            return self._stripped(value, field, side)
        if field in VARIES:
            return None if value in (None, "", -1, "AAAAAAAAAAAAAAAAAAAAAA") else f"<{field}>"
        if field in RELATIVE and isinstance(value, int) and value >= 0:
            first = self.first_offsets[side].setdefault((parent, field), value)
            return f"<first + {value - first}>"
        return value


def _asks_again(form):
    """Whether every client would: the broker has heard of the partition, and its log is still being made."""
    return bool(error_codes(form) & {NOT_LEADER_OR_FOLLOWER, *COME_AGAIN})


def error_codes(form):
    if isinstance(form, list):
        return set().union(*map(error_codes, form))
    if not isinstance(form, dict):
        return set()
    own = {value for name, value in form.items() if name in ("errorCode", "partitionErrorCode")}
    return own.union(*(error_codes(value) for value in form.values()))


def _order(item):
    if isinstance(item, dict):
        return [
            str(item[name]).zfill(12) if isinstance(item[name], int) else item[name]
            for name in SORTED_BY
            if item.get(name) is not None
        ]
    return [str(item)]


def _excepted(form, api, release, side):
    """The form without what `differences.ANSWERS` takes out of the comparison."""
    form = json.loads(json.dumps(form))
    for row in differences.ANSWERS:
        if api in row.apis and release.name in row.releases:
            before = json.dumps(form)
            row.leave_out(form, release)
            if json.dumps(form) != before:
                USED.add((release.name, row.apis, row.field))
    return form


def _only_different(left, right):
    """The smallest parts of the two forms in which they differ: a whole DescribeConfigs is hard to read."""
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        parts = {name: _only_different(left[name], right[name]) for name in left if left[name] != right[name]}
        return {name: part[0] for name, part in parts.items()}, {name: part[1] for name, part in parts.items()}
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = [_only_different(*pair) for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if isinstance(left, list) and isinstance(right, list):
        return [item for item in left if item not in right], [item for item in right if item not in left]
    return left, right


# Whom to ask


class ServeTarget:
    """A dispatcher's `serve` without a network; `settle(answer)` waits for a Pending, `connect()` makes a peer."""

    def __init__(self, serve, settle, connect):
        self._serve = serve
        self._settle = settle
        self._connect = connect
        self._connections = {}

    def ask(self, connection, frame):
        if connection not in self._connections:
            self._connections[connection] = self._connect()
        peer = self._connections[connection]
        try:
            answer = self._settle(self._serve(peer, memoryview(bytearray(frame))))
        except PeerProtocolError:
            return CLOSED
        return None if answer is None else b"".join(bytes(part) for part in answer)[4:]


class SocketTarget:
    """A broker behind an address; one real connection per recorded one."""

    def __init__(self, host, port, timeout_s=10):
        self._address = (host, port)
        self._timeout_s = timeout_s
        self._sockets = {}

    def ask(self, connection, frame):
        if connection not in self._sockets:
            self._sockets[connection] = socket.create_connection(self._address, self._timeout_s)
        peer = self._sockets[connection]
        try:
            peer.sendall(len(frame).to_bytes(4, "big") + frame)
            return self._received(peer, int.from_bytes(self._received(peer, 4), "big"))
        except (EOFError, ConnectionError):
            peer.close()
            del self._sockets[connection]
            return CLOSED

    def _received(self, peer, size):
        data = b""
        while len(data) < size:
            chunk = peer.recv(size - len(data))
            if not chunk:
                raise EOFError
            data += chunk
        return data

    def close(self):
        for peer in self._sockets.values():
            peer.close()
        self._sockets.clear()


def create_topic(ask, name, version=7, partitions=1):
    """What a recording found there when it began."""
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)], timeout_ms=10_000
    )
    header = RequestHeader(request_api_key=19, request_api_version=version, correlation_id=1, client_id="replay")
    answer = whole.decode_response(ask("set-up", b"".join(whole.encode_request(header, request))), 19, version)[1]
    assert answer.topics[0].error_code in (0, 36), answer
