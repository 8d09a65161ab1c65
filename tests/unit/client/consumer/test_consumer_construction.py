"""What a consumer makes of its configs, before it has talked to anybody, and how its calls end when nobody answers."""

import logging
import threading
import time

import pytest

from odradek import KafkaConsumer, KafkaProducer, TopicPartition, errors
from odradek.client.consumer.session_settings import session_settings
from odradek.client.settings import client_config
from odradek.config.consumer import TABLE
from odradek.config.errors import ConfigError
from odradek.consumer import ConsumerInterceptor
from odradek.reactor.loop import Loop
from odradek.testing import Broker
from patience import Patience

NOBODY = "127.0.0.1:1"  # where nobody listens
PLACE = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        broker.create_topic("t", partitions=1)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send_many("t", [b"%d" % n for n in range(1000)]).result(60)
        yield broker


def settings(**configs):
    return session_settings(client_config(TABLE, {"bootstrap.servers": NOBODY}, configs))


@pytest.mark.contract("B1", "B2")
def test_the_ways_to_give_configs(broker):
    mapping = {
        "bootstrap.servers": broker.bootstrap,
        "auto.offset.reset": "earliest",
        "value.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
    }
    keywords = {
        "bootstrap_servers": broker.bootstrap,
        "auto_offset_reset": "earliest",
        "value_deserializer": bytes.decode,
    }
    for consumer in (KafkaConsumer(mapping), KafkaConsumer(**keywords), KafkaConsumer(mapping, value_deserializer=str)):
        with consumer:
            consumer.assign([PLACE])
            assert consumer.poll(10)[0].value in ("0", "b'0'")
    with pytest.raises(TypeError, match="twice"):
        KafkaConsumer(mapping, bootstrap_servers=NOBODY)
    with pytest.raises(TypeError, match="did you mean group_id"):
        KafkaConsumer(bootstrap_servers=NOBODY, group_ids="g")


@pytest.mark.contract("B31")
def test_what_is_wrong_is_said_at_once_and_nothing_is_left():
    before = threading.active_count()
    for configs in (
        {"value_deserializer": "there.is.None"},
        {"partition_assignment_strategy": "there.is.None", "group_id": "g"},
        {"interceptor_classes": ["there.is.None"]},
        {"auto_offset_reset": "whenever"},
        {"bootstrap_servers": "nowhere"},
    ):
        with pytest.raises(ConfigError):
            KafkaConsumer(**{"bootstrap_servers": NOBODY, **configs})
    assert threading.active_count() == before


@pytest.mark.contract("B5", "B20")
def test_without_a_group_there_is_no_automatic_commit():
    assert settings().group is None
    with pytest.raises(ConfigError, match=r"group\.id"):
        settings(enable_auto_commit=True)


@pytest.mark.contract("B6")
def test_an_empty_group_is_a_warning(caplog):
    assert settings(group_id="").group is None
    assert "group.id is empty" in caplog.text


@pytest.mark.contract("B3", "B16", "B19", "B91")
def test_the_group_s_settings():
    found = settings(
        group_id="g",
        session_timeout_ms=7000,
        heartbeat_interval_ms=700,
        max_poll_interval_ms=70_000,
        group_instance_id="me",
        client_rack="r",
        partition_assignment_strategy="StickyAssignor,org.apache.kafka.clients.consumer.RangeAssignor",
    ).group
    assert found.membership == ("g", 7000, 700, 70_000, "me", "r")
    assert [assignor.name for assignor in found.assignors] == ["sticky", "range"]
    assert not found.speaks_epochs and settings(group_id="g", group_protocol="consumer").group.speaks_epochs


@pytest.mark.contract("B7", "B8", "B9", "B13", "B17", "B30")
def test_the_settings_of_its_connections():
    found = settings(
        retry_backoff_ms=7, connections_max_idle_ms=70, reconnect_backoff_ms=8, reconnect_backoff_max_ms=80,
        socket_connection_setup_timeout_ms=9, allow_auto_create_topics=False,
    )  # fmt: skip
    channel = found.channel
    assert (channel.retry_backoff_ms, channel.connections_max_idle_ms, channel.reconnect_backoff_ms) == (7, 70, 8)
    assert (channel.reconnect_backoff_max_ms, channel.socket_connection_setup_timeout_ms) == (80, 9)
    assert channel.request_timeout_ms == 30_000 and found.api_timeout_ms == 60_000
    assert channel.max_in_flight_requests_per_connection == 100
    assert not found.allows_creation and found.excludes_internal_topics


@pytest.mark.contract("B32")
def test_a_config_that_nobody_knows_is_logged(caplog):
    with caplog.at_level(logging.WARNING):
        KafkaConsumer({"bootstrap.servers": NOBODY, "some.config": "x"}).close()
    assert "some.config" in caplog.text


@pytest.mark.contract("B37")
def test_who_has_no_assignor_cannot_subscribe():
    consumer = KafkaConsumer(bootstrap_servers=NOBODY, group_id="g", partition_assignment_strategy="")
    with consumer, pytest.raises(RuntimeError, match="assignor"):
        consumer.subscribe("t")


@pytest.mark.contract("B8")
def test_a_call_ends_when_its_time_is_up():
    with KafkaConsumer(bootstrap_servers=NOBODY, group_id="g", default_api_timeout_ms=200) as consumer:
        consumer.assign([PLACE])
        assert not consumer.poll(0.1)
        for call in (
            lambda: consumer.position(PLACE),
            lambda: consumer.committed([PLACE]),
            lambda: consumer.commit({PLACE: 1}),
            lambda: consumer.end_offsets([PLACE]),
            lambda: consumer.commit({PLACE: 1}, timeout=0.05),
        ):
            with pytest.raises(errors.KafkaError):
                call()
        assert consumer.state == "stable"
        began = time.monotonic()
        consumer.close(timeout=0.2)
        assert time.monotonic() - began < 10


@pytest.mark.contract("B105")
def test_a_broker_that_has_no_such_protocol_is_an_error():
    with (
        Broker(release="3.3") as broker,
        KafkaConsumer("t", bootstrap_servers=broker.bootstrap, group_id="g", group_protocol="consumer") as consumer,
    ):
        with pytest.raises(errors.UnsupportedVersion, match=r"group\.protocol"):
            consumer.poll(10)
        assert consumer.state == "failed" and isinstance(consumer.state.error, errors.UnsupportedVersion)


@pytest.mark.contract("B51", "B46")
def test_the_next_records_travel_while_the_program_works_and_a_poll_asks_no_other_thread(broker, monkeypatch):
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", max_poll_records=10
    ) as consumer:
        consumer.assign([PLACE])
        assert len(consumer.poll(10)) == 10
        asked = []
        monkeypatch.setattr(type(consumer._host), "run", lambda *_: asked.append("run"))
        monkeypatch.setattr(type(consumer._host), "tell", lambda *_: asked.append("tell"))
        for _ in range(50):
            assert len(consumer.poll(10)) == 10
        assert asked == []
        monkeypatch.undo()
        metrics = {metric.name: value for metric, value in consumer.metrics().items()}
        assert metrics["records-consumed-total"] == 510 and metrics["polls-total"] == 51


@pytest.mark.contract("B52")
def test_a_wakeup_takes_no_records_with_it(broker):
    from odradek.consumer import Wakeup

    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", max_poll_records=10
    ) as consumer:
        consumer.assign([PLACE])
        seen = list(consumer.poll(10))
        in_time = Patience()
        while in_time() and len(seen) < 200:
            consumer.wakeup()
            with pytest.raises(Wakeup):
                consumer.poll(10)
            seen += consumer.poll(10)
        assert [record.offset for record in seen] == list(range(200))


@pytest.mark.contract("B90")
def test_paused_partitions_keep_their_place_while_another_thread_works(broker):
    with KafkaConsumer(
        "t",
        bootstrap_servers=broker.bootstrap,
        group_id="pausing",
        auto_offset_reset="earliest",
        max_poll_interval_ms=300,
        session_timeout_ms=6000,
        heartbeat_interval_ms=100,
        enable_auto_commit=False,
    ) as consumer:
        records = consumer.poll(10)
        who = consumer.group_metadata()
        consumer.pause(consumer.assignment())
        until = time.monotonic() + 1
        while time.monotonic() < until:
            assert not consumer.poll(0.05)
        consumer.commit(records.next_offsets())
        assert consumer.group_metadata() == who and consumer.state == "stable"


@pytest.mark.contract("B10", "B39")
def test_interceptors_by_name_are_configured(broker):
    with KafkaConsumer(
        {"interceptor.classes": [Configured], "bootstrap.servers": broker.bootstrap, "client.id": "me", "group.id": "g"}
    ) as consumer:
        assert Configured.seen["client.id"] == "me"
        consumer.subscribe("t")


class Configured(ConsumerInterceptor):
    seen = None

    def configure(self, configs):
        Configured.seen = dict(configs)


def test_an_idle_consumer_sleeps(broker, monkeypatch):
    """It turns some times a second: heartbeats and held fetches."""
    with KafkaConsumer("t", bootstrap_servers=broker.bootstrap, group_id="idle") as consumer:
        in_time = Patience()
        while in_time() and not consumer.assignment():
            consumer.poll(0.1)
        mine, turn, turns = consumer._host.session().loop, Loop.turn, []

        def counted(loop, *arguments):
            turns.extend([1] if loop is mine else [])
            return turn(loop, *arguments)

        monkeypatch.setattr(Loop, "turn", counted)
        consumer.poll(2)
        assert 0 < len(turns) < 30


@pytest.mark.contract("B102")
def test_the_lag_of_a_partition_that_no_fetch_has_told_of_is_asked_for(broker):
    with KafkaConsumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([PLACE])
        consumer.pause(PLACE)
        assert consumer.position(PLACE) == 0
        deadline = time.monotonic() + 10
        while consumer.current_lag(PLACE) != 1000:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_tables(broker):
    pytest.importorskip("pyarrow", reason="pip install odradek[arrow]")
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", group_id="tables", enable_auto_commit=False
    ) as consumer:
        consumer.assign([PLACE])
        assert next(consumer).offset == 0
        offsets = []
        while len(offsets) < 999:
            table = consumer.poll_arrow(10)
            offsets += table["offset"].to_pylist()
        assert offsets == list(range(1, 1000)), "what an iterator had kept is in it"
        consumer.commit()
        assert consumer.committed([PLACE])[PLACE].offset == 1000


def test_a_table_that_was_not_finished_is_not_committed(broker):
    pytest.importorskip("pyarrow", reason="pip install odradek[arrow]")
    configs = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest", "group_id": "half a table"}
    consumer = KafkaConsumer(**configs)
    consumer.assign([PLACE])
    with pytest.raises(ZeroDivisionError), consumer:
        assert consumer.poll_arrow(10).num_rows
        raise ZeroDivisionError
    with KafkaConsumer(**configs) as other:
        assert other.committed([PLACE])[PLACE].offset == 0
