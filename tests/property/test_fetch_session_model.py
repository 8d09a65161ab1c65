"""An incremental session tells the reader what a full fetch would: a model with random appends, moves and changes."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from replica_kit import SimPlane

PARTITIONS = 4
partitions = st.integers(0, PARTITIONS - 1)


class SessionModel(RuleBasedStateMachine):
    """`known` is the reader's picture of its partitions, made of the incremental answers alone."""

    @initialize(
        by_id=st.booleans(),
        is_committed_only=st.booleans(),
    )
    def open(self, by_id, is_committed_only):
        self.plane = SimPlane()
        self.plane.create_topic("t", PARTITIONS)
        self.plane.create_topic("gone", 1)
        self.version = 13 if by_id else 12
        self.isolation_level = int(is_committed_only)
        self.session = 0
        self.epoch = 0
        self.offsets = {}  # what the reader asks for, by (topic, index)
        self.changes = {}
        self.forgotten = []
        self.known = {}
        self.want(("t", 0), 0)

    def want(self, partition, offset):
        self.offsets[partition] = offset
        self.changes[partition] = offset
        if partition in self.forgotten:
            self.forgotten.remove(partition)

    @rule(index=partitions, count=st.integers(1, 3))
    def append(self, index, count):
        self.plane.produce(*["x" * 50] * count, index=index)

    @rule(index=partitions)
    def delete_records(self, index):
        partition = self.plane.partition(index=index)
        if partition.log.log_start_offset < partition.log.high_watermark:
            partition.log.increment_log_start_offset(partition.log.log_start_offset + 1)
            partition.wake()

    @rule(index=partitions)
    def begin_at_the_end(self, index):
        self.want(("t", index), self.plane.log(index=index).log_end_offset)

    @rule(index=partitions)
    def begin_anywhere(self, index):
        log = self.plane.log(index=index)
        self.want(("t", index), max(log.log_start_offset, log.log_end_offset - 1))

    @rule()
    def add_another_topic(self):
        self.want(("gone", 0), 0)

    @precondition(lambda self: len(self.offsets) > 1 and not self.changes)
    @rule(data=st.data())
    def forget(self, data):
        partition = data.draw(st.sampled_from(sorted(self.offsets)))
        del self.offsets[partition]
        self.changes.pop(partition, None)
        self.forgotten.append(partition)

    @rule()
    def delete_the_other_topic(self):
        if self.plane.partition("gone") is not None:
            topic_id = self.plane.topic_ids["gone"]
            self.plane.delete_topic("gone")
            self.plane.topic_ids["gone"] = topic_id

    @rule(max_bytes=st.sampled_from([1, 200, 1 << 20]))
    def poll(self, max_bytes):
        response = self.ask(max_bytes)
        assert response.error_code == 0, response
        self.session, self.epoch = response.session_id, self.epoch + 1
        for topic in response.responses:
            for data in topic.partitions:
                self.take(self.name_of(topic), data)

    def ask(self, max_bytes):
        wanted = [(topic, index, offset) for (topic, index), offset in self.changes.items()]
        request = self.plane.fetch_request(
            *wanted,
            version=self.version,
            session=(self.session, self.epoch),
            forget=self.forgotten,
            max_bytes=max_bytes,
            isolation_level=self.isolation_level,
        )
        for partition in self.forgotten:
            self.known.pop(partition, None)
        self.changes, self.forgotten = {}, []
        return self.plane.ask(request, self.version)

    def name_of(self, topic):
        if self.version < 13:
            return topic.topic
        return next(name for name, topic_id in self.plane.topic_ids.items() if topic_id == topic.topic_id)

    def take(self, name, data):
        partition = (name, data.partition_index)
        assert partition in self.offsets, "told without being asked for"
        self.known[partition] = (data.error_code, data.high_watermark, data.log_start_offset)
        if len(data.records):
            self.want(partition, self.plane.log(*partition).log_end_offset)

    @rule()
    def catch_up(self):
        """With room enough, two rounds are enough: what is known then is what a full fetch says."""
        for _ in range(3):
            self.poll(1 << 20)
        full = self.plane.fetch(
            *[(topic, index, offset) for (topic, index), offset in self.offsets.items()],
            version=self.version,
            isolation_level=self.isolation_level,
        )
        expected = {
            (self.name_of(topic), data.partition_index): (data.error_code, data.high_watermark, data.log_start_offset)
            for topic in full.responses
            for data in topic.partitions
        }
        assert self.known == expected

    @invariant()
    def every_entry_is_fresh_or_watched(self):
        session = self.plane.replicas.sessions.get(self.session) if self.session else None
        if session is None:
            return
        for entry in session.entries():
            is_watched = entry.partition is not None and entry in (entry.partition.watchers or ())
            assert is_watched or entry in session.fresh


SessionModel.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestSessionModel = SessionModel.TestCase
