"""What is asked of every client, and where one cannot: the single source of `test_clients.py`, `test_members.py` and of
the page `docs/compatibility.md`.
"""

from typing import NamedTuple

RELEASES = ("4.3", "3.3")


class Scenario(NamedTuple):
    name: str
    what: str


PRODUCE = [
    Scenario("codec-none", "produce, uncompressed"),
    Scenario("codec-gzip", "produce, gzip"),
    Scenario("codec-snappy", "produce, snappy"),
    Scenario("codec-lz4", "produce, lz4"),
    Scenario("codec-zstd", "produce, zstd"),
    Scenario("broker-recompresses", "`compression.type` of the topic differs from the producer's"),
    Scenario("idempotent", "idempotent producer"),
    Scenario("headers", "headers"),
    Scenario("timestamps", "timestamps of the producer"),
    Scenario("log-append-time", "`message.timestamp.type=LogAppendTime`"),
    Scenario("keys", "keys: one key, one partition"),
    Scenario("null-values", "null and empty values, null keys"),
    Scenario("acks-0", "acks=0"),
    Scenario("acks-1", "acks=1"),
    Scenario("acks-all", "acks=all"),
    Scenario("large-record", "a record of 1 MB"),
    Scenario("too-large", "a record of 2 MB is refused"),
    Scenario("many-partitions", "100 partitions at once"),
]
CONSUME = [
    Scenario("from-beginning", "from the beginning"),
    Scenario("from-end", "from the end"),
    Scenario("by-offset", "from an offset"),
    Scenario("by-timestamp", "from a point in time"),
    Scenario("tail", "tail: a long poll ends when a record comes"),
    Scenario("read-committed", "`isolation.level=read_committed`"),
    Scenario("out-of-range", "an offset that is not there"),
]
ADMIN = [
    Scenario("create-topic", "create topics; bad names and configs are refused"),
    Scenario("describe-topic", "describe topics"),
    Scenario("delete-topic", "delete topics"),
    Scenario("create-partitions", "add partitions"),
    Scenario("describe-configs", "describe configs of topics and brokers"),
    Scenario("alter-configs", "alter configs, incrementally"),
    Scenario("replace-configs", "alter configs, the old way: all at once"),
    Scenario("delete-records", "delete records"),
    Scenario("list-offsets", "list offsets"),
    Scenario("describe-cluster", "describe the cluster"),
    Scenario("log-dirs", "describe log dirs"),
    Scenario("acls", "create, describe and delete ACLs"),
    Scenario("quotas", "alter and describe client quotas"),
    Scenario("scram-credentials", "alter and describe SCRAM credentials"),
    Scenario("quorum", "describe the metadata quorum"),
    Scenario("features", "describe features"),
    Scenario("producers", "describe producers"),
    Scenario("elect-leaders", "elect leaders"),
    Scenario("reassignments", "reassign partitions"),
    Scenario("groups", "list, describe and delete groups, remove members; list, alter and delete offsets"),
    Scenario("transactions", "list, describe and abort transactions; fence producers"),
]
SECURITY = [
    Scenario("tls", "TLS"),
    Scenario("sasl-plain", "SASL/PLAIN"),
    Scenario("sasl-plain-over-tls", "SASL/PLAIN over TLS"),
    Scenario("sasl-plain-wrong", "SASL/PLAIN with a wrong password is refused"),
]
# In `test_members.py`: members join, leave, are killed; a static one comes back without a rebalance.
IN_GROUPS = [
    Scenario("group-range", "classic protocol, range assignor"),
    Scenario("group-roundrobin", "classic protocol, roundrobin assignor"),
    Scenario("group-sticky", "classic protocol, sticky assignor"),
    Scenario("group-cooperative-sticky", "classic protocol, cooperative-sticky assignor"),
    Scenario("group-consumer", "consumer protocol (KIP-848), uniform assignor"),
    Scenario("group-consumer-range", "consumer protocol, range assignor"),
    Scenario("group-consumer-pattern", "consumer protocol, a pattern that the broker matches"),
]
COPYING = [
    Scenario("exactly-once", "consume, transform, produce, with one that is killed: every record once"),
    Scenario("zombie", "a producer that was paused and replaced is fenced"),
]
HOW_TO_JOIN: dict[str, dict[str, str]] = {
    **{f"group-{name}": {"assignor": name} for name in ("range", "roundrobin", "sticky", "cooperative-sticky")},
    "group-consumer": {"protocol": "consumer", "assignor": "uniform"},
    "group-consumer-range": {"protocol": "consumer", "assignor": "range"},
    "group-consumer-pattern": {"protocol": "consumer"},
}
ALONE = {"Producing": PRODUCE, "Consuming": CONSUME, "Administering": ADMIN, "Security": SECURITY}
SCENARIOS = [scenario for group in ALONE.values() for scenario in group]
GROUPS = {**ALONE, "Consuming in groups": IN_GROUPS, "Transactions": COPYING}
ALL = [scenario for group in GROUPS.values() for scenario in group]

# Clients, in the order of the page's columns.
CLIENTS = (
    *("java-4.3.0", "java-3.3.2", "confluent-kafka", "kafka-python", "aiokafka", "kafkajs", "@platformatic/kafka"),
    "kcat",
)

_NO_METHOD = "the client has no method for it"
_NOT_ASKED = "not asked of this client: the Java client has shown it"
_OF_COORDINATORS = ("groups", "transactions")
_RARE_ADMIN = ("quorum", "features", "producers", "elect-leaders", "reassignments", *_OF_COORDINATORS)
_SOME_OF_IT = "the client has methods for a part of it"
_JAVASCRIPT = {
    "scram-credentials": _NO_METHOD,
    **dict.fromkeys(_RARE_ADMIN, _NO_METHOD),
}
_JAVA = {"replace-configs": "the Java 4 client has dropped it, and one program serves both"}

LACKS: dict[str, dict[str, str]] = {
    "java-4.3.0": _JAVA,
    "java-3.3.2": _JAVA,
    "confluent-kafka": {
        "log-dirs": _NO_METHOD,
        "quotas": _NO_METHOD,
        **dict.fromkeys(_RARE_ADMIN, _NO_METHOD),
        "groups": _SOME_OF_IT,
    },
    "kafka-python": {
        "replace-configs": "it fills in what was not named, so that nothing is replaced",
        "quotas": _NO_METHOD,
        **dict.fromkeys(_OF_COORDINATORS, _NOT_ASKED),
    },
    "aiokafka": {
        **dict.fromkeys(
            ("alter-configs", "list-offsets", "log-dirs", "acls", "quotas", "scram-credentials", *_RARE_ADMIN),
            _NO_METHOD,
        ),
        "groups": _SOME_OF_IT,
    },
    "kafkajs": {
        **_JAVASCRIPT,
        **dict.fromkeys(("alter-configs", "log-dirs", "quotas"), _NO_METHOD),
        "groups": _SOME_OF_IT,
    },
    "@platformatic/kafka": {
        **_JAVASCRIPT,
        "log-append-time": "it does not look at a batch's kind of timestamp",
        "groups": _NOT_ASKED,
    },
    "kcat": {
        "timestamps": "it stamps records itself",
        "many-partitions": "it writes to one partition per run",
        **dict.fromkeys(("broker-recompresses", "log-append-time"), "it sets no configs of topics"),
        **dict.fromkeys((each.name for each in ADMIN), _NO_METHOD),
    },
}
for _shown in ("describe-topic", "describe-cluster", "list-offsets"):
    del LACKS["kcat"][_shown]  # -L and -Q
del LACKS["confluent-kafka"]["elect-leaders"], LACKS["kafkajs"]["reassignments"]

_MEMBERS = [scenario.name for scenario in (*IN_GROUPS, *COPYING)]
_NO_PROTOCOL = "the client has the classic protocol only"
_NO_ASSIGNOR = "the client has no such assignor"
for _client, _lacking in {
    "java-3.3.2": dict.fromkeys((name for name in _MEMBERS if "consumer" in name), _NO_PROTOCOL),
    "confluent-kafka": {"group-sticky": _NO_ASSIGNOR},
    "kafka-python": dict.fromkeys((name for name in _MEMBERS if "consumer" in name), _NO_PROTOCOL),
    "aiokafka": {
        **dict.fromkeys((name for name in _MEMBERS if "consumer" in name), _NO_PROTOCOL),
        "group-cooperative-sticky": _NO_ASSIGNOR,
    },
    **{name: dict.fromkeys(_MEMBERS, _NOT_ASKED) for name in ("kafkajs", "@platformatic/kafka", "kcat")},
}.items():
    LACKS[_client] = {**LACKS[_client], **_lacking}

# What a client cannot do with a broker of one release alone.
LACKS_AT: dict[tuple[str, str], dict[str, str]] = {
    (client, "3.3"): {"scram-credentials": "a 3.3 in KRaft mode has no SCRAM credentials"}
    for client in ("java-4.3.0", "java-3.3.2", "confluent-kafka", "kafka-python")
}
for _client in ("java-4.3.0", "confluent-kafka"):
    for _name in _MEMBERS:
        if "consumer" in _name:
            LACKS_AT[_client, "3.3"][_name] = "a 3.3 has the classic protocol only"
LACKS_AT["kafka-python", "3.3"]["describe-cluster"] = "it trips over DescribeCluster 0, which has no endpoint type"
LACKS_AT["kafka-python", "3.3"]["quorum"] = "it trips over DescribeQuorum 1, which has no error message"


def cases(scenarios: list[Scenario]) -> list[tuple[str, str, str]]:
    """Client, release and scenario, wherever a client must do it: none of them is a test to be skipped."""
    named = [(client, release, each.name) for client in CLIENTS for release in RELEASES for each in scenarios]
    return [case for case in named if why_not(*case) is None]


def why_not(client: str, release: str, scenario: str) -> str | None:
    """Why this client does not do this scenario with a broker of this release; None if it must."""
    return LACKS[client].get(scenario) or LACKS_AT.get((client, release), {}).get(scenario)
