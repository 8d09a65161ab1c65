"""Any sequence of what a log manager does, with crashes anywhere, against a model of what must be left."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from manager_kit import OTHER_ID, TOPIC_ID, CrashedError
from manager_model import Model
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED
from odradek.sim.node import Node

PROFILES = [KEEP_ALL, LOSE_ALL, MIXED]
PARTITIONS = st.integers(0, 1)
PATHS = st.sampled_from(["data/a", "data/b"])


class LogManagerMachine(RuleBasedStateMachine):
    """A crash is armed for one of the next disk operations; the operation that meets it fails, and the broker starts
    again. So every rule is also tried with a crash in its middle."""

    def __init__(self):
        super().__init__()
        self.written = 0

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed):
        self.model = Model(seed, partitions=2)
        self.model.broker.start()

    def attempt(self, work):
        try:
            work()
        except CrashedError:
            self.recover()

    def recover(self):
        self.model.broker.start()
        self.model.check()

    def has(self, number):
        return self.model.log(number) is not None

    @rule(number=PARTITIONS, path=PATHS, topic_id=st.sampled_from([TOPIC_ID, OTHER_ID]))
    def create(self, number, path, topic_id):
        if not self.has(number):
            self.attempt(lambda: self.model.create(number, topic_id, path))

    @rule(number=PARTITIONS, count=st.integers(1, 3))
    def append(self, number, count):
        if self.has(number):
            self.written += count
            added = [f"{self.written - index}" for index in range(count)]
            self.attempt(lambda: self.model.append(number, *added))

    @rule(number=PARTITIONS)
    def flush(self, number):
        if self.has(number):
            self.attempt(lambda: self.model.flush(number))

    @rule(number=PARTITIONS)
    def roll(self, number):
        if self.has(number):
            self.attempt(lambda: self.model.roll(number))

    @rule(number=PARTITIONS)
    def delete(self, number):
        if self.has(number):
            self.attempt(lambda: self.model.delete(number))

    @rule(number=PARTITIONS, path=PATHS)
    def move(self, number, path):
        if self.has(number) and not self.model.log(number).directory.startswith(path):
            self.attempt(lambda: self.model.move(number, path))

    @rule(number=PARTITIONS, data=st.data())
    def truncate(self, number, data):
        if self.has(number):
            offset = data.draw(st.integers(0, self.model.log(number).log_end_offset))
            self.attempt(lambda: self.model.truncate(number, offset))

    @rule(milliseconds=st.sampled_from([1, 10, 60, 200]))
    def sleep(self, milliseconds):
        self.attempt(lambda: self.model.broker.sleep(milliseconds))

    @rule()
    def restart(self):
        self.attempt(self.model.restart)

    @rule(nth=st.integers(1, 40), profile=st.sampled_from(PROFILES))
    def arm_a_crash(self, nth, profile):
        Node.crash.__defaults__ = (profile,)
        self.model.broker.disk.crash_at(nth)

    @rule(profile=st.sampled_from(PROFILES))
    def crash(self, profile):
        self.model.broker.crash(profile)
        self.recover()

    @invariant()
    @precondition(lambda self: hasattr(self, "model"))
    def the_books_agree(self):
        manager = self.model.broker.manager
        by_dir = {key: log for log_dir in manager.dirs.by_path.values() for key, log in log_dir.logs.items()}
        assert by_dir == manager.current
        assert all(manager.dirs.of_log(log).logs[key] is log for key, log in manager.current.items())
        assert not any(log.is_closed for log in manager.current.values())

    def teardown(self):
        Node.crash.__defaults__ = (MIXED,)


TestLogManagerMachine = LogManagerMachine.TestCase
TestLogManagerMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
