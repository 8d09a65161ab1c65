"""Whatever a program and a cluster do, in any order: each partition's records come in the order of their offsets, none
is left out and none comes twice, and what is buffered stays within its bound.

The model of a partition is the offset that must come next: where the last record was, or where a seek went.
"""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fetch_kit import FetchStory
from odradek.client.consumer.fetch_config import FetchConfig
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import FetchResponse
from odradek.protocol.topic_partition import TopicPartition

PLACES = [TopicPartition("t", number) for number in range(3)] + [TopicPartition("u", 0)]
CONFIG = FetchConfig(partition_max_bytes=400, buffer_bytes=1500, max_bytes=1000)
BATCH_BYTES_MAX = 400  # no batch of this test is larger than what is asked for


class FetchMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.story = FetchStory({"t": 3, "u": 1}, nodes=2, config=CONFIG)
        self.next = {}  # of each assigned partition, the offset that has to come next
        self.story.begin(*PLACES[:2])
        self.next = dict.fromkeys(PLACES[:2], 0)

    # The cluster

    @rule(place=st.sampled_from(PLACES), count=st.integers(1, 4), codec=st.sampled_from([0, 1]))
    def append(self, place, count, codec):
        self.story.log(*place).append(count, size=20, codec=codec)

    @rule(data=st.data())
    def answer(self, data):
        if self.story.out:
            self.story.answer(at=data.draw(st.integers(0, len(self.story.out) - 1)))

    @rule(data=st.data())
    def lose(self, data):
        if self.story.out:
            self.story.fail(at=data.draw(st.integers(0, len(self.story.out) - 1)))

    @rule()
    def forget_sessions(self):
        for broker in self.story.cluster.brokers.values():
            broker.sessions.clear()

    @precondition(lambda self: self.story.fetches())
    @rule(error=st.sampled_from([errors.InvalidFetchSessionEpoch, errors.UnknownTopicId, errors.UnknownServerError]))
    def answer_with_an_error(self, error):
        at = self.story.out.index(self.story.fetches()[0])
        self.story.answer(FetchResponse(error_code=error.code), at=at)

    @rule(place=st.sampled_from(PLACES), node_id=st.sampled_from([1, 2]), is_told=st.booleans())
    def move_leader(self, place, node_id, is_told):
        self.story.cluster.move(place, node_id)
        if is_told:
            self.story.refresh().pump()

    @rule(keeps=st.booleans())
    def keep_sessions(self, keeps):
        self.story.cluster.brokers[1].keeps_sessions = keeps

    @rule(ms=st.sampled_from([1, 60, 150, 2000]))
    def time_passes(self, ms):
        self.story.refresh().wait(ms)

    # The program

    @rule(max_records=st.integers(1, 5))
    def poll(self, max_records):
        records = self.story.buffer.take(max_records)
        assert len(records) <= max_records
        self._check(records)
        self.story.pump()

    @rule(places=st.sets(st.sampled_from(PLACES)))
    def pause(self, places):
        self.story.subscriptions.pause(places & self.story.subscriptions.assigned())

    @rule(places=st.sets(st.sampled_from(PLACES)))
    def resume(self, places):
        self.story.subscriptions.resume(places & self.story.subscriptions.assigned())
        self.story.pump()

    @rule(places=st.sets(st.sampled_from(PLACES)), is_marked=st.booleans())
    def revoke_or_not(self, places, is_marked):
        if is_marked:
            self.story.subscriptions.mark_revoking(places)
        else:
            self.story.subscriptions.unmark_revoking(places)
        self.story.pump()

    @rule(place=st.sampled_from(PLACES), data=st.data())
    def seek(self, place, data):
        if place in self.next:
            offset = data.draw(st.integers(0, self.story.log(*place).end))
            self.story.subscriptions.seek(place, offset)
            self.next[place] = offset
            self.story.pump()

    @rule(place=st.sampled_from(PLACES))
    def seek_to_beginning(self, place):
        if place in self.next:
            self.story.subscriptions.request_reset([place])
            self.next[place] = 0
            self.story.pump()

    @rule(places=st.sets(st.sampled_from(PLACES), min_size=1))
    def reassign(self, places):
        self.story.assign(*sorted(places))
        self.next = {place: self.next.get(place, 0) for place in places}
        for place in self.story.subscriptions.needing_position():
            self.next[place] = 0
            self.story.subscriptions.seek(place, 0)
        self.story.pump()

    # What must hold

    def _check(self, records):
        for record in records:
            place = TopicPartition(record.topic, record.partition)
            assert place in self.next, f"{place} is not assigned"
            assert place not in self.story.subscriptions.paused()
            assert record.offset == self.next[place]
            assert record.value.startswith(b"%d." % record.offset)
            self.next[place] += 1
        for place, after in records.next_offsets().items():
            assert after.offset == self.next[place]
            assert self.story.subscriptions.position(place) == self.next[place]

    @invariant()
    def memory_is_bounded(self):
        assert self.story.validate() <= CONFIG.buffer_bytes
        for state in self.story.subscriptions:
            assert state.buffered_bytes <= 2 * CONFIG.partition_max_bytes

    def teardown(self):
        """Everything that is there comes, once nothing stands in its way any more."""
        story = self.story
        story.subscriptions.unmark_revoking(PLACES)
        story.subscriptions.resume(story.subscriptions.assigned())
        for _ in range(400):
            story.refresh().wait(1000)
            for _ in list(story.out):
                story.answer()
            self._check(story.buffer.take(100))
            if all(self.next[place] == story.log(*place).end for place in self.next):
                break
        assert self.next == {place: story.log(*place).end for place in self.next}


TestFetchMachine = FetchMachine.TestCase
TestFetchMachine.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
