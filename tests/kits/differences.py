"""Where our answers differ from those of an Apache Kafka of the same release: the one table, each row with its reason.

The golden tests take what they leave out of a comparison from here and from nowhere else; `make pages` renders it as
docs/differences.md. A row that no test needs fails a test.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from odradek.handlers import table
from odradek.protocol import apis, releases
from odradek.records.batch import batches

Form = dict[str, Any]
BOTH = ("3.3", "4.3")

# Their single cases are stories: `test_group_golden.py` has them.
GROUPS = frozenset({8, 9, *range(11, 17), 42, 47, 68, 69})


def is_compared(key: int) -> bool:
    """Whether answers of this API are held against Kafka's in recorded conversations: it is served."""
    return key in table.keys(releases.BROKER)


def is_played(key: int) -> bool:
    """The same for a single case."""
    return is_compared(key) and key not in GROUPS


# Recorded conversations: what is taken out of both answers before they are compared.


class Answer(NamedTuple):
    releases: tuple[str, ...]
    apis: tuple[str, ...]
    field: str
    reason: str
    leave_out: Callable[[Form, releases.Release], None]


def _features(form: Form, release: releases.Release) -> None:
    off = [name for name, level in release.finalized_at_format.items() if level == 0]
    if "finalizedFeatures" in form:
        form["finalizedFeatures"] = [row for row in form["finalizedFeatures"] if row["name"] not in off]


def _mechanisms(form: Form, _: releases.Release) -> None:
    form["mechanisms"] = [name for name in form["mechanisms"] if not name.startswith("SCRAM")]


def _topics(form: Form, _: releases.Release) -> None:
    form["topics"] = [row for row in form["topics"] if _is_own(row["name"])]


def _topics_of_dirs(form: Form, _: releases.Release) -> None:
    for result in form["results"]:
        result["topics"] = [row for row in result["topics"] if _is_own(row["name"])]


def _is_own(name: str | None) -> bool:
    """`wire...` are the topics of the conversations; "wire" itself was there before each of them."""
    return name is None or name.startswith("wire")


def _producers(form: Form, _: releases.Release) -> None:
    for topic in form["topics"]:
        for partition in topic["partitions"]:
            partition["activeProducers"] = []


def _records(form: Form, _: releases.Release) -> None:
    for topic in form["responses"]:
        for partition in topic["partitions"]:
            partition["records"] = partition["records"] and "<records>"


def _shared_records(form: Form, _: releases.Release) -> None:
    """What is left are the keys and values that are for consumers, and their offsets."""
    for topic in form["responses"]:
        for partition in topic["partitions"]:
            found = list(batches(b64decode(partition["records"] or "")))
            markers = [batch.base_offset for batch in found if batch.is_control]
            records = [record for batch in found if not batch.is_control for record in batch.records()]
            partition["records"] = [f"{record.offset}: {record.key!r} {record.value!r}" for record in records]
            partition["acquiredRecords"] = _without(markers, partition["acquiredRecords"])


def _without(offsets: list[int], acquired: list[Form]) -> list[Form]:
    """The ranges with holes in these places."""
    for offset in offsets:
        parts = [
            {**row, "firstOffset": first, "lastOffset": last}
            for row in acquired
            for first, last in _around(offset, row["firstOffset"], row["lastOffset"])
        ]
        acquired = parts
    return acquired


def _around(offset: int, first: int, last: int) -> list[tuple[int, int]]:
    if not first <= offset <= last:
        return [(first, last)]
    return [part for part in ((first, offset - 1), (offset + 1, last)) if part[0] <= part[1]]


def _groups(form: Form, _: releases.Release) -> None:
    form["groups"] = [row for row in form["groups"] if not row["groupId"].startswith("wire-confluent")]


def _min_insync(form: Form, _: releases.Release) -> None:
    for row in _rows_named(form, "min.insync.replicas"):
        row["configSource"] = "<differs>"


def _rows_named(form: Any, name: str) -> Iterator[Form]:
    if isinstance(form, dict):
        if form.get("name") == name and "configSource" in form:
            yield form
        for value in form.values():
            yield from _rows_named(value, name)
    elif isinstance(form, list):
        for item in form:
            yield from _rows_named(item, name)


ANSWERS = (
    Answer(BOTH, ("SaslHandshake",), "mechanisms", "SCRAM comes with the other mechanisms", _mechanisms),
    Answer(("4.3",), ("ApiVersions",), "finalizedFeatures", "ELR is off until served", _features),
    Answer(BOTH, ("Metadata",), "topics", "the recorded broker had topics of earlier conversations", _topics),
    Answer(BOTH, ("DescribeLogDirs",), "topics", "the recorded broker had earlier topics", _topics_of_dirs),
    Answer(BOTH, ("DescribeProducers",), "activeProducers", "it had producers of earlier conversations", _producers),
    Answer(BOTH, ("Fetch",), "records", "they hold the times and producer ids of a run", _records),
    Answer(
        ("4.3",),
        ("ListGroups",),
        "groups",
        "not all earlier conversations are recorded",
        _groups,
    ),
    Answer(
        ("4.3",),
        ("ShareFetch",),
        "control batches in records and acquiredRecords; times and producer ids",
        "a Kafka hands control batches out, Java's consumer acknowledges none, and the start offset stays before them; "
        "here they are archived when a read passes over them",
        _shared_records,
    ),
    Answer(
        ("4.3",),
        ("CreateTopics", "DescribeConfigs"),
        "configSource of min.insync.replicas",
        "with ELR on, a 4.3 sets it for all brokers when it is formatted; here ELR is off",
        _min_insync,
    ),
)


# Single cases: the codes that are answered in the place of the recorded ones.


class Case(NamedTuple):
    releases: tuple[str, ...]
    case: str
    kafka: str
    ours: str
    reason: str
    codes: list[Any]


_INVALID_RECORD = [[(".responses.partitionResponses.errorCode", 87)]]

CASES = (
    Case(
        ("4.3",),
        "Produce null records",
        "never answers, and serves nothing more on that connection",
        "INVALID_RECORD",
        "a client must not hang",
        _INVALID_RECORD,
    ),
    Case(
        ("3.3",),
        "Produce null records",
        "closes the connection, or answers UNKNOWN_SERVER_ERROR, or the answer of another request",
        "INVALID_RECORD",
        "a client must learn what is wrong",
        _INVALID_RECORD,
    ),
    Case(
        ("3.3",),
        "Produce empty records",
        "recorded as closed after the case before it; asked alone, INVALID_RECORD from version 3 on",
        "INVALID_RECORD",
        "the recording shows the damage of the case before it",
        _INVALID_RECORD,
    ),
)

# Cases that are not played by the general rule, by how their names begin.
UNPLAYED = {
    "two pipelined requests": "no requests are recorded; tests/unit/network has the order of answers",
    "SASL": "needs a SASL listener: played by a test of its own",
    "authorization failures": "ACLs are stored and described, and not enforced yet",
}

# Every request that Kafka's classes can write.
CLOSING = dict.fromkeys((29, 30, 31), "numbers that stand for nothing close the connection, as a Kafka does")
UNKNOWN_SERVER_ERROR = {
    3: "a topic with neither name nor id; a Kafka says the same",
    44: "a config operation that does not exist; a Kafka says the same",
}


# Found by asking a real 3.3.2, a real 4.3.0 and ours the same.


class Seen(NamedTuple):
    releases: tuple[str, ...]
    what: str
    kafka: str
    ours: str
    reason: str


SEEN = (
    Seen(
        BOTH,
        "ListOffsets by time, when a segment before the record is empty or below the log start",
        "no offset: it looks into one segment only, and takes the file time of an empty one for its newest record",
        "the first record at or after that time",
        "the record is there, and clients skip to the end without it",
    ),
    Seen(
        BOTH,
        "leader epochs after a kill",
        "a 3.3.2 on one node keeps the epoch",
        "each new incarnation of a broker bumps it",
        "clients must see that a tail may be lost",
    ),
    Seen(
        BOTH,
        "DescribeProducers after a recovery",
        "producers whose last record is older than producer.id.expiration.ms are gone at once",
        "they stay until the next check, at most ten minutes",
        "the times are the client's: a retry of old records must still be recognised",
    ),
    Seen(
        ("3.3",),
        "Fetch 0-3 with down-conversion",
        "fills up to the size of the unconverted batches with a message that has no end",
        "only the messages",
        "every client drops the filler",
    ),
    Seen(
        ("3.3",),
        "Produce 0-2 without any message",
        "no error, offset -1",
        "INVALID_RECORD",
        "nothing was written, and the client should know",
    ),
    Seen(
        BOTH,
        "InitProducerId on a broker that has just started",
        "a 4.3.0 answers COORDINATOR_LOAD_IN_PROGRESS to the first one",
        "waits for its block of ids",
        "clients retry either way",
    ),
    Seen(
        ("4.3",),
        "a transaction with offsets of a group whose time is over when the broker starts",
        "a 4.3.0 aborts it without a marker in __consumer_offsets: the offsets stay unstable for ever",
        "the marker is written there, too",
        "a group must be able to go on",
    ),
    Seen(
        ("4.3",),
        "tasks of a streams group that two processes could have as well",
        "go to the one that a hash map has first",
        "go to the one that is first by the ids of its members",
        "either is balanced",
    ),
    Seen(
        ("4.3",),
        "a topology of a streams group with more than 100,000 tasks",
        "is assigned",
        "STREAMS_INVALID_TOPOLOGY",
        "tasks are assigned in one turn of the reactor, in which nobody else is served",
    ),
    Seen(
        ("4.3",),
        "the first JoinGroup, without a member id, in an empty streams group",
        "leaves the streams group; the second makes it a classic one",
        "makes it a classic group",
        "the second follows at once",
    ),
    Seen(
        ("4.3",),
        "ShareFetch of a topic id that does not exist",
        "UNKNOWN_SERVER_ERROR for the whole request, and for the session from then on",
        "UNKNOWN_TOPIC_ID for that topic, as in Fetch",
        "the other topics are none the worse for it",
    ),
    Seen(
        ("4.3",),
        "ShareAcknowledge past what is in flight",
        "INVALID_RECORD_STATE up to the end of the batch, INVALID_REQUEST behind it; UNKNOWN_SERVER_ERROR if the "
        "offsets begin before the start offset and nothing is in flight",
        "INVALID_REQUEST, and INVALID_RECORD_STATE if nothing is in flight",
        "where the batch of a record that was not acquired ends is not kept",
    ),
    Seen(
        ("4.3",),
        "DescribeShareGroupOffsets of a partition that does not exist",
        "never answers",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "a client must not hang",
    ),
    Seen(
        ("4.3",),
        "WriteShareGroupState of a later leader",
        "the leader before it may still read and write; only a read of the later one fences it",
        "fences the leader before it",
        "two leaders must not write in turns",
    ),
    Seen(
        BOTH,
        "the words of error messages",
        "Kafka's",
        "our own, where the words are not part of a recorded answer",
        "codes are the contract, words are for people",
    ),
)


HEAD = """\
# Where we differ from Apache Kafka

Made by `make pages` from `tests/kits/differences.py`, which the golden tests compare by; do not edit it.

A broker of ours answers as a Kafka of the release that its data was formatted at: 3.3 like a 3.3.2, 4.3 like a 4.3.0.
The conversations, cases and log dirs of real brokers are replayed against both. What is not the same is here, and why.
APIs that are not served at all are in [gaps.md](gaps.md).
"""


def render() -> str:
    return "\n".join(
        [
            HEAD,
            "## Seen beside a real one\n",
            *_table(("release", "what", "Kafka", "here", "why"), [(_told(row.releases), *row[1:]) for row in SEEN]),
            "\n## Single cases\n",
            *_table(("release", "case", "Kafka", "here", "why"), [(_told(row.releases), *row[1:5]) for row in CASES]),
            "\n## Left out of the comparison of recorded conversations\n",
            *_table(
                ("release", "API", "field", "why"),
                [(_told(row.releases), ", ".join(row.apis), row.field, row.reason) for row in ANSWERS],
            ),
            "\n## Cases that are not played\n",
            *_table(("case", "why"), [(f"{name} ...", reason) for name, reason in UNPLAYED.items()]),
            "\n## Requests that get no proper answer\n",
            *_table(("API", "what", "why"), _improper()),
            "",
        ]
    )


def _improper() -> list[tuple[str, ...]]:
    closing = [(apis.by_key(key).message, "the connection is closed", why) for key, why in CLOSING.items()]
    unknown = [(apis.by_key(key).message, "UNKNOWN_SERVER_ERROR", why) for key, why in UNKNOWN_SERVER_ERROR.items()]
    return [*closing, *unknown]


def _told(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]
