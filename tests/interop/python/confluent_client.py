"""confluent-kafka (librdkafka) through every scenario that it has."""

import sys
import time

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ElectionType,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from report import PASSWORD, USER, Where, run
from stories import Failed, Record, Stories

SECONDS_MAX = 10
NAMES = {
    KafkaError.MSG_SIZE_TOO_LARGE: "MESSAGE_TOO_LARGE",
    KafkaError.TOPIC_EXCEPTION: "INVALID_TOPIC_EXCEPTION",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "UNKNOWN_TOPIC_OR_PARTITION",
    KafkaError._AUTHENTICATION: "SASL_AUTHENTICATION_FAILED",
}


def failed(error):
    error = error.args[0] if isinstance(error, KafkaException) else error
    return Failed(NAMES.get(error.code(), error.name()))


class Confluent:
    name = "confluent"

    def __init__(self, where):
        self.where = where
        self._admin = AdminClient(self._at("plaintext"))

    def _at(self, listener, password=PASSWORD, **more):
        config = {"bootstrap.servers": self.where.addresses[listener], **more}
        if "ssl" in listener:
            config["ssl.ca.location"] = self.where.ca
        if "sasl" in listener:
            config.update({"sasl.mechanism": "PLAIN", "sasl.username": USER, "sasl.password": password})
        protocols = {"plaintext": "PLAINTEXT", "ssl": "SSL", "sasl": "SASL_PLAINTEXT", "sasl_ssl": "SASL_SSL"}
        return {**config, "security.protocol": protocols[listener]}

    # Records

    def produce(
        self, topic, records, codec="none", idempotent=False, acks="all", listener="plaintext", password=PASSWORD
    ):
        errors, offsets = [], []
        producer = Producer(
            {
                **self._at(listener, password, error_cb=errors.append),
                "compression.type": codec,
                "enable.idempotence": idempotent,
                "acks": acks,
                "linger.ms": 5,
                "message.max.bytes": 10_000_000,
                "partitioner": "murmur2_random",
                "max.in.flight": 1 if not idempotent else 5,  # what is sent again keeps its place
            }
        )

        def delivered(error, message):
            errors.append(error) if error else offsets.append(message.offset())

        for record in records:
            more = {} if record.partition is None else {"partition": record.partition}
            more |= {} if record.timestamp is None else {"timestamp": record.timestamp}
            headers = list(record.headers)
            producer.produce(topic, record.value, record.key, headers=headers, on_delivery=delivered, **more)
        deadline = time.monotonic() + SECONDS_MAX
        while len(producer) and time.monotonic() < deadline and not _fatal(errors):
            producer.poll(0.05)
        if _fatal(errors):
            producer.purge()
            raise failed(_fatal(errors))
        assert not len(producer), f"{len(producer)} records were not delivered: {errors}"
        return None if acks == 0 else offsets

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
        reset="error",
        listener="plaintext",
    ):
        consumer = Consumer(
            {
                **self._at(listener),
                "group.id": "unused",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": wait_ms,
                "isolation.level": isolation,
                "auto.offset.reset": reset,
            }
        )
        try:
            return self._assigned(consumer, topic, partitions, start, count, once_there)
        finally:
            consumer.close()

    def _assigned(self, consumer, topic, partitions, start, count, once_there):
        wanted = [TopicPartition(topic, partition) for partition in partitions]
        ends = [consumer.get_watermark_offsets(partition, SECONDS_MAX)[1] for partition in wanted]
        for partition, end in zip(wanted, ends, strict=True):
            partition.offset = self._offset(consumer, partition, start, end)
        consumer.assign(wanted)
        if once_there:
            consumer.poll(0.5)
            once_there()
        found, deadline = [], time.monotonic() + SECONDS_MAX
        count = sum(ends) if count is None else count
        while len(found) < count and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is not None:
                if message.error():
                    raise failed(message.error())
                found.append(_record(message))
        return found

    def _offset(self, consumer, partition, start, end):
        if isinstance(start, tuple):
            asked = TopicPartition(partition.topic, partition.partition, start[1])
            return consumer.offsets_for_times([asked], SECONDS_MAX)[0].offset
        return {"beginning": OFFSET_BEGINNING, "end": end}.get(start, start)

    # Admin

    def _done(self, futures):
        try:
            return [future.result(SECONDS_MAX) for future in futures.values()]
        except KafkaException as error:
            raise failed(error) from error

    def create_topic(self, name, partitions, configs):
        self._done(self._admin.create_topics([NewTopic(name, partitions, 1, config=configs)]))

    def delete_topic(self, name):
        self._done(self._admin.delete_topics([name]))

    def create_partitions(self, name, total):
        self._done(self._admin.create_partitions([NewPartitions(name, total)]))

    def topics(self):
        return self._admin.list_topics(timeout=SECONDS_MAX).topics

    def partitions_of(self, name):
        return len(self.topics()[name].partitions)

    def describe_topic(self, name):
        (described,) = self._done(self._admin.describe_topics(TopicCollection([name])))
        return [
            (part.id, part.leader.id, [node.id for node in part.replicas], [node.id for node in part.isr])
            for part in described.partitions
        ]

    def topic_configs(self, name):
        return self._configs(ResourceType.TOPIC, name)

    def broker_configs(self, name):
        return self._configs(ResourceType.BROKER, name)

    def _configs(self, kind, name):
        (entries,) = self._done(self._admin.describe_configs([ConfigResource(kind, name)]))
        return {entry.name: entry.value for entry in entries.values()}

    def alter_topic_configs(self, name, changes):
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        self._done(self._admin.incremental_alter_configs([resource]))

    def replace_topic_configs(self, name, configs):
        self._done(self._admin.alter_configs([ConfigResource(ResourceType.TOPIC, name, set_config=configs)]))

    def delete_records(self, topic, offset):
        return self._done(self._admin.delete_records([TopicPartition(topic, 0, offset)]))[0].low_watermark

    def list_offset(self, topic, spec):
        known = {"earliest": OffsetSpec.earliest(), "latest": OffsetSpec.latest()}
        asked = known[spec] if spec in known else OffsetSpec.for_timestamp(spec)
        return self._done(self._admin.list_offsets({TopicPartition(topic, 0): asked}))[0].offset

    def describe_cluster(self):
        found = self._admin.describe_cluster().result(SECONDS_MAX)
        nodes = [(node.id, f"{node.host}:{node.port}") for node in found.nodes]
        return found.cluster_id, nodes, found.controller.id

    def create_acl(self, topic, principal):
        self._done(self._admin.create_acls([AclBinding(*self._rule(topic, principal))]))

    def acl_principals(self, topic):
        found = self._admin.describe_acls(self._any(topic)).result(SECONDS_MAX)
        return [rule.principal for rule in found]

    def delete_acls(self, topic):
        return len(self._done(self._admin.delete_acls([self._any(topic)]))[0])

    def _rule(self, topic, principal):
        kind, pattern = ResourceType.TOPIC, ResourcePatternType.LITERAL
        return kind, topic, pattern, principal, "*", AclOperation.READ, AclPermissionType.ALLOW

    def _any(self, topic):
        kind, pattern = ResourceType.TOPIC, ResourcePatternType.LITERAL
        return AclBindingFilter(kind, topic, pattern, None, None, AclOperation.ANY, AclPermissionType.ANY)

    def put_scram(self, user):
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        self._done(self._admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, info, b"secret")]))

    def scram_of(self, user):
        (found,) = self._done(self._admin.describe_user_scram_credentials([user]))
        return [(info.mechanism.name, info.iterations) for info in found.scram_credential_infos]

    def elect_leader(self, topic):
        asked = [TopicPartition(topic, 0)]
        (error,) = self._admin.elect_leaders(ElectionType.PREFERRED, asked).result(SECONDS_MAX).values()
        if error is not None:
            raise failed(error)


def _fatal(errors):
    """A connection that failed is no fault, unless it was refused for who it is."""
    passing = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)
    return next((error for error in errors if error.code() not in passing), None)


def _record(message):
    headers = tuple((name, value) for name, value in message.headers() or ())
    value, key, stamp = message.value(), message.key(), message.timestamp()[1]
    return Record(value, key, headers, stamp, message.partition(), message.offset())


if __name__ == "__main__":
    where = Where(sys.argv[1:])
    run(Stories(Confluent(where)).scenarios(), where)
