"""Incremental fetch sessions: what is told, what is not, and who must go."""

import gc

import pytest

from odradek.metrics.meter import Counter
from odradek.protocol import errors
from odradek.replica.fetch.delayed import DelayedFetch
from odradek.replica.fetch.parameters import FetchParameters
from odradek.replica.fetch.session import EPOCH_MAX, FetchSession, next_epoch
from odradek.replica.fetch.session_cache import EVICTION_MS, SessionCache
from odradek.sim.rng import SimRng
from replica_kit import SimPlane


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic("t", 3)
    made.create_topic("u", 1)
    return made


def told(response):
    return [(topic.topic, data.partition_index) for topic in response.responses for data in topic.partitions]


def opened(plane, *wanted, version=12):
    response = plane.fetch(*wanted, version=version, session=(0, 0))
    assert response.error_code == 0 and response.session_id > 0
    return response.session_id


def test_the_first_answer_has_everything_and_the_next_only_news(plane):
    plane.produce("a")
    session = opened(plane, ("t", 0, 0), ("t", 1, 0), ("u", 0, 0))
    response = plane.fetch(("t", 0, 1), session=(session, 1))
    assert told(response) == [] and response.session_id == session
    plane.produce("b", index=1)
    response = plane.fetch(session=(session, 2))
    assert told(response) == [("t", 1)]
    assert response.responses[0].partitions[0].high_watermark == 1


def test_records_are_told_again_until_the_reader_moves_on(plane):
    session = opened(plane, ("t", 0, 0))
    plane.produce("a")
    assert told(plane.fetch(session=(session, 1))) == [("t", 0)]
    assert told(plane.fetch(session=(session, 2))) == [("t", 0)]
    assert told(plane.fetch(("t", 0, 1), session=(session, 3))) == []


def test_a_high_watermark_alone_is_news_once(plane):
    plane.produce("a")
    session = opened(plane, ("t", 0, 1))
    plane.produce("b")
    response = plane.fetch(("t", 0, 2), session=(session, 1))
    assert told(response) == [("t", 0)]
    assert response.responses[0].partitions[0].high_watermark == 2
    assert told(plane.fetch(session=(session, 2))) == []


def test_a_moved_log_start_is_news(plane):
    plane.produce("a", "b")
    session = opened(plane, ("t", 0, 2))
    partition = plane.partition()
    partition.log.increment_log_start_offset(1)
    partition.wake()
    response = plane.fetch(session=(session, 1))
    assert [data.log_start_offset for topic in response.responses for data in topic.partitions] == [1]


def test_forgotten_partitions_are_not_told(plane):
    session = opened(plane, ("t", 0, 0), ("t", 1, 0))
    plane.produce("a")
    assert told(plane.fetch(session=(session, 1), forget=[("t", 0)])) == []
    plane.produce("b", index=1)
    assert told(plane.fetch(session=(session, 2))) == [("t", 1)]


def test_a_session_that_is_left_empty_ends(plane):
    session = opened(plane, ("t", 0, 0))
    response = plane.fetch(session=(session, 1), forget=[("t", 0)])
    assert response.session_id == 0 and response.error_code == 0
    assert plane.fetch(session=(session, 2)).error_code == errors.FetchSessionIdNotFound.code
    assert not plane.partition().watchers


def test_unknown_sessions_and_wrong_epochs(plane):
    session = opened(plane, ("t", 0, 0))
    unknown = plane.fetch(session=(session ^ 1, 1))
    assert (unknown.error_code, unknown.session_id, unknown.responses) == (errors.FetchSessionIdNotFound.code, 0, [])
    assert plane.fetch(session=(session, 2)).error_code == errors.InvalidFetchSessionEpoch.code
    assert plane.fetch(session=(session, 1)).error_code == 0, "the refused one has changed nothing"
    assert plane.fetch(session=(session, 1)).error_code == errors.InvalidFetchSessionEpoch.code


def test_names_do_not_go_on_with_a_session_of_ids(plane):
    session = opened(plane, ("t", 0, 0), version=13)
    assert plane.fetch(session=(session, 1), version=12).error_code == errors.FetchSessionTopicIdError.code
    assert plane.fetch(session=(session, 1), version=13).error_code == 0


def test_epoch_minus_one_ends_the_session_and_is_answered_in_full(plane):
    session = opened(plane, ("t", 0, 0))
    response = plane.fetch(("t", 0, 0), ("t", 1, 0), session=(session, -1))
    assert told(response) == [("t", 0), ("t", 1)] and response.session_id == 0
    assert plane.fetch(session=(session, 1)).error_code == errors.FetchSessionIdNotFound.code


def test_epoch_zero_replaces_the_session(plane):
    session = opened(plane, ("t", 0, 0))
    response = plane.fetch(("t", 1, 0), session=(session, 0))
    assert response.session_id not in (0, session)
    assert plane.fetch(session=(session, 1)).error_code == errors.FetchSessionIdNotFound.code


def test_an_error_is_told_every_time_and_so_is_its_end(plane):
    session = opened(plane, ("v", 0, 0))
    unknown = plane.fetch(session=(session, 1))
    assert unknown.responses[0].partitions[0].error_code == errors.UnknownTopicOrPartition.code
    plane.create_topic("v")
    healed = plane.fetch(session=(session, 2))
    assert told(healed) == [("v", 0)] and healed.responses[0].partitions[0].error_code == 0
    assert told(plane.fetch(session=(session, 3))) == []


def test_the_end_of_an_error_is_told_though_nothing_else_has_changed(plane):
    plane.produce("a")
    session = opened(plane, ("t", 0, 1))
    assert told(plane.fetch(session=(session, 1))) == []
    partition = plane.partition()
    isr, log = partition.leader.isr, partition.log
    partition.make_follower(2, 1, 1, log)
    lost = plane.fetch(session=(session, 2))
    assert lost.responses[0].partitions[0].error_code == errors.NotLeaderOrFollower.code
    isr.leader_epoch = 2
    partition.make_leader(isr, log)
    assert told(plane.fetch(session=(session, 3))) == [("t", 0)]
    assert told(plane.fetch(session=(session, 4))) == []


def test_a_deleted_topic_is_an_error_in_its_sessions(plane):
    session = opened(plane, ("u", 0, 0), version=13)
    plane.delete_topic("u")
    response = plane.fetch(session=(session, 1), version=13)
    assert response.responses[0].partitions[0].error_code == errors.UnknownTopicId.code


def test_a_known_partition_is_asked_for_in_a_later_leader_epoch(plane):
    response = plane.fetch(("t", 0, 0), session=(0, 0), current_leader_epoch=0)
    partition = plane.partition()
    isr = partition.leader.isr
    isr.leader_epoch = 1
    partition.make_leader(isr, partition.log)
    fenced = plane.fetch(session=(response.session_id, 1))
    assert fenced.responses[0].partitions[0].error_code == errors.FencedLeaderEpoch.code
    current = plane.fetch(("t", 0, 0), session=(response.session_id, 2), current_leader_epoch=1)
    assert current.responses[0].partitions[0].error_code == 0


def test_with_little_room_partitions_take_turns(plane):
    for index in range(3):
        plane.produce("x" * 100, "y" * 100, index=index)
    session = opened(plane, ("t", 0, 2), ("t", 1, 2), ("t", 2, 2))
    for index in range(3):
        plane.produce("x" * 100, index=index)
    order = []
    for epoch in range(1, 5):
        order += told_records(plane.fetch(session=(session, epoch), max_bytes=200))
    assert order == [("t", 0), ("t", 1), ("t", 2), ("t", 0)]


def told_records(response):
    return [
        (topic.topic, data.partition_index)
        for topic in response.responses
        for data in topic.partitions
        if len(data.records)
    ]


def test_an_idle_session_looks_at_no_partition(plane):
    session = opened(plane, ("t", 0, 0), ("t", 1, 0), ("u", 0, 0))
    plane.fetch(session=(session, 1))
    assert not plane.replicas.sessions.get(session).fresh
    plane.produce("a")
    assert [entry.index for entry in plane.replicas.sessions.get(session).fresh] == [0]
    assert plane.partition().watchers is None, "told once: the next append costs nothing"


def parked(plane, session, epoch, version=17):
    request = plane.fetch_request(session=(session, epoch), version=version, max_wait_ms=500)
    pending = plane.on_reactor(lambda: plane.send(request, version))
    assert not pending.is_done
    return lambda: plane.decode(plane.wait(pending), request, version), pending


def test_news_of_a_partition_are_work_for_who_follows_it_and_for_nobody_else(plane):
    plane.create_topic("wide", 100)
    everything = [("wide", index, 0) for index in range(100)]
    sessions = [opened(plane, *everything, version=17) for _ in range(3)]
    others = [opened(plane, *everything[:-1], version=17) for _ in range(5)]
    waiting = {session: parked(plane, session, 1) for session in sessions + others}
    plane.produce("a", topic="wide", index=99)
    plane.sleep(1)
    assert [session for session, (_, pending) in waiting.items() if pending.is_done] == sessions
    for session, (answer, _) in waiting.items():
        cached = plane.replicas.sessions.get(session)
        assert [entry.index for entry in cached.fresh] == ([99] if session in sessions else [])
        assert len(told(answer())) == (1 if session in sessions else 0)


def test_a_fetch_that_waited_in_vain_leaves_nothing_behind(plane):
    session = opened(plane, ("t", 0, 0), ("t", 1, 0), version=17)
    gc.collect()
    gc.disable()
    try:
        for epoch in range(1, 4):
            answer, _ = parked(plane, session, epoch)
            assert told(answer()) == []
            del answer, _
        left = [made for made in gc.get_objects() if isinstance(made, (DelayedFetch, FetchParameters))]
    finally:
        gc.enable()
    assert left == [], "a cycle: only a garbage collection would find it"
    assert plane.replicas.purgatories["Fetch"].size == 0


def test_who_is_displaced_can_be_told_by_age_without_a_search():
    found = cache(1)
    old = session(5)
    assert found.maybe_add(old, 0)
    for now_ms in range(0, 3 * EVICTION_MS, EVICTION_MS // 4):
        found.touch(old, now_ms)
        assert old.is_old == (now_ms > EVICTION_MS)
    assert found._evictable_by_all == [old.eviction_key] and found.partition_count == 5
    old.size = 7
    found.touch(old, 3 * EVICTION_MS)
    assert found._evictable_by_all == [(False, 7, old.id)] and found.partition_count == 7


def test_epochs_wrap_to_one():
    assert [next_epoch(epoch) for epoch in (0, 1, EPOCH_MAX, -1)] == [1, 2, 1, -1]


# The cache.


def cache(slots):
    return SessionCache(slots, SimRng(1).stream("sessions"), Counter())


def session(size, *, is_privileged=False):
    made = FetchSession(uses_topic_ids=False, is_privileged=is_privileged)
    made.size = size
    return made


def test_no_slot_no_session():
    assert not cache(0).maybe_add(session(5), 0)


def test_an_unused_session_goes_first():
    found = cache(2)
    old, young = session(9), session(1)
    assert found.maybe_add(old, 0) and found.maybe_add(young, 10)
    assert not found.maybe_add(session(5), EVICTION_MS), "used within two minutes, and nobody is old enough"
    assert found.maybe_add(session(1), EVICTION_MS + 1)
    assert found.get(old.id) is None and found.get(young.id) is young and old.is_closed
    assert found._evictions.count == 1


def test_use_puts_a_session_at_the_end_of_the_line():
    found = cache(2)
    used, unused = session(1), session(1)
    assert found.maybe_add(used, 0) and found.maybe_add(unused, 10)
    found.touch(used, EVICTION_MS)
    assert found.maybe_add(session(1), EVICTION_MS + 11)
    assert found.get(used.id) is used and found.get(unused.id) is None


@pytest.mark.contract("D39")
def test_a_larger_one_displaces_a_smaller_that_is_old_enough():
    found = cache(2)
    small, large = session(3), session(8)
    for each in (small, large):
        assert found.maybe_add(each, 0)
    later = EVICTION_MS + 1
    for each in (small, large):
        found.touch(each, later)
    assert not found.maybe_add(session(2), later), "smaller than all"
    assert found.maybe_add(session(5), later)
    assert found.get(small.id) is None and found.get(large.id) is large


def test_a_follower_displaces_a_consumer_of_any_age():
    found = cache(1)
    consumer = session(100)
    assert found.maybe_add(consumer, 0)
    assert not found.maybe_add(session(200), 1)
    assert found.maybe_add(session(1, is_privileged=True), 1)
    assert found.get(consumer.id) is None
    assert not found.maybe_add(session(1000), 2), "a consumer does not displace a follower"


def test_partitions_are_counted_as_sessions_grow_and_go():
    found = cache(3)
    first, second = session(3), session(4)
    found.maybe_add(first, 0)
    found.maybe_add(second, 0)
    assert found.partition_count == 7
    first.size = 10
    found.touch(first, 1)
    assert found.partition_count == 14
    found.remove(first)
    assert (found.partition_count, len(found)) == (4, 1)


def test_a_topic_of_which_all_is_forgotten_leaves_nothing_in_the_session(plane):
    session = FetchSession(uses_topic_ids=False, is_privileged=False)
    session.update(plane.fetch_request(("t", 0, 0), ("t", 1, 0), ("u", 0, 0)))
    session.update(plane.fetch_request(forget=[("t", 0)]))
    assert (set(session.topics), session.size) == ({"t", "u"}, 2)
    session.update(plane.fetch_request(forget=[("t", 1), ("t", 2)]))
    assert (set(session.topics), session.size) == ({"u"}, 1), "or names would pile up as long as the session lasts"
