"""aiokafka through every scenario that it has."""

import asyncio
import sys
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code
from aiokafka.helpers import create_ssl_context
from report import PASSWORD, USER, Where, run
from stories import Failed, Record, Stories

SECONDS_MAX = 10
NAMES = {
    "MessageSizeTooLargeError": "MESSAGE_TOO_LARGE",
    "TopicAlreadyExistsError": "TOPIC_ALREADY_EXISTS",
    "InvalidTopicError": "INVALID_TOPIC_EXCEPTION",
    "InvalidConfigurationError": "INVALID_CONFIG",
    "UnknownTopicOrPartitionError": "UNKNOWN_TOPIC_OR_PARTITION",
    "InvalidPartitionsError": "INVALID_PARTITIONS",
}


def failed(error, listener=None):
    name = type(error).__name__
    if name == "KafkaConnectionError" and listener is not None and "sasl" in listener:
        return Failed("SASL_AUTHENTICATION_FAILED")  # it gives up on the broker, the reason is in its log alone
    return Failed(NAMES.get(name, name))


class Aiokafka:
    name = "aiokafka"

    def __init__(self, where):
        self.where = where

    def _at(self, listener, password=PASSWORD):
        config = {"bootstrap_servers": self.where.addresses[listener]}
        if "ssl" in listener:
            config["ssl_context"] = create_ssl_context(cafile=self.where.ca)
        if "sasl" in listener:
            config |= {"sasl_mechanism": "PLAIN", "sasl_plain_username": USER, "sasl_plain_password": password}
        protocols = {"plaintext": "PLAINTEXT", "ssl": "SSL", "sasl": "SASL_PLAINTEXT", "sasl_ssl": "SASL_SSL"}
        return {**config, "security_protocol": protocols[listener]}

    # Records

    def produce(self, topic, records, listener="plaintext", **how):
        try:
            return asyncio.run(asyncio.wait_for(self._produce(topic, records, listener, **how), SECONDS_MAX))
        except KafkaError as error:
            raise failed(error, listener) from error

    async def _produce(self, topic, records, listener, codec="none", idempotent=False, acks="all", password=PASSWORD):
        producer = AIOKafkaProducer(
            **self._at(listener, password),
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            acks=acks,
            linger_ms=5,
            max_request_size=10_000_000,
        )
        async with producer:
            sent = [await self._send(producer, topic, record) for record in records]
            delivered = await asyncio.gather(*sent)
        return None if acks == 0 else [metadata.offset for metadata in delivered]

    async def _send(self, producer, topic, record):
        more = {"partition": record.partition, "timestamp_ms": record.timestamp}
        return await producer.send(topic, record.value, record.key, headers=list(record.headers), **more)

    def consume(self, topic, partition, start, count, **how):
        return asyncio.run(self._consume(topic, [partition], start, count, **how))

    def consume_all(self, topic, partitions, count):
        return asyncio.run(self._consume(topic, range(partitions), "beginning", count))

    async def _consume(
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
        consumer = AIOKafkaConsumer(
            **self._at(listener),
            enable_auto_commit=False,
            fetch_max_wait_ms=wait_ms,
            isolation_level=isolation,
            auto_offset_reset=reset,
        )
        async with consumer:
            wanted = [TopicPartition(topic, partition) for partition in partitions]
            consumer.assign(wanted)
            if count is None:
                count = sum((await consumer.end_offsets(wanted)).values())
            await self._seek(consumer, wanted, start)
            if once_there:
                await consumer.getmany(timeout_ms=200)
                await asyncio.to_thread(once_there)
            return await self._polled(consumer, count)

    async def _seek(self, consumer, wanted, start):
        for partition in wanted:
            if start == "beginning":
                await consumer.seek_to_beginning(partition)
            elif start == "end":
                consumer.seek(partition, (await consumer.end_offsets([partition]))[partition])
            elif isinstance(start, tuple):
                found = await consumer.offsets_for_times({partition: start[1]})
                consumer.seek(partition, found[partition].offset)
            else:
                consumer.seek(partition, start)

    async def _polled(self, consumer, count):
        found, deadline = [], time.monotonic() + SECONDS_MAX
        while len(found) < count and time.monotonic() < deadline:
            for messages in (await consumer.getmany(timeout_ms=200)).values():
                found += map(_record, messages)
        return found

    # Admin

    def _asked(self, question):
        async def ask():
            admin = AIOKafkaAdminClient(**self._at("plaintext"))
            await admin.start()
            try:
                return await question(admin)
            finally:
                await admin.close()

        try:
            return asyncio.run(asyncio.wait_for(ask(), SECONDS_MAX))
        except KafkaError as error:
            raise failed(error) from error

    def _checked(self, errors):
        for entry in errors:
            if entry[1]:
                raise failed(for_code(entry[1])())

    def create_topic(self, name, partitions, configs):
        new = NewTopic(name, partitions, 1, topic_configs=configs)
        self._checked(self._asked(lambda admin: admin.create_topics([new])).topic_errors)

    def delete_topic(self, name):
        self._checked(self._asked(lambda admin: admin.delete_topics([name])).topic_error_codes)

    def create_partitions(self, name, total):
        self._asked(lambda admin: admin.create_partitions({name: NewPartitions(total)}))

    def topics(self):
        return self._asked(lambda admin: admin.list_topics())

    def partitions_of(self, name):
        return len(self.describe_topic(name))

    def describe_topic(self, name):
        (topic,) = self._asked(lambda admin: admin.describe_topics([name]))
        found = [(part["partition"], part["leader"], part["replicas"], part["isr"]) for part in topic["partitions"]]
        return sorted(found)

    def topic_configs(self, name):
        return self._configs(ConfigResourceType.TOPIC, name)

    def broker_configs(self, name):
        return self._configs(ConfigResourceType.BROKER, name)

    def _configs(self, kind, name):
        (found,) = self._asked(lambda admin: admin.describe_configs([ConfigResource(kind, name)]))
        ((code, _, _, _, entries),) = found.resources
        assert code == 0, code
        return {entry[0]: entry[1] for entry in entries}

    def replace_topic_configs(self, name, configs):
        resource = ConfigResource(ConfigResourceType.TOPIC, name, configs=configs)
        (found,) = self._asked(lambda admin: admin.alter_configs([resource]))
        assert [entry[0] for entry in found.resources] == [0], found

    def delete_records(self, topic, offset):
        partition = TopicPartition(topic, 0)
        asked = {partition: RecordsToDelete(before_offset=offset)}
        return self._asked(lambda admin: admin.delete_records(asked))[partition]

    def describe_cluster(self):
        found = self._asked(lambda admin: admin.describe_cluster())
        nodes = [(node["node_id"], f"{node['host']}:{node['port']}") for node in found["brokers"]]
        return found["cluster_id"], nodes, found["controller_id"]


def _record(message):
    headers = tuple((name, value) for name, value in message.headers)
    return Record(message.value, message.key, headers, message.timestamp, message.partition, message.offset)


if __name__ == "__main__":
    where = Where(sys.argv[1:])
    run(Stories(Aiokafka(where)).scenarios(), where)
