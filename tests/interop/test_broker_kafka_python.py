"""kafka-python against a real broker process: topics, records, configs, from one end to the other."""

import pytest

from broker_process import BrokerProcess

kafka = pytest.importorskip("kafka", reason="pip install kafka-python")

from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # noqa: E402 - it may not be there
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic  # noqa: E402

RECORDS = 300


@pytest.fixture(scope="module", params=["3.3", "4.3"])
def bootstrap(request):
    with BrokerProcess("--ephemeral", "--release-version", request.param) as broker:
        yield broker.bootstrap
        assert broker.stop() == (0, "")


@pytest.fixture
def admin(bootstrap):
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


@pytest.fixture
def topic(admin, request):
    name = request.node.originalname
    admin.create_topics([NewTopic(name, num_partitions=3, replication_factor=1)])
    yield name
    admin.delete_topics([name])
    assert name not in admin.list_topics()


def produce(bootstrap, topic, **options):
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", **options)
    sent = [
        producer.send(topic, b"value %d" % number, key=b"key", headers=[("h", b"x")], partition=number % 3)
        for number in range(RECORDS)
    ]
    producer.flush(timeout=30)
    offsets = [future.get(10).offset for future in sent]
    producer.close()
    return offsets


def consume(bootstrap, topic):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, consumer_timeout_ms=20_000)
    consumer.assign([TopicPartition(topic, partition) for partition in range(3)])
    consumer.seek_to_beginning()
    records = [next(consumer) for _ in range(RECORDS)]
    consumer.close()
    return records


@pytest.mark.parametrize("options", [{}, {"enable_idempotence": True}, {"compression_type": "gzip"}], ids=str)
def test_records_there_and_back(bootstrap, topic, options):
    offsets = produce(bootstrap, topic, **options)
    assert sorted(offsets) == sorted(list(range(RECORDS // 3)) * 3)
    records = consume(bootstrap, topic)
    assert sorted(record.value for record in records) == sorted(b"value %d" % number for number in range(RECORDS))
    assert {(record.key, tuple(record.headers)) for record in records} == {(b"key", (("h", b"x"),))}
    for partition in range(3):
        own = [record.offset for record in records if record.partition == partition]
        assert own == list(range(RECORDS // 3)), "each partition in its order"


def test_configs_are_described_and_changed(admin, topic):
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    every = admin.describe_configs([resource], config_filter="all")["topic"][topic]
    assert every["retention.ms"]["value"] == "604800000"
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "60000"})])
    assert admin.describe_configs([resource])["topic"][topic]["retention.ms"]["value"] == "60000"
    broker = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, "1")], config_filter="all")
    assert broker["broker"]["1"]["node.id"]["value"] == "1"
