"""A share-partition by itself: who has which offsets, what comes back, and what is done with."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.protocol import errors
from odradek.replica.share.partition import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    AcquireLimits,
    SharePartition,
)
from odradek.replica.share.persisted import ACKNOWLEDGED, ARCHIVED, AVAILABLE, PersistedState, StateBatch

LOCK_MS = 100
LIMITS = AcquireLimits(records_max=500, batch_size=500, locks_max=2000)


def fresh(start=0, *, delivery_limit=5, batches=()):
    core = SharePartition(PersistedState(1, start, tuple(batches)), start, delivery_limit)
    core.validate()
    return core


def acquire(core, member, *batches, limits=LIMITS, now_ms=0, read_to=None):
    """As (first, last, count); the batches are what the log holds from the next fetch offset on."""
    read_to = batches[-1][1] if read_to is None else read_to
    acquired = core.acquire(member, batches, read_to, limits, now_ms + LOCK_MS)
    core.validate()
    return [tuple(each) for each in acquired]


def acknowledge(core, member, first, last, *types, now_ms=0):
    transition = core.acknowledge(member, [Acknowledgement(first, last, types)], now_ms, LOCK_MS)
    core.commit(transition)
    core.validate()
    return [tuple(each) for each in transition.batches]


def give_back(core, transition):
    core.commit(transition)
    core.validate()
    return [tuple(each) for each in transition.batches]


def test_what_is_accepted_is_done_with():
    core = fresh()
    assert acquire(core, "a", (0, 9)) == [(0, 9, 1)]
    assert acknowledge(core, "a", 0, 9, ACCEPT) == [(0, 9, ACKNOWLEDGED, 1)]
    assert (core.start_offset, core.next_fetch_offset(), core.window) == (10, 10, 0)


def test_what_is_in_the_middle_waits_for_what_is_before_it():
    core = fresh()
    acquire(core, "a", (0, 9))
    acknowledge(core, "a", 3, 5, ACCEPT)
    assert (core.start_offset, core.delivery_complete_count) == (0, 3)
    acknowledge(core, "a", 0, 2, ACCEPT)
    assert (core.start_offset, core.delivery_complete_count) == (6, 0)


def test_two_members_never_have_the_same_record():
    core = fresh()
    assert acquire(core, "a", (0, 4)) == [(0, 4, 1)]
    assert acquire(core, "b", (5, 9)) == [(5, 9, 1)]
    assert acquire(core, "c", (0, 9)) == []


def test_what_is_released_comes_again_and_is_counted():
    core = fresh()
    acquire(core, "a", (0, 9))
    assert acknowledge(core, "a", 2, 3, RELEASE) == [(2, 3, AVAILABLE, 1)]
    assert core.next_fetch_offset() == 2
    assert acquire(core, "b", (0, 9)) == [(2, 3, 2)]
    assert core.next_fetch_offset() == 10


def test_one_type_for_each_record():
    core = fresh()
    acquire(core, "a", (0, 4))
    changed = acknowledge(core, "a", 0, 4, ACCEPT, ACCEPT, RELEASE, REJECT, GAP)
    assert changed == [(0, 1, ACKNOWLEDGED, 1), (2, 2, AVAILABLE, 1), (3, 3, ARCHIVED, 1), (4, 4, ARCHIVED, 1)]
    assert (core.start_offset, core.next_fetch_offset()) == (2, 2)


def test_the_last_delivery_is_the_last():
    core = fresh(delivery_limit=2)
    acquire(core, "a", (0, 0))
    assert acknowledge(core, "a", 0, 0, RELEASE) == [(0, 0, AVAILABLE, 1)]
    assert acquire(core, "a", (0, 0)) == [(0, 0, 2)]
    assert acknowledge(core, "a", 0, 0, RELEASE) == [(0, 0, ARCHIVED, 2)]
    assert core.start_offset == 1


def test_a_lock_ends():
    core = fresh(delivery_limit=2)
    acquire(core, "a", (0, 4), now_ms=0)
    acquire(core, "b", (5, 9), now_ms=50)
    assert core.next_expiry_ms() == LOCK_MS
    assert give_back(core, core.expire(LOCK_MS - 1)) == []
    assert give_back(core, core.expire(LOCK_MS)) == [(0, 4, AVAILABLE, 1)]
    assert core.next_expiry_ms() == 50 + LOCK_MS
    with pytest.raises(errors.InvalidRecordState):
        acknowledge(core, "a", 0, 4, ACCEPT)
    acquire(core, "b", (0, 4), now_ms=60)
    assert give_back(core, core.expire(1000)) == [(0, 4, ARCHIVED, 2), (5, 9, AVAILABLE, 1)]


def test_a_lock_that_is_renewed_lasts_longer_and_nothing_is_written():
    core = fresh()
    acquire(core, "a", (0, 4))
    assert acknowledge(core, "a", 0, 4, RENEW, now_ms=80) == []
    assert give_back(core, core.expire(LOCK_MS)) == []
    assert core.next_expiry_ms() == 80 + LOCK_MS
    acknowledge(core, "a", 0, 4, ACCEPT)
    assert core.start_offset == 5


def test_what_a_member_had_comes_back_when_it_is_gone():
    core = fresh()
    acquire(core, "a", (0, 4))
    acquire(core, "b", (5, 9))
    assert give_back(core, core.release("a")) == [(0, 4, AVAILABLE, 1)]
    assert acquire(core, "b", (0, 9)) == [(0, 4, 2)]


@pytest.mark.parametrize(
    ("member", "first", "last", "error"),
    [
        ("b", 0, 4, errors.InvalidRecordState),
        ("a", 3, 7, errors.InvalidRequest),
        ("a", 0, 2, None),
    ],
)
def test_who_may_acknowledge(member, first, last, error):
    core = fresh()
    acquire(core, "a", (0, 4))
    if error is None:
        acknowledge(core, member, first, last, ACCEPT)
        return
    with pytest.raises(error):
        acknowledge(core, member, first, last, ACCEPT)
    core.validate()
    assert acknowledge(core, "a", 0, 4, ACCEPT) == [(0, 4, ACKNOWLEDGED, 1)]


def test_all_acknowledgements_or_none():
    core = fresh()
    acquire(core, "a", (0, 4))
    wanted = [Acknowledgement(0, 1, (ACCEPT,)), Acknowledgement(3, 9, (ACCEPT,))]
    with pytest.raises(errors.InvalidRequest):
        core.acknowledge("a", wanted, 0, LOCK_MS)
    assert acknowledge(core, "a", 0, 4, ACCEPT) == [(0, 1, ACKNOWLEDGED, 1), (2, 4, ACKNOWLEDGED, 1)]


def test_before_the_start_offset_everything_is_done_with():
    core = fresh()
    acquire(core, "a", (0, 9))
    acknowledge(core, "a", 0, 4, ACCEPT)
    assert acknowledge(core, "a", 2, 7, ACCEPT) == [(5, 7, ACKNOWLEDGED, 1)]
    assert acknowledge(core, "a", 0, 3, ACCEPT) == []


def test_past_the_end_while_nothing_is_in_flight():
    """What an earlier leader has handed out is no mistake of the member's."""
    core = fresh()
    for first, last in [(0, 0), (5, 9)]:
        with pytest.raises(errors.InvalidRecordState):
            acknowledge(core, "a", first, last, ACCEPT)
    acquire(core, "a", (0, 4))
    with pytest.raises(errors.InvalidRequest):
        acknowledge(core, "a", 5, 5, ACCEPT)
    acknowledge(core, "a", 0, 4, ACCEPT)
    with pytest.raises(errors.InvalidRecordState):
        acknowledge(core, "a", 4, 5, ACCEPT)


def test_what_is_being_written_is_nobody_elses_business():
    core = fresh()
    acquire(core, "a", (0, 4))
    transition = core.acknowledge("a", [Acknowledgement(0, 2, (RELEASE,))], 0, LOCK_MS)
    assert acquire(core, "b", (0, 4)) == []
    assert [tuple(each) for each in core.expire(1000).batches] == [(3, 4, AVAILABLE, 1)]
    with pytest.raises(errors.InvalidRecordState):
        core.acknowledge("a", [Acknowledgement(0, 2, (ACCEPT,))], 0, LOCK_MS)
    core.rollback(transition)
    core.validate()
    assert acknowledge(core, "a", 0, 2, ACCEPT) == [(0, 2, ACKNOWLEDGED, 1)]


def test_gaps_are_passed_over():
    core = fresh()
    assert acquire(core, "a", (2, 4), (7, 9), read_to=11) == [(2, 4, 1), (7, 9, 1)]
    assert core.start_offset == 2
    acknowledge(core, "a", 2, 4, ACCEPT)
    assert core.start_offset == 7
    acknowledge(core, "a", 7, 9, ACCEPT)
    assert (core.start_offset, core.next_fetch_offset()) == (12, 12)


def test_nothing_but_gaps():
    core = fresh()
    assert acquire(core, "a", read_to=4) == []
    assert (core.start_offset, core.next_fetch_offset()) == (5, 5)


def test_a_batch_is_not_cut_unless_the_reader_wants_it_so():
    limits = LIMITS._replace(records_max=5)
    core = fresh()
    assert acquire(core, "a", (0, 3), (4, 9), (10, 19), limits=limits) == [(0, 9, 1)]
    core = fresh()
    assert acquire(core, "a", (0, 3), (4, 9), limits=limits._replace(is_exact=True)) == [(0, 4, 1)]
    assert core.next_fetch_offset() == 5
    acknowledge(core, "a", 1, 2, RELEASE)
    assert acquire(core, "a", (0, 9), limits=limits._replace(is_exact=True)) == [(1, 2, 2), (5, 7, 1)]


def test_what_is_told_is_cut_at_batches():
    limits = LIMITS._replace(batch_size=4)
    assert acquire(fresh(), "a", (0, 2), (3, 5), (6, 8), limits=limits) == [(0, 5, 1), (6, 8, 1)]


def test_the_window_is_bounded():
    limits = LIMITS._replace(locks_max=10)
    core = fresh()
    assert acquire(core, "a", (0, 5), (6, 11), (12, 17), limits=limits) == [(0, 11, 1)]
    assert not core.can_acquire(10)
    acknowledge(core, "a", 3, 3, RELEASE)
    assert core.can_acquire(10)
    assert acquire(core, "b", (0, 5), (6, 11), (12, 17), limits=limits) == [(3, 3, 2)]
    acknowledge(core, "a", 0, 2, ACCEPT)
    assert core.can_acquire(10)


def test_retention_takes_what_is_in_flight():
    core = fresh()
    acquire(core, "a", (0, 9))
    core.log_start_moved(4)
    core.validate()
    assert core.start_offset == 4
    assert acknowledge(core, "a", 0, 5, ACCEPT) == [(4, 5, ACKNOWLEDGED, 1)]
    core.log_start_moved(20)
    core.validate()
    assert (core.start_offset, core.next_fetch_offset()) == (20, 20)


def test_the_next_leader_goes_on():
    batches = [StateBatch(3, 5, ACKNOWLEDGED, 1), StateBatch(8, 9, AVAILABLE, 2)]
    core = fresh(start=0, batches=batches)
    assert core.next_fetch_offset() == 0
    assert acquire(core, "a", (0, 11)) == [(0, 2, 1), (6, 7, 1), (8, 9, 3), (10, 11, 1)]


def test_the_next_leader_begins_behind_what_is_done_with():
    core = fresh(start=4, batches=[StateBatch(0, 5, ACKNOWLEDGED, 1), StateBatch(6, 6, ARCHIVED, 5)])
    assert (core.start_offset, core.next_fetch_offset()) == (7, 7)


MEMBERS = st.sampled_from(["a", "b"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("acquire"), MEMBERS, st.integers(1, 6)),
        st.tuples(st.just("acknowledge"), MEMBERS, st.integers(0, 40), st.integers(0, 5), st.sampled_from(range(5))),
        st.tuples(st.just("expire"), st.integers(0, 300)),
        st.tuples(st.just("release"), MEMBERS),
        st.tuples(st.just("retention"), st.integers(0, 40)),
    ),
    max_size=40,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_whatever_happens_every_record_ends_once(steps):
    """A model per offset: delivered to one at a time, never again once it is done with."""
    core = fresh(delivery_limit=3)
    owner, done, deliveries = {}, set(), {}
    for at, (kind, *rest) in enumerate(steps):
        if kind == "acquire":
            member, size = rest
            first = core.next_fetch_offset()
            for low, high, count in acquire(core, member, (first, first + size - 1), now_ms=at):
                for offset in range(low, high + 1):
                    assert offset not in owner and offset not in done
                    deliveries[offset] = deliveries.get(offset, 0) + 1
                    assert count == deliveries[offset] <= 3
                    owner[offset] = member
        elif kind == "acknowledge":
            member, low, size, ack = rest
            offsets = [each for each in range(low, low + size + 1) if each >= core.start_offset]
            try:
                acknowledge(core, member, low, low + size, ack, now_ms=at)
            except errors.KafkaError:
                assert any(owner.get(each) != member for each in offsets)
                continue
            for offset in offsets:
                assert owner[offset] == member
                if ack != RENEW:
                    del owner[offset]
                    if ack != RELEASE or deliveries[offset] == 3:
                        done.add(offset)
        elif kind == "retention":
            core.log_start_moved(rest[0])
            core.validate()
            owner = {each: who for each, who in owner.items() if each >= rest[0]}
            done.update(range(rest[0]))
        else:
            transition = core.expire(rest[0]) if kind == "expire" else core.release(rest[0])
            for low, high, state, _ in give_back(core, transition):
                for offset in range(low, high + 1):
                    del owner[offset]
                    if state == ARCHIVED:
                        done.add(offset)
    assert all(offset in done for offset in range(core.start_offset))
