"""What a log manager's partitions may look like after a crash, kept up by the operations themselves."""

from manager_kit import OTHER_ID, TOPIC_ID, SimBroker, copy, values
from odradek.log import names
from odradek.sim.crash import KEEP_ALL

ABSENT = None
CONFIGS = {
    "log_initial_task_delay_ms": 10,
    "log_flush_offset_checkpoint_interval_ms": 50,
    "log_flush_start_offset_checkpoint_interval_ms": 50,
    "replica_high_watermark_checkpoint_interval_ms": 50,
    "log_segment_delete_delay_ms": 20,
}


class Expected:
    """What the next start may find of a partition: any prefix of `histories` that has all of `durable`."""

    def __init__(self):
        self.histories = [[]]
        self.durable = []
        self.may_be_absent = True
        self.may_be_present = False

    def check(self, found, name):
        if found is ABSENT:
            assert self.may_be_absent, f"{name} is gone"
            return
        assert self.may_be_present, f"{name} is back: {found}"
        assert any(found == history[: len(found)] for history in self.histories), f"{name}: {found}"
        if not self.may_be_absent:
            assert found[: len(self.durable)] == self.durable, f"{name} has lost of {self.durable}: {found}"


class Model:
    """A broker and what is expected of it. Every operation says beforehand what a crash in it may leave."""

    def __init__(self, seed, partitions=3):
        self.broker = SimBroker(seed, **CONFIGS)
        self.expected = {number: Expected() for number in range(partitions)}

    def log(self, number):
        return self.broker.manager.get("topic", number)

    def create(self, number, topic_id=TOPIC_ID, target=None):
        self.expected[number].may_be_present = True
        self.broker.create(partition=number, topic_id=topic_id, target_dir=target)
        self.expected[number].may_be_absent = False

    def append(self, number, *added):
        self.expected[number].histories[0].extend(added)
        self.broker.append(self.log(number), *added)

    def flush(self, number):
        written = values(self.log(number))
        self.broker.flush(self.log(number))
        self.expected[number].durable = written
        self.expected[number].histories = [list(written)]

    def restart(self):
        self.broker.restart()
        self.all_durable()

    def all_durable(self):
        """After a clean stop, and after a recovery: what a start has found is on the disk."""
        for number, expected in self.expected.items():
            log = self.log(number)
            expected.may_be_absent, expected.may_be_present = log is None, log is not None
            expected.durable = [] if log is None else values(log)
            expected.histories = [list(expected.durable)]

    def roll(self, number):
        self.broker.on_reactor(lambda: self.log(number).roll(self.broker.manager.now_ms))

    def delete(self, number):
        expected = self.expected[number]
        expected.may_be_absent = True
        assert self.broker.run(self.broker.manager.delete("topic", number))
        expected.may_be_present = False
        expected.histories, expected.durable = [[]], []

    def truncate(self, number, offset):
        """A cut is durable after the next flush: until then a crash may undo it."""
        expected = self.expected[number]
        expected.durable = expected.durable[:offset]
        self.broker.run(self.broker.manager.truncate_to("topic", number, offset))
        expected.histories.insert(0, values(self.log(number)))

    def move(self, number, target):
        manager = self.broker.manager
        self.broker.run(manager.create_future("topic", number, target))
        self.broker.flush(self.log(number))
        self.expected[number].durable = values(self.log(number))
        now_ms = manager.now_ms
        self.broker.on_reactor(lambda: copy(self.log(number), manager.get_future("topic", number), now_ms))
        assert self.broker.run(manager.replace_current_with_future("topic", number))

    # After the crash.

    def check(self):
        """Of a broker that has started again."""
        broker = self.broker
        found = self.found()
        for number, expected in self.expected.items():
            expected.check(found[number], f"topic-{number}")
        self.check_dirs()
        broker.crash(KEEP_ALL)
        broker.start()
        assert self.found() == found, "a second recovery gives what the first one gave"
        broker.restart()
        assert self.found() == found
        self.all_durable()

    def found(self):
        assert self.broker.failed == [], self.broker.manager.dirs.offline
        logs = self.broker.manager.current
        return {
            number: values(logs["topic", number]) if ("topic", number) in logs else ABSENT for number in self.expected
        }

    def check_dirs(self):
        """Each partition is there once, under one name, with its own topic id."""
        manager = self.broker.manager
        self.broker.sleep(60)
        seen = []
        for log_dir in manager.dirs.by_path.values():
            for name in self.broker.names(log_dir.path):
                parsed = names.parse_dir_name(name)
                if parsed is not None and not parsed[2]:
                    seen.append(parsed[:2])
                assert parsed is None or parsed[2] != names.DELETE_DIR
        assert sorted(seen) == sorted(manager.current)
        for log in manager.current.values():
            assert manager.topic_id(log) in (None, TOPIC_ID, OTHER_ID)
