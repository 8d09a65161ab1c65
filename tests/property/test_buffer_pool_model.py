"""The buffer pool against a model that knows only who has how much, and who came first."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from accumulator_kit import parts_of
from odradek.client.producer.buffer_pool import BufferPool

TOTAL, POOLABLE = 1000, 100
sizes = st.one_of(st.just(POOLABLE), st.integers(1, TOTAL))


class PoolMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.pool = BufferPool(TOTAL, POOLABLE)
        self.held = []
        self.line = []

    @rule(size=sizes)
    def take(self, size):
        before = self.pool.available_bytes
        taken = self.pool.take(size)
        assert taken == (not self.line and before >= size)
        if taken:
            self.held.append(size)

    @rule(size=sizes)
    def wait(self, size):
        waiter = self.pool.wait(size, lambda: None)
        self.line.append(waiter)
        self.notice_served()

    @rule(index=st.integers(0, 20))
    def give_back(self, index):
        if self.held:
            self.pool.give_back(self.held.pop(index % len(self.held)))
            self.notice_served()

    @rule(index=st.integers(0, 20))
    def leave(self, index):
        if self.line:
            self.pool.leave(self.line.pop(index % len(self.line)))
            self.notice_served()

    def notice_served(self):
        """First come, first served: those that are served are the first of the line."""
        served = [waiter.is_served for waiter in self.line]
        assert served == sorted(served, reverse=True)
        for waiter in self.line[: sum(served)]:
            self.held.append(waiter.needed_bytes)
        del self.line[: sum(served)]

    @invariant()
    def nothing_is_lost(self):
        gathered = sum(waiter.gathered_bytes for waiter in self.line)
        assert sum(self.held) + gathered + self.pool.available_bytes == TOTAL
        assert min(parts_of(self.pool)) >= 0

    @invariant()
    def only_the_first_gathers_and_nobody_waits_beside_enough(self):
        assert all(waiter.gathered_bytes == 0 for waiter in self.line[1:])
        if self.line:
            assert self.pool.available_bytes == 0


TestBufferPool = PoolMachine.TestCase
