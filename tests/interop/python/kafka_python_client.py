"""kafka-python through every scenario that it has."""

import contextlib
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.errors import KafkaError, for_code
from report import PASSWORD, USER, Where, run
from stories import Failed, Record, Stories

SECONDS_MAX = 10
PREFERRED = 0


NAMES = {
    "MessageSizeTooLargeError": "MESSAGE_TOO_LARGE",
    "TopicAlreadyExistsError": "TOPIC_ALREADY_EXISTS",
    "InvalidTopicError": "INVALID_TOPIC_EXCEPTION",
    "InvalidConfigurationError": "INVALID_CONFIG",
    "InvalidConfigError": "INVALID_CONFIG",
    "UnknownTopicOrPartitionError": "UNKNOWN_TOPIC_OR_PARTITION",
    "InvalidPartitionsError": "INVALID_PARTITIONS",
    "ElectionNotNeededError": "ELECTION_NOT_NEEDED",
    "InvalidReplicationAssignmentError": "INVALID_REPLICA_ASSIGNMENT",
}


@contextlib.contextmanager
def failures(listener="plaintext"):
    """kafka-python names its exceptions after Kafka's errors."""
    try:
        yield
    except KafkaError as error:
        name = type(error).__name__
        if name == "KafkaTimeoutError" and "sasl" in listener:
            # An answer that the end of the connection follows is lost on it, whichever broker it talks to, so that it
            # cannot know why it was refused and tries until its time is up.
            name = "SASL_AUTHENTICATION_FAILED"
        raise Failed(NAMES.get(name, name)) from error


class KafkaPython:
    name = "kafka-python"

    def __init__(self, where):
        self.where = where
        self._admin = KafkaAdminClient(**self._at("plaintext"))

    def _at(self, listener, password=PASSWORD):
        config = {"bootstrap_servers": self.where.addresses[listener]}
        if "ssl" in listener:
            config["ssl_cafile"] = self.where.ca
        if "sasl" in listener:
            config |= {"sasl_mechanism": "PLAIN", "sasl_plain_username": USER, "sasl_plain_password": password}
        protocols = {"plaintext": "PLAINTEXT", "ssl": "SSL", "sasl": "SASL_PLAINTEXT", "sasl_ssl": "SASL_SSL"}
        return {**config, "security_protocol": protocols[listener]}

    # Records

    def produce(
        self, topic, records, codec="none", idempotent=False, acks="all", listener="plaintext", password=PASSWORD
    ):
        with failures(listener):
            producer = KafkaProducer(
                **self._at(listener, password),
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                acks=acks,
                linger_ms=5,
                max_in_flight_requests_per_connection=5 if idempotent else 1,  # what is sent again keeps its place
                max_request_size=10_000_000,
                max_block_ms=5_000,
                bootstrap_timeout_ms=3_000,
            )
            try:
                sent = [self._send(producer, topic, record) for record in records]
                producer.flush(SECONDS_MAX)
                offsets = [future.get(SECONDS_MAX).offset for future in sent]
            finally:
                producer.close(timeout=5)
        return None if acks == 0 else offsets

    def _send(self, producer, topic, record):
        more = {"partition": record.partition, "timestamp_ms": record.timestamp}
        return producer.send(topic, record.value, record.key, headers=list(record.headers), **more)

    def consume(self, topic, partition, start, count, **how):
        return self._consume(topic, [partition], start, count, **how)

    def consume_all(self, topic, partitions, count):
        return self._consume(topic, range(partitions), "beginning", count)

    def _consume(
        self,
        topic,
        partitions,
        start,
        count,
        once_there=None,
        wait_ms=500,
        isolation="read_uncommitted",
        reset="none",
        listener="plaintext",
    ):
        consumer = KafkaConsumer(
            **self._at(listener),
            enable_auto_commit=False,
            fetch_max_wait_ms=wait_ms,
            isolation_level=isolation,
            auto_offset_reset=reset,
        )
        with contextlib.closing(consumer), failures():
            wanted = [TopicPartition(topic, partition) for partition in partitions]
            consumer.assign(wanted)
            if count is None:
                count = sum(consumer.end_offsets(wanted).values())
            self._seek(consumer, wanted, start)
            if once_there:
                consumer.poll(200)
                once_there()
            return self._polled(consumer, count)

    def _seek(self, consumer, wanted, start):
        for partition in wanted:
            if start == "beginning":
                consumer.seek_to_beginning(partition)
            elif start == "end":
                consumer.seek(partition, consumer.end_offsets([partition])[partition])
            elif isinstance(start, tuple):
                consumer.seek(partition, consumer.offsets_for_times({partition: start[1]})[partition].offset)
            else:
                consumer.seek(partition, start)

    def _polled(self, consumer, count):
        found, deadline = [], time.monotonic() + SECONDS_MAX
        while len(found) < count and time.monotonic() < deadline:
            for messages in consumer.poll(200).values():
                found += map(_record, messages)
        return found

    # Admin

    def create_topic(self, name, partitions, configs):
        with failures():
            self._admin.create_topics([NewTopic(name, partitions, 1, topic_configs=configs)])

    def delete_topic(self, name):
        with failures():
            self._admin.delete_topics([name])

    def create_partitions(self, name, total):
        with failures():
            self._admin.create_partitions({name: NewPartitions(total)})

    def topics(self):
        return self._admin.list_topics()

    def partitions_of(self, name):
        return len(self.describe_topic(name))

    def describe_topic(self, name):
        (topic,) = self._admin.describe_topics([name])
        found = [
            (part["partition_index"], part["leader_id"], part["replica_nodes"], part["isr_nodes"])
            for part in topic["partitions"]
        ]
        return sorted(found)

    def topic_configs(self, name):
        return self._configs(ConfigResourceType.TOPIC, name)

    def broker_configs(self, name):
        return self._configs(ConfigResourceType.BROKER, name)

    def _configs(self, kind, name):
        found = self._admin.describe_configs([ConfigResource(kind, name)], config_filter="all")
        return {key: entry["value"] for key, entry in found[kind.name.lower()][name].items()}

    def alter_topic_configs(self, name, changes):
        resource = ConfigResource(ConfigResourceType.TOPIC, name, configs=changes)
        self._admin.alter_configs([resource], incremental=True)

    def delete_records(self, topic, offset):
        (found,) = self._admin.delete_records({TopicPartition(topic, 0): offset}).values()
        return found["low_watermark"]

    def list_offset(self, topic, spec):
        known = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST}
        partition = TopicPartition(topic, 0)
        return self._admin.list_partition_offsets({partition: known.get(spec, spec)})[partition].offset

    def describe_cluster(self):
        found = self._admin.describe_cluster()
        nodes = [(node["broker_id"], f"{node['host']}:{node['port']}") for node in found["brokers"]]
        return found["cluster_id"], nodes, found["controller_id"]

    def log_size(self, topic):
        found = self._admin.describe_log_dirs({topic: [0]})
        topics = [each for answer in found for one in answer["log_dirs"] for each in one["topics"]]
        return sum(part["partition_size"] for each in topics if each["name"] == topic for part in each["partitions"])

    def create_acl(self, topic, principal):
        pattern = ResourcePattern(ResourceType.TOPIC, topic)
        self._admin.create_acls([ACL(principal, "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)])

    def acl_principals(self, topic):
        return [acl.principal for acl in self._admin.describe_acls(self._any(topic))[0]]

    def delete_acls(self, topic):
        return sum(len(acls) for _, acls, _ in self._admin.delete_acls([self._any(topic)]))

    def _any(self, topic):
        pattern = ResourcePatternFilter(ResourceType.TOPIC, topic, ACLResourcePatternType.LITERAL)
        return ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)

    def put_scram(self, user):
        upsertion = UserScramCredentialUpsertion(user, ScramMechanism.SCRAM_SHA_256, "secret", iterations=4096)
        self._admin.alter_user_scram_credentials([upsertion])

    def scram_of(self, user):
        infos = self._admin.describe_user_scram_credentials([user])[user]["credential_infos"]
        return [(ScramMechanism(info["mechanism"]).name, info["iterations"]) for info in infos]

    def quorum(self):
        (log,) = self._admin.describe_metadata_quorum()["topics"][0]["partitions"]
        return log["leader_id"], [voter["replica_id"] for voter in log["current_voters"]]

    def finalized_feature(self, name):
        return self._admin.describe_features()[name]["finalized"][1]

    def last_sequences(self, topic):
        (found,) = self._admin.describe_producers([TopicPartition(topic, 0)]).values()
        return [producer.last_sequence for producer in found.active_producers]

    def elect_leader(self, topic):
        """It takes what no election can mend for a success, so that the answer itself is looked at."""
        (answer,) = self._admin.elect_leaders(PREFERRED, {topic: [0]}).replica_election_results
        with failures():
            raise for_code(answer.partition_result[0].error_code)

    def reassign(self, topic, node):
        (error,) = self._admin.alter_partition_reassignments({TopicPartition(topic, 0): [node]}).values()
        if error is not None:
            with failures():
                raise error

    def reassignments(self):
        return self._admin.list_partition_reassignments()


def _record(message):
    headers = tuple((name, value) for name, value in message.headers)
    return Record(message.value, message.key, headers, message.timestamp, message.partition, message.offset)


if __name__ == "__main__":
    where = Where(sys.argv[1:])
    run(Stories(KafkaPython(where)).scenarios(), where)
