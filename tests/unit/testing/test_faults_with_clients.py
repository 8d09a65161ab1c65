"""What faults are for: real clients ride them out, and the log shows that they did."""

import pytest

kafka = pytest.importorskip("kafka", reason="pip install kafka-python")

from programs import until  # noqa: E402 - what follows needs a client

from odradek.testing import Broker  # noqa: E402


@pytest.fixture(scope="module")
def broker():
    with Broker() as running:
        yield running


@pytest.fixture
def topic(broker, request):
    name = request.node.name.replace("[", "-").replace("]", "")
    broker.create_topic(name)
    yield name
    broker.faults.clear()


def producer(broker, **config):
    return kafka.KafkaProducer(
        bootstrap_servers=broker.bootstrap, retries=20, retry_backoff_ms=20, reconnect_backoff_ms=20, **config
    )


def consumer(broker, topic):
    reading = kafka.KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=1000,
        reconnect_backoff_ms=20,
        retry_backoff_ms=20,
    )
    reading.assign([kafka.TopicPartition(topic, 0)])
    return reading


def values(broker, topic):
    reading = consumer(broker, topic)
    found = [record.value for record in reading]
    reading.close()
    return found


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_a_producer_retries_through_an_error_and_writes_once(broker, topic, is_idempotent):
    fault = broker.faults.on("Produce", topic=topic).error("NOT_LEADER_OR_FOLLOWER", times=3)
    writing = producer(broker, enable_idempotence=is_idempotent)
    assert writing.send(topic, b"one").get(timeout=20).offset == 0
    writing.close()
    assert fault.hits == 3
    assert values(broker, topic) == [b"one"]


def test_a_lost_response_with_an_idempotent_producer_gives_one_record(broker, topic):
    fault = broker.faults.on("Produce", topic=topic).drop_response(times=2, hang_ms=50)
    writing = producer(broker, enable_idempotence=True)
    assert writing.send(topic, b"one").get(timeout=20).offset == 0
    writing.close()
    assert fault.hits == 2
    assert values(broker, topic) == [b"one"]


def test_a_lost_response_without_idempotence_gives_two(broker, topic):
    """The test above could not fail otherwise: this is what it protects from."""
    broker.faults.on("Produce", topic=topic).drop_response(times=1, hang_ms=50)
    writing = producer(broker, enable_idempotence=False)
    writing.send(topic, b"one").get(timeout=20)
    writing.close()
    assert values(broker, topic) == [b"one", b"one"]


def attempt_once(broker, topic):
    """A write by a client that waits a second for the answer and does not try again; returns what it ended with."""
    config = {"request_timeout_ms": 1000, "delivery_timeout_ms": 10_000, "enable_idempotence": False, "retries": 0}
    writing = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap, **config)
    try:
        writing.send(topic, b"one").get(timeout=20)
    except kafka.errors.KafkaError as error:
        return type(error)
    finally:
        writing.close()


def test_a_lost_response_closes_the_connection_before_a_client_gives_up(broker, topic):
    broker.faults.on("Produce", topic=topic).drop_response(times=1, hang_ms=50)
    assert attempt_once(broker, topic) is kafka.errors.KafkaConnectionError
    assert values(broker, topic) == [b"one"], "it was carried out"


def test_a_lost_response_without_an_end_leaves_a_client_to_its_own_timeout(broker, topic):
    broker.faults.on("Produce", topic=topic).drop_response(times=1, hang_ms=None)
    assert attempt_once(broker, topic) is kafka.errors.RequestTimedOutError
    assert values(broker, topic) == [b"one"], "it was carried out"


def test_a_disconnect_before_the_write(broker, topic):
    broker.faults.on("Produce", topic=topic).disconnect(times=2)
    writing = producer(broker, enable_idempotence=False)
    writing.send(topic, b"one").get(timeout=20)
    writing.close()
    assert values(broker, topic) == [b"one"]


@pytest.mark.parametrize("error", ["NOT_LEADER_OR_FOLLOWER", "FETCH_SESSION_ID_NOT_FOUND", "KAFKA_STORAGE_ERROR"])
def test_a_consumer_reads_on_after_errors(broker, topic, error):
    writing = producer(broker)
    for number in range(3):
        writing.send(topic, b"%d" % number).get(timeout=20)
    reading = consumer(broker, topic)
    assert next(reading).value == b"0"
    fault = broker.faults.on("Fetch", topic=topic).error(error, times=2)
    for number in range(3, 6):
        writing.send(topic, b"%d" % number).get(timeout=20)
    writing.close()
    assert [record.value for record in reading] == [b"1", b"2", b"3", b"4", b"5"]
    reading.close()
    assert fault.hits == 2


def test_an_error_that_no_retry_can_mend_reaches_the_application(broker, topic):
    broker.faults.on("Fetch", topic=topic).error("UNKNOWN_SERVER_ERROR", times=1)
    reading = consumer(broker, topic)
    with pytest.raises(kafka.errors.UnknownError):
        next(reading)
    reading.close()


def test_other_topics_of_the_same_fetch_go_on(broker, topic):
    broker.create_topic("calm")
    writing = producer(broker)
    writing.send("calm", b"here").get(timeout=20)
    writing.send(topic, b"there").get(timeout=20)
    writing.close()
    reading = consumer(broker, topic)
    reading.assign([kafka.TopicPartition(topic, 0), kafka.TopicPartition("calm", 0)])
    broker.faults.on("Fetch", topic=topic).error("NOT_LEADER_OR_FOLLOWER", times=2)
    assert sorted(record.value for record in reading) == [b"here", b"there"]
    reading.close()


def test_a_client_survives_a_restart(broker, topic):
    writing = producer(broker, enable_idempotence=True)
    writing.send(topic, b"one").get(timeout=20)
    broker.restart()
    writing.send(topic, b"two").get(timeout=20)
    broker.kill()
    broker.start()
    writing.send(topic, b"three").get(timeout=20)
    writing.close()
    assert values(broker, topic) == [b"one", b"two", b"three"]


# Groups and transactions


def group_consumer(broker, topic):
    return kafka.KafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap,
        group_id=f"group-of-{topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=10_000,
        heartbeat_interval_ms=50,
        reconnect_backoff_ms=20,
        retry_backoff_ms=20,
    )


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("SyncGroup", "REBALANCE_IN_PROGRESS"),
        ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
def test_a_member_of_a_group_rides_it_out(broker, topic, api, error):
    writing = producer(broker)
    writing.send(topic, b"one").get(timeout=20)
    writing.close()
    fault = broker.faults.on(api).error(error, times=2)
    reading = group_consumer(broker, topic)
    assert next(reading).value == b"one"
    reading.commit()
    assert fault.hits == 2
    assert reading.committed(kafka.TopicPartition(topic, 0)) == 1
    reading.close()


def test_a_heartbeat_that_asks_for_a_rebalance_is_followed_by_another_join(broker, topic):
    writing = producer(broker)
    writing.send(topic, b"one").get(timeout=20)
    reading = group_consumer(broker, topic)
    assert next(reading).value == b"one"
    rebalance = broker.faults.on("Heartbeat").error("REBALANCE_IN_PROGRESS", times=1)
    joins = broker.faults.on("JoinGroup").delay(1)
    until(lambda: rebalance.hits == 1)
    writing.send(topic, b"two").get(timeout=20)
    writing.close()
    assert next(reading).value == b"two"
    until(lambda: reading.poll(timeout_ms=20) == {} and joins.hits >= 1)
    reading.close()


@pytest.mark.parametrize("api", ["InitProducerId", "EndTxn"])
def test_a_transaction_is_committed_once_though_an_answer_is_lost(broker, topic, api):
    fault = broker.faults.on(api).drop_response(times=1, hang_ms=50)
    writing = producer(broker, transactional_id=f"transaction-of-{topic}")
    writing.init_transactions()
    writing.begin_transaction()
    writing.send(topic, b"one")
    writing.commit_transaction()
    writing.close()
    assert fault.hits == 1
    assert values(broker, topic) == [b"one"]
