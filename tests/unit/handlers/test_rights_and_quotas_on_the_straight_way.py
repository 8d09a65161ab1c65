"""Produce and fetch of one partition: whoever may is served by the straight way, and throttled as by the long one."""

import pytest

from log_kit import batch
from odradek.protocol import errors
from odradek.replica.roles import DIR_FAILED
from odradek.security import acl
from replica_kit import SimPlane


class Rights:
    """Allows this operation on these topics, and remembers what it was asked."""

    def __init__(self, operation, *topics):
        self.allowed = {(operation, acl.TOPIC, topic) for topic in topics}
        self.asked = []

    def authorize(self, call, *asked):
        self.asked.append(asked)
        return asked in self.allowed


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic("t", 2)
    made.produce("a", "b")
    return made


def produced_at_once(plane, **fields):
    """The answer, and whether the straight way gave it: it alone counts without looking at its answer."""
    before = plane.services.error_counts.produced
    answer = plane.produce("c", **fields)
    return answer, plane.services.error_counts.produced - before == 1


def fetched_at_once(plane, **fields):
    before = plane.services.error_counts.fetched
    answer = plane.fetch_one(**fields)
    return answer, plane.services.error_counts.fetched - before == 1


@pytest.mark.parametrize("version", [9, 13])
def test_a_producer_who_may_is_served_at_once(plane, version):
    plane.services.authorizer = rights = Rights(acl.WRITE, "t")
    answer, was_at_once = produced_at_once(plane, version=version)
    assert (answer.error_code, answer.base_offset, was_at_once) == (0, 2, True)
    assert rights.asked == [(acl.WRITE, acl.TOPIC, "t")]


@pytest.mark.parametrize("version", [9, 13])
def test_a_producer_who_may_not_hears_what_the_long_way_says(plane, version):
    plane.services.authorizer = Rights(acl.WRITE)
    short = plane.produce_request(batch(b"c"), version=version)
    long = plane.produce_request(batch(b"c"), version=version)
    long.topic_data[0].partition_data.append(
        plane.produce_request(batch(b"d"), index=1).topic_data[0].partition_data[0]
    )
    answers = [plane.ask(request, version).responses[0].partition_responses[0] for request in (short, long)]
    assert answers[0] == answers[1]
    assert answers[0].error_code == errors.TopicAuthorizationFailed.code
    assert plane.log().log_end_offset == 2


def test_rights_come_before_what_is_wrong_with_the_partition(plane):
    plane.services.authorizer = Rights(acl.WRITE)
    plane.partition().go_offline(DIR_FAILED)
    assert plane.produce("c").error_code == errors.TopicAuthorizationFailed.code


@pytest.mark.parametrize("version", [9, 13])
def test_a_producer_who_may_not_is_asked_about_once(plane, version):
    plane.services.authorizer = rights = Rights(acl.WRITE)
    assert plane.produce("c", version=version).error_code == errors.TopicAuthorizationFailed.code
    assert rights.asked == [(acl.WRITE, acl.TOPIC, "t")]


def test_a_producer_who_is_sent_the_long_way_is_asked_about_once(plane):
    plane.services.authorizer = rights = Rights(acl.WRITE, "t")
    damaged = bytearray(batch(b"c"))
    damaged[-1] ^= 1
    answer = plane.ask(plane.produce_request(bytes(damaged)), 9).responses[0].partition_responses[0]
    assert answer.error_code == errors.CorruptMessage.code
    assert rights.asked == [(acl.WRITE, acl.TOPIC, "t")]


@pytest.mark.parametrize("version", [12, 13])
def test_a_consumer_who_may_is_served_at_once(plane, version):
    plane.services.authorizer = rights = Rights(acl.READ, "t")
    data, was_at_once = fetched_at_once(plane, version=version)
    assert (data.error_code, len(data.records) > 0, was_at_once) == (0, True, True)
    assert rights.asked == [(acl.READ, acl.TOPIC, "t")]


@pytest.mark.parametrize("version", [12, 13])
def test_a_consumer_who_may_not_hears_what_the_long_way_says(plane, version):
    plane.services.authorizer = Rights(acl.READ)
    data, was_at_once = fetched_at_once(plane, version=version)
    in_session = plane.fetch(("t", 0, 0), version=version, session=(0, 0)).responses[0].partitions[0]
    assert data == in_session and not was_at_once
    assert data.error_code == errors.TopicAuthorizationFailed.code


@pytest.mark.parametrize("version", [12, 13])
def test_a_consumer_who_may_not_is_asked_about_once(plane, version):
    plane.services.authorizer = rights = Rights(acl.READ)
    assert plane.fetch_one(version=version).error_code == errors.TopicAuthorizationFailed.code
    assert rights.asked == [(acl.READ, acl.TOPIC, "t")]


def test_a_large_answer_that_nobody_may_have_keeps_no_file_open(plane):
    plane.produce("x" * (200 << 10))
    before = [segment.file._users for segment in plane.log().segments]
    plane.services.authorizer = Rights(acl.READ)
    assert plane.fetch_one(offset=2).error_code == errors.TopicAuthorizationFailed.code
    assert [segment.file._users for segment in plane.log().segments] == before


def test_a_consumer_who_waits_is_asked_about_once(plane):
    """However often the fetch looks at what there is, and however many partitions of the topic it is for."""
    plane.services.authorizer = rights = Rights(acl.READ, "t")
    for places in ([("t", 0, 2)], [("t", 0, 2), ("t", 1, 0)]):
        rights.asked.clear()
        assert plane.fetch(*places, max_wait_ms=10).error_code == 0
        assert rights.asked == [(acl.READ, acl.TOPIC, "t")]


class Quotas:
    """Everybody has used too much."""

    def throttle_ms(self, call):
        return 7


@pytest.fixture
def throttled(plane):
    plane.services.quotas = Quotas()
    return plane


def test_a_throttle_time_is_told_by_both_ways_of_produce(throttled):
    one = throttled.produce_request(batch(b"c"))
    refused = throttled.produce_request(batch(b"c")[:-1])
    for request in (one, refused):
        assert throttled.ask(request, 9).throttle_time_ms == 7


def test_a_throttle_time_is_told_by_both_ways_of_fetch(throttled):
    assert throttled.fetch(("t", 0, 0)).throttle_time_ms == 7
    opened = throttled.fetch(("t", 0, 2), session=(0, 0))
    assert opened.throttle_time_ms == 7
    waited_in_vain = throttled.fetch(session=(opened.session_id, 1), max_wait_ms=10)
    assert waited_in_vain.throttle_time_ms == 7


def test_without_quotas_nobody_is_throttled(plane):
    assert plane.ask(plane.produce_request(batch(b"c")), 9).throttle_time_ms == 0
    assert plane.fetch(("t", 0, 0)).throttle_time_ms == 0
