"""What a share consumer makes of its configs, before it has talked to anybody."""

import threading

import pytest

from odradek import KafkaConsumer, ShareConsumer, aio, errors
from odradek.client.settings import client_config
from odradek.client.share_consumer.share_settings import share_settings
from odradek.config.errors import ConfigError
from odradek.config.share_consumer import TABLE

NOBODY = "127.0.0.1:1"  # where nobody listens
REFUSED = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "group.instance.id": "me",
    "group.protocol": "consumer",
    "group.remote.assignor": "range",
    "heartbeat.interval.ms": 100,
    "interceptor.classes": "some.Interceptor",
    "isolation.level": "read_committed",
    "partition.assignment.strategy": "range",
    "session.timeout.ms": 1000,
}


def settings(**configs):
    return share_settings(client_config(TABLE, {"bootstrap.servers": NOBODY}, configs))


def test_the_defaults_are_kafkas():
    found = settings(group_id="g")
    assert not found.is_explicit
    assert (found.fetch.records_max, found.fetch.is_record_limit, found.fetch.max_wait_ms) == (500, False, 500)
    assert (found.membership.group_id, found.membership.max_poll_interval_ms) == ("g", 300_000)


def test_the_modes():
    found = settings(group_id="g", share_acknowledgement_mode="explicit", share_acquire_mode="RECORD_LIMIT")
    assert found.is_explicit and found.fetch.is_record_limit
    for name in ("share_acknowledgement_mode", "share_acquire_mode"):
        with pytest.raises(ConfigError, match=name.replace("_", ".")):
            settings(group_id="g", **{name: "other"})


@pytest.mark.parametrize("kind", [ShareConsumer, aio.ShareConsumer])
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_a_share_group_decides_cannot_be_set(kind, name):
    with pytest.raises(ConfigError, match=f"{name} cannot be set for a share consumer"):
        kind({"bootstrap.servers": NOBODY, "group.id": "g", name: REFUSED[name]})


def test_a_consumer_does_not_take_what_is_for_share_consumers():
    with pytest.raises(ConfigError, match=r"share.acknowledgement.mode is for share consumers only"):
        KafkaConsumer(bootstrap_servers=NOBODY, group_id="g", share_acknowledgement_mode="explicit")


@pytest.mark.parametrize("group", [None, "", " "])
def test_it_belongs_to_a_group(group):
    with pytest.raises(errors.InvalidGroupId, match=r"group\.id"):
        ShareConsumer("t", bootstrap_servers=NOBODY, group_id=group)


def test_a_keyword_that_is_none_names_the_nearest():
    with pytest.raises(TypeError, match="did you mean share_acquire_mode"):
        ShareConsumer("t", bootstrap_servers=NOBODY, group_id="g", share_aquire_mode="record_limit")


def test_no_thread_before_the_first_use():
    before = threading.active_count()
    with ShareConsumer("t", bootstrap_servers=NOBODY, group_id="g") as consumer:
        assert consumer.state == "unsubscribed"
        assert consumer.subscription() == {"t"}
        assert consumer.acquisition_lock_timeout_ms is None
        assert threading.active_count() == before
    assert consumer.state == "closed"


def test_what_is_no_topic_or_no_record_is_said_so():
    with ShareConsumer(bootstrap_servers=NOBODY, group_id="g") as consumer:
        with pytest.raises(ValueError, match="no name of a topic"):
            consumer.subscribe(["t", ""])
        with pytest.raises(RuntimeError, match=r"subscribe\(\) first"):
            consumer.poll(0)
        for said in ((), (None,), ("t", 0), ("t", 0, "5"), ("t", 0, 5, 1, 1)):
            with pytest.raises(TypeError, match="acknowledge takes"):
                consumer.acknowledge(*said)


def test_nobody_there_is_no_error_of_a_poll_and_the_close_does_not_wait():
    with ShareConsumer("t", bootstrap_servers=NOBODY, group_id="g") as consumer:
        assert not consumer.poll(0.2)
        assert consumer.state == "joining"
        assert consumer.commit_sync() == {}
