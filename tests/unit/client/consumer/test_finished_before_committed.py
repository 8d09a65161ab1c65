"""Whatever a program does, in any order, nothing is committed that it has not come back from (trap 2 of the clients),
and each partition's records come in order, without a gap and without a repeat but for what a seek asks for.
"""

import itertools
import time

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from odradek import AdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from odradek.testing import Broker

RECORDS = 40
PLACES = [TopicPartition("t", 0), TopicPartition("t", 1)]
numbers = itertools.count()


@pytest.fixture(scope="module")
def broker():
    with Broker() as broker:
        broker.create_topic("t", partitions=2)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            for partition in range(2):
                producer.send_many("t", [b"x"] * RECORDS, partition=partition).result(60)
        yield broker


class Program(RuleBasedStateMachine):
    broker = admin = None

    def __init__(self):
        super().__init__()
        self.group = f"group-{next(numbers)}"
        self.next = dict.fromkeys(PLACES, 0)  # what is to come next of each
        self.finished = {place: {0} for place in PLACES}  # behind each record that the program has come back from
        self._open()

    def _open(self):
        self.consumer = KafkaConsumer(
            bootstrap_servers=self.broker.bootstrap,
            group_id=self.group,
            auto_offset_reset="earliest",
            auto_commit_interval_ms=1,
            max_poll_records=3,
            fetch_max_wait_ms=20,
        )
        self.consumer.assign(PLACES)

    def committed(self):
        found = self.admin.list_group_offsets(self.group)[self.group]
        return {place: offset.offset for place, offset in found.items()}

    def comes_back(self):
        for place in PLACES:
            self.finished[place].add(self.next[place])

    def takes(self, records):
        for record in records:
            place = TopicPartition(record.topic, record.partition)
            assert record.offset == self.next[place]
            self.next[place] = record.offset + 1

    @rule()
    def poll(self):
        self.comes_back()
        self.takes(self.consumer.poll(0.05))

    @rule(count=st.integers(1, 5))
    def iterate(self, count):
        for _ in range(count):
            self.comes_back()
            for record in self.consumer.records(idle=0.05):
                self.takes([record])
                break

    @rule(place=st.sampled_from(PLACES), offset=st.integers(0, RECORDS))
    def seek(self, place, offset):
        self.consumer.seek(place, offset)
        self.next[place] = offset
        self.finished[place].add(offset)

    @rule(place=st.sampled_from(PLACES))
    def pause(self, place):
        self.consumer.pause(place)

    @rule()
    def resume(self):
        self.consumer.resume(*PLACES)

    @rule()
    def commit(self):
        self.consumer.commit_sync()
        committed = self.committed()
        assert {place: committed.get(place, 0) for place in PLACES} == self.next, "what the program says is done, is"
        self.comes_back()

    @rule()
    def time_passes(self):
        time.sleep(0.002)  # the interval of automatic commits

    @rule(error=st.booleans())
    def close_and_open(self, error):
        try:
            with self.consumer:
                if error:
                    raise ZeroDivisionError
                self.comes_back()
        except ZeroDivisionError:
            pass
        self._check()
        committed = self.committed()
        self.next = {place: committed.get(place, 0) for place in PLACES}
        self._open()

    def _check(self):
        for place, offset in self.committed().items():
            assert offset in self.finished[place], (place, offset, self.finished, self.next)

    def teardown(self):
        self._check()
        self.consumer.close(commit=False)
        self._check()


@pytest.mark.contract("B79", "B80", "B63", "B66")
def test_what_is_committed_is_finished(broker):
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        Program.broker, Program.admin = broker, admin
        run_state_machine_as_test(
            Program,
            settings=settings(
                max_examples=40,
                stateful_step_count=20,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
            ),
        )
