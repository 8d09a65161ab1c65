"""kill -9 in the middle of a copy from topic to topic, of the driver with all it has started, and of the broker.

Exactly once: a reader of committed rows finds each row once. At least once: none is lost; how many are there twice is
told. ODRADEK_KILLS kills, of ODRADEK_ROWS rows; a kill comes when so much more than before stands in the target.
"""

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import outside
import spark_kit
from odradek import TopicPartition
from odradek.admin import LATEST
from odradek.testing import Broker

KILLS = int(os.environ.get("ODRADEK_KILLS", "2"))
ROWS = int(os.environ.get("ODRADEK_ROWS", "20000"))
BATCHES = 10
PARTITIONS = 2
RUN_SECONDS_MAX = 240
RUNS_MAX = KILLS + 5  # a driver that has lost its broker for too long may give up, and is started again
JOB = Path(__file__).with_name("copy_job.py")


class Copy:
    def __init__(self, broker, admin, directory, guarantee):
        self.broker = broker
        self.admin = admin
        self.given = {
            "bootstrap": broker.bootstrap,
            "source": "source",
            "target": f"target-{guarantee}",
            "checkpoint": str(directory / "checkpoint"),
            "guarantee": guarantee,
            "rows_per_batch": max(1, ROWS // BATCHES),
        }
        self.log = directory / "job.log"
        self.kills = self.runs = 0
        broker.create_topic(self.given["target"], partitions=PARTITIONS)

    def run(self):
        """Until it ends well, killed and started again in between."""
        while self.runs < RUNS_MAX:
            self.runs += 1
            with self.log.open("ab") as log, self.started(log) as job:
                while job.poll() is None:
                    if self.kills < KILLS and self.written() > ROWS * (self.kills + 1) // (KILLS + 2):
                        self.kill(job)
                    time.sleep(0.05)
                if job.returncode == 0 and not job.is_overdue:
                    return
        raise AssertionError(f"it did not come to its end: {self.log.read_text()[-3000:]}")

    def started(self, log):
        command = [sys.executable, str(JOB), json.dumps(self.given)]
        return outside.Session(command, seconds=RUN_SECONDS_MAX, stdout=log, stderr=log)

    def written(self):
        """The offsets of the target, whoever may see what is there."""
        places = [TopicPartition(self.given["target"], index) for index in range(PARTITIONS)]
        return sum(each.offset for each in self.admin.list_offsets(dict.fromkeys(places, LATEST)).values())

    def kill(self, job):
        """By turns."""
        if self.kills % 2:
            self.broker.kill()
            self.broker.start()
        else:
            job.kill()
            job.wait(RUN_SECONDS_MAX)
        self.kills += 1

    def found(self):
        """How often each row is in the target."""
        return Counter(int(each.value) for each in spark_kit.records_of(self.broker.bootstrap, self.given["target"]))


@pytest.fixture(scope="module")
def broker():
    with Broker() as running:
        running.create_topic("source", partitions=PARTITIONS)
        rows = [{"value": str(number).encode(), "key": str(number % 100).encode()} for number in range(ROWS)]
        spark_kit.produce(running.bootstrap, "source", rows)
        yield running


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_copy_that_is_killed(broker, admin, tmp_path, guarantee):
    copy = Copy(broker, admin, tmp_path, guarantee)
    copy.run()
    found = copy.found()
    assert copy.kills == KILLS
    assert sorted(found) == list(range(ROWS)), "none is lost"
    duplicates = sum(found.values()) - ROWS
    sys.stdout.write(f"{guarantee}: {copy.kills} kills, {copy.runs} runs, {ROWS} rows, {duplicates} duplicates\n")
    if guarantee == "exactly-once":
        assert duplicates == 0
