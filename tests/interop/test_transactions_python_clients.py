"""Transactions of kafka-python, aiokafka and confluent-kafka against a real broker process.

Each client commits, aborts, commits with offsets of a group; a second one with the same transactional id fences it.
"""

import asyncio
import importlib
import sys
import time

import clients
import pytest
from fetching import Unavailable

from broker_process import BrokerProcess

kafka = pytest.importorskip("kafka", reason="pip install kafka-python")

from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # noqa: E402 - it may not be there
from kafka.admin import KafkaAdminClient, NewTopic  # noqa: E402
from kafka.errors import KafkaError  # noqa: E402
from kafka.structs import OffsetAndMetadata  # noqa: E402

COMMITTED = [b"first 0", b"first 1", b"third 0", b"third 1"]
PATIENCE_S = 30
FEW_PARTITIONS = (
    "--override",
    "transaction.state.log.num.partitions=2",
    "--override",
    "offsets.topic.num.partitions=2",
)


@pytest.fixture(scope="module", params=["3.3", "4.3"])
def bootstrap(request):
    with BrokerProcess("--ephemeral", "--release-version", request.param, *FEW_PARTITIONS) as broker:
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        topics = ("kafka-python", "aiokafka", "confluent", "confluent-source")
        admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1) for name in topics])
        admin.close()
        yield broker.bootstrap
        assert broker.stop() == (0, "")


def values(prefix):
    return [b"%s %d" % (prefix, number) for number in range(2)]


def read_committed(bootstrap, topic):
    """As many as were committed, and nothing behind them."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed", enable_auto_commit=False)
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning()
    end_offset = consumer.end_offsets([partition])[partition]
    found = []
    deadline = time.monotonic() + PATIENCE_S
    while consumer.position(partition) < end_offset and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=500).values():
            found += [record.value for record in records]
    consumer.close()
    return found


def committed_offset(bootstrap, group, topic):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group)
    offset = consumer.committed(TopicPartition(topic, 0))
    consumer.close()
    return offset


def test_kafka_python(bootstrap):
    topic = "kafka-python"
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id="tx of kafka-python")
    producer.init_transactions()
    for prefix, is_commit in ((b"first", True), (b"second", False), (b"third", True)):
        producer.begin_transaction()
        for value in values(prefix):
            producer.send(topic, value)
        offset = OffsetAndMetadata({b"first": 1, b"second": 2, b"third": 3}[prefix], "", -1)
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): offset}, "kafka-python group")
        producer.commit_transaction() if is_commit else producer.abort_transaction()
    successor = KafkaProducer(bootstrap_servers=bootstrap, transactional_id="tx of kafka-python")
    successor.init_transactions()
    producer.begin_transaction()
    with pytest.raises(KafkaError):
        producer.send(topic, b"zombie").get(PATIENCE_S)
        producer.commit_transaction()
    successor.close()
    assert read_committed(bootstrap, topic) == COMMITTED
    assert committed_offset(bootstrap, "kafka-python group", topic) == 3


def test_aiokafka(bootstrap):
    aiokafka = pytest.importorskip("aiokafka", reason="pip install aiokafka")
    topic = "aiokafka"

    async def transactions():
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="tx of aiokafka")
        await producer.start()
        for number, (prefix, is_commit) in enumerate(((b"first", True), (b"second", False), (b"third", True)), 1):
            await producer.begin_transaction()
            for value in values(prefix):
                await producer.send_and_wait(topic, value)
            offsets = {aiokafka.TopicPartition(topic, 0): number}
            await producer.send_offsets_to_transaction(offsets, "aiokafka group")
            await (producer.commit_transaction() if is_commit else producer.abort_transaction())
        await producer.stop()

    asyncio.run(transactions())
    assert read_committed(bootstrap, topic) == COMMITTED
    assert committed_offset(bootstrap, "aiokafka group", topic) == 3


@pytest.fixture
def confluent():
    """From the environment of the clients: the tests' own does not have it."""
    try:
        environment = clients.python().parents[1]
    except Unavailable as reason:
        pytest.skip(str(reason))
    (packages,) = (environment / "lib").glob("python*/site-packages")
    sys.path.append(str(packages))  # behind ours, which stay as they are
    return importlib.import_module("confluent_kafka")


def test_confluent(bootstrap, confluent):
    """Consume, transform, produce: every record once, though one attempt is aborted; then a zombie is fenced."""
    source, topic = "confluent-source", "confluent"
    plain = KafkaProducer(bootstrap_servers=bootstrap)
    for value in COMMITTED:
        plain.send(source, value)
    plain.close()

    def producer():
        made = confluent.Producer({"bootstrap.servers": bootstrap, "transactional.id": "tx of confluent"})
        made.init_transactions(PATIENCE_S)
        return made

    copier = producer()
    for attempt in range(2):
        consumer = confluent.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "copier",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        consumer.subscribe([source])
        copier.begin_transaction()
        while (message := consumer.poll(PATIENCE_S)) is not None and message.error() is None:
            copier.produce(topic, message.value())
        position = consumer.position(consumer.assignment())
        copier.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), PATIENCE_S)
        copier.abort_transaction(PATIENCE_S) if attempt == 0 else copier.commit_transaction(PATIENCE_S)
        consumer.close()
    successor = producer()
    copier.begin_transaction()
    copier.produce(topic, b"zombie")
    with pytest.raises(confluent.KafkaException):
        copier.commit_transaction(PATIENCE_S)
    successor.begin_transaction()
    successor.abort_transaction(PATIENCE_S)
    assert read_committed(bootstrap, topic) == read_committed(bootstrap, source) == COMMITTED
