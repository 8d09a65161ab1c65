"""The scenarios, told once for every client that Python can drive: an adapter says how this client does a thing.

What a client lacks its adapter has no method for; `../scenarios.py` knows which scenarios are not asked of it.
"""

import threading
import time
import uuid
from typing import Any, NamedTuple

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 200
LONG_WAIT_MS = 10_000  # of a fetch that has nothing to answer with
TAIL_S_MAX = 4.0  # well under the long wait: the record itself must have ended it
MANY_PARTITIONS = 100
LARGE_BYTES = 1_000_000
TOO_LARGE_BYTES = 2_000_000


class Record(NamedTuple):
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int | None = None
    offset: int | None = None


class Failed(Exception):  # noqa: N818 - a client's own failure, in one type for all of them
    """What the adapter raises when the broker or the client refused; `name` is Kafka's name of the error."""

    def __init__(self, name: str):
        super().__init__(name)
        self.name = name


def equal(found: Any, expected: Any) -> None:
    assert found == expected, f"found {str(found)[:300]}, expected {str(expected)[:300]}"


def fails_with(name: str, action: Any) -> None:
    try:
        action()
    except Failed as failed:
        equal(failed.name, name)
    else:
        raise AssertionError(f"{name} was expected")


def some(count: int = RECORDS, size: int = 40) -> list[Record]:
    return [Record(b"value %05d " % number + b"x" * (size - 12), b"key %d" % (number % 7)) for number in range(count)]


class Stories:
    def __init__(self, client: Any) -> None:
        self.client = client
        self.scenario = ""  # the one that is told now

    def scenarios(self) -> dict[str, Any]:
        """By name; `codec_gzip` is told as `codec-gzip`."""
        found = {f"codec-{codec}": (lambda codec=codec: self.codec(codec)) for codec in CODECS}
        for name in dir(self):
            kind, _, rest = name.partition("_")
            if kind in ("p", "c", "a", "s"):
                found[rest.replace("_", "-")] = getattr(self, name)
        return {name: (lambda name=name, story=story: self._tell(name, story)) for name, story in found.items()}

    def _tell(self, name: str, story: Any) -> None:
        self.scenario = name
        story()

    # What the stories share

    def topic(self, partitions: int = 1, **configs: str) -> str:
        name = f"{self.client.name}.{self.scenario}.{uuid.uuid4().hex[:10]}"
        configs = {name.replace("_", "."): value for name, value in configs.items()}
        self.client.create_topic(name, partitions, configs)
        return name

    def filled(self, count: int = RECORDS) -> str:
        """A topic with records whose timestamps are 1,000 ms apart."""
        topic = self.topic(retention_ms="-1")
        self.client.produce(topic, [Record(b"%d" % n, b"k", (), 1_600_000_000_000 + 1000 * n) for n in range(count)])
        return topic

    def there_and_back(self, records: list[Record], configs: dict[str, str] | None = None, **how: Any) -> list[Record]:
        topic = self.topic(**(configs or {}))
        offsets = self.client.produce(topic, records, **how)
        if offsets is not None:
            equal(offsets, list(range(len(records))))
        found = self.client.consume(topic, 0, "beginning", len(records))
        equal([record.offset for record in found], list(range(len(records))))
        equal([(record.key, record.value) for record in found], [(record.key, record.value) for record in records])
        return found

    # Producing

    def codec(self, codec: str) -> None:
        self.there_and_back(some(), codec=codec)
        self.there_and_back([Record(b"z" * 200_000), *some(20)], codec=codec)

    def p_broker_recompresses(self) -> None:
        self.there_and_back(some(), {"compression_type": "zstd"}, codec="gzip")
        self.there_and_back(some(), {"compression_type": "uncompressed"}, codec="gzip")

    def p_idempotent(self) -> None:
        self.there_and_back(some(), idempotent=True)

    def p_headers(self) -> None:
        headers = (("first", b"1"), ("second", b""), ("first", "ünïcode".encode()))
        found = self.there_and_back([Record(b"v", b"k", headers), Record(b"w", b"k")])
        equal([record.headers for record in found], [headers, ()])

    def p_timestamps(self) -> None:
        stamps = [1_600_000_000_000, 1_600_000_005_000, 1_500_000_000_000]
        found = self.there_and_back([Record(b"v", b"k", (), stamp) for stamp in stamps], {"retention_ms": "-1"})
        equal([record.timestamp for record in found], stamps)

    def p_log_append_time(self) -> None:
        before = int(time.time() * 1000)
        record = Record(b"v", b"k", (), 1_600_000_000_000)
        found = self.there_and_back([record], {"message_timestamp_type": "LogAppendTime"})
        assert before <= found[0].timestamp <= int(time.time() * 1000), found[0]

    def p_keys(self) -> None:
        """Records of one key meet in one partition, in order; others go elsewhere."""
        topic = self.topic(partitions=3)
        self.client.produce(topic, some())
        found = [
            record for partition in range(3) for record in self.client.consume(topic, partition, "beginning", None)
        ]
        equal(sorted(record.value for record in found), sorted(record.value for record in some()))
        homes = {(record.key, record.partition) for record in found}
        equal(len(homes), 7)
        assert len({partition for _, partition in homes}) > 1, homes

    def p_null_values(self) -> None:
        self.there_and_back([Record(None, b"gone"), Record(b"", b"empty"), Record(b"unkeyed", None)])

    def p_acks_0(self) -> None:
        """After one record that was acknowledged: a leader that is not ready yet drops what asks for no answer."""
        topic = self.topic()
        self.client.produce(topic, some(1))
        self.client.produce(topic, some(20), acks=0)
        equal(len(self.client.consume(topic, 0, "beginning", 21)), 21)

    def p_acks_1(self) -> None:
        self.there_and_back(some(20), acks=1)

    def p_acks_all(self) -> None:
        self.there_and_back(some(20), acks="all")

    def p_large_record(self) -> None:
        self.there_and_back([Record(b"0123456789" * (LARGE_BYTES // 10), b"k"), *some(5)])

    def p_too_large(self) -> None:
        topic = self.filled(1)
        fails_with("MESSAGE_TOO_LARGE", lambda: self.client.produce(topic, [Record(b"x" * TOO_LARGE_BYTES)]))

    def p_many_partitions(self) -> None:
        topic = self.topic(partitions=MANY_PARTITIONS)
        records = [Record(b"%d" % partition, None, (), None, partition) for partition in range(MANY_PARTITIONS)]
        self.client.produce(topic, records)
        found = self.client.consume_all(topic, MANY_PARTITIONS, MANY_PARTITIONS)
        equal(sorted((record.partition, record.value) for record in found), [(n, b"%d" % n) for n in range(100)])

    # Consuming

    def c_from_beginning(self) -> None:
        found = self.client.consume(self.filled(), 0, "beginning", RECORDS)
        equal([record.offset for record in found], list(range(RECORDS)))

    def c_from_end(self) -> None:
        topic = self.filled(10)
        produce = lambda: self.client.produce(topic, [Record(b"new")])  # noqa: E731
        found = self.client.consume(topic, 0, "end", 1, once_there=produce)
        equal([(record.offset, record.value) for record in found], [(10, b"new")])

    def c_by_offset(self) -> None:
        found = self.client.consume(self.filled(), 0, 150, 50)
        equal([record.offset for record in found], list(range(150, 200)))

    def c_by_timestamp(self) -> None:
        found = self.client.consume(self.filled(), 0, ("timestamp", 1_600_000_000_000 + 99_500), 10)
        equal([record.offset for record in found[:10]], list(range(100, 110)))

    def c_tail(self) -> None:
        """A fetch that waits is answered when the record comes, not when its time is up."""
        topic = self.filled(1)
        sent_at: list[float] = []

        def produce() -> None:
            def later() -> None:
                time.sleep(1.0)  # the scenario is a consumer that already waits; nothing tells when it does
                sent_at.append(time.monotonic())
                self.client.produce(topic, [Record(b"at last")])

            threading.Thread(target=later).start()

        found = self.client.consume(topic, 0, "end", 1, once_there=produce, wait_ms=LONG_WAIT_MS)
        took = time.monotonic() - sent_at[0]
        equal(found[0].value, b"at last")
        assert took < TAIL_S_MAX, f"the record was there after {took:.1f} s"

    def c_read_committed(self) -> None:
        found = self.client.consume(self.filled(20), 0, "beginning", 20, isolation="read_committed")
        equal(len(found), 20)

    def c_out_of_range(self) -> None:
        found = self.client.consume(self.filled(5), 0, 1_000_000, 5, reset="earliest")
        equal([record.offset for record in found], list(range(5)))

    # Administering

    def a_create_topic(self) -> None:
        topic = self.topic(partitions=2)
        equal(self.client.partitions_of(topic), 2)
        fails_with("TOPIC_ALREADY_EXISTS", lambda: self.client.create_topic(topic, 2, {}))
        fails_with("INVALID_TOPIC_EXCEPTION", lambda: self.client.create_topic("no spaces please", 1, {}))
        fails_with("INVALID_CONFIG", lambda: self.client.create_topic("bad-config", 1, {"retention.ms": "soon"}))

    def a_describe_topic(self) -> None:
        topic = self.topic(partitions=2)
        equal(self.client.describe_topic(topic), [(0, 1, [1], [1]), (1, 1, [1], [1])])

    def a_delete_topic(self) -> None:
        topic = self.topic()
        self.client.delete_topic(topic)
        assert topic not in self.client.topics()
        fails_with("UNKNOWN_TOPIC_OR_PARTITION", lambda: self.client.delete_topic(topic))

    def a_create_partitions(self) -> None:
        topic = self.topic()
        self.client.create_partitions(topic, 4)
        equal(self.client.partitions_of(topic), 4)
        fails_with("INVALID_PARTITIONS", lambda: self.client.create_partitions(topic, 2))

    def a_describe_configs(self) -> None:
        configs = self.client.topic_configs(self.topic(retention_ms="60000"))
        equal((configs["retention.ms"], configs["cleanup.policy"]), ("60000", "delete"))
        equal(self.client.broker_configs("1")["node.id"], "1")

    def a_alter_configs(self) -> None:
        """Incrementally: what is not named stays."""
        topic = self.topic(retention_ms="60000")
        self.client.alter_topic_configs(topic, {"cleanup.policy": "compact"})
        configs = self.client.topic_configs(topic)
        equal((configs["retention.ms"], configs["cleanup.policy"]), ("60000", "compact"))

    def a_replace_configs(self) -> None:
        """The old way: what is not named is gone."""
        topic = self.topic(retention_ms="60000")
        self.client.replace_topic_configs(topic, {"cleanup.policy": "compact"})
        configs = self.client.topic_configs(topic)
        equal((configs["retention.ms"], configs["cleanup.policy"]), ("604800000", "compact"))

    def a_delete_records(self) -> None:
        topic = self.filled(20)
        equal(self.client.delete_records(topic, 15), 15)
        found = self.client.consume(topic, 0, "beginning", 5)
        equal([record.offset for record in found], list(range(15, 20)))

    def a_list_offsets(self) -> None:
        topic = self.filled(20)
        asked = ["earliest", "latest", 1_600_000_000_000 + 4_500]
        equal([self.client.list_offset(topic, spec) for spec in asked], [0, 20, 5])

    def a_describe_cluster(self) -> None:
        cluster_id, nodes, controller = self.client.describe_cluster()
        if cluster_id is not None:
            equal(len(cluster_id), 22)
        equal([node for node, _ in nodes], [1])
        equal(nodes[0][1], self.client.where.addresses["plaintext"])
        equal(controller, 1)

    def a_log_dirs(self) -> None:
        topic = self.filled(20)
        assert self.client.log_size(topic) > 0

    def a_acls(self) -> None:
        topic = f"acl-{uuid.uuid4().hex[:8]}"
        self.client.create_acl(topic, "User:bob")
        equal(self.client.acl_principals(topic), ["User:bob"])
        equal(self.client.delete_acls(topic), 1)
        equal(self.client.acl_principals(topic), [])

    def a_scram_credentials(self) -> None:
        user = f"user-{uuid.uuid4().hex[:8]}"
        self.client.put_scram(user)
        equal(self.client.scram_of(user), [("SCRAM_SHA_256", 4096)])

    def a_quorum(self) -> None:
        equal(self.client.quorum(), (1, [1]))

    def a_features(self) -> None:
        level = self.client.finalized_feature("metadata.version")
        assert level == 7 if self.client.where.release == "3.3" else level > 7, level

    def a_producers(self) -> None:
        topic = self.topic()
        self.client.produce(topic, some(5), idempotent=True)
        equal(self.client.last_sequences(topic), [4])

    def a_elect_leaders(self) -> None:
        topic = self.topic()
        fails_with("ELECTION_NOT_NEEDED", lambda: self.client.elect_leader(topic))

    def a_reassignments(self) -> None:
        topic = self.topic()
        self.client.reassign(topic, 1)
        equal(self.client.reassignments(), {})
        fails_with("INVALID_REPLICA_ASSIGNMENT", lambda: self.client.reassign(topic, 9))

    # Security

    def s_tls(self) -> None:
        self._through("ssl")

    def s_sasl_plain(self) -> None:
        self._through("sasl")

    def s_sasl_plain_over_tls(self) -> None:
        self._through("sasl_ssl")

    def s_sasl_plain_wrong(self) -> None:
        """A wrong password is refused, and the client says that this is the reason."""
        topic = self.topic()
        attempt = lambda: self.client.produce(topic, [Record(b"v")], listener="sasl", password="wrong")  # noqa: E731
        fails_with("SASL_AUTHENTICATION_FAILED", attempt)

    def _through(self, listener: str) -> None:
        topic = self.topic()
        self.client.produce(topic, some(50), listener=listener)
        equal(len(self.client.consume(topic, 0, "beginning", 50, listener=listener)), 50)
