"""Consume, transform, produce, exactly once: three copiers of one transactional id, of which the first is killed with a
transaction open, and the second paused with one open until the third has done everything.
"""

import re
import time

from doing import Doing

SOURCE_PARTITIONS, TARGET_PARTITIONS = 3, 2
RECORDS = 60
SESSION_MS = 6000
STALL = 2  # the transaction that is held open, after one that was committed
FENCED = re.compile("fenced|invalid_?producer_?epoch", re.IGNORECASE)


class CopyStory:
    def __init__(self, name, told, how):
        doing, now = Doing(told), int(time.time() * 1000)
        self.source, self.target = f"{name}-source", f"{name}-target"
        doing.create_topic(self.source, partitions=SOURCE_PARTITIONS)
        doing.create_topic(self.target, partitions=TARGET_PARTITIONS)
        self.values = [f"{name} {number}" for number in range(RECORDS)]
        for partition in range(SOURCE_PARTITIONS):
            rows = [(None, value.encode(), now) for value in self.values[partition::SOURCE_PARTITIONS]]
            doing.produce(self.source, partition, rows)
        self._told = {
            "id": f"{name}-id",
            "group": f"{name}-group",
            "source": self.source,
            "target": self.target,
            "records": RECORDS,
            "partitions": SOURCE_PARTITIONS,
            "session_ms": SESSION_MS,
            **how,
        }

    def tell(self, doomed, zombie, survivor):
        """What the zombie met with."""
        doomed.tell("copy", "doomed", **self._told, stall=STALL)
        doomed.wait("doomed", "open")
        doomed.kill()
        zombie.tell("copy", "zombie", **self._told, stall=STALL)
        zombie.wait("zombie", "open")
        zombie.pause()
        survivor.tell("copy", "survivor", **self._told)
        survivor.wait("survivor", "done")
        zombie.resume()
        zombie.tell("go", "zombie")
        return " ".join(zombie.wait("zombie", "failed"))

    def copied(self, process):
        """What a reader of committed records finds in the target."""
        process.tell("read", "reader", topic=self.target, partitions=TARGET_PARTITIONS)
        return process.wait("reader", "values")
