"""The life of a group, told once for every client, assignor and protocol; many groups live it side by side.

A first member has everything; a second joins and leaves; a third joins and is killed; a static one joins, goes, and
comes back in another process without a rebalance. In the classic protocol it goes by being killed; in the consumer
protocol the id of one that was killed is taken until its session is over, so there it is closed.
"""

import contextlib
import time

from member_process import wait_for

from doing import Doing
from odradek.protocol.frames import OFFSETS
from odradek.protocol.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

PARTITIONS = 4
RECORDS = 10  # of each partition, at first
SESSION_MS = 6000
STATIC_SESSION_MS = 30_000  # one that was killed must be back before it ends
OFFSETS_PARTITIONS = 5
GENERATION = {2: "generation", 3: "epoch"}  # of a record about a whole group, by its type
FIRST, SECOND, THIRD, STATIC = "first", "second", "third", "static"


class GroupStory:
    """One group on one topic; `how` is what a client must be told to join in this way."""

    def __init__(self, name, told, how):
        self.name = name
        self._told, self._doing = told, Doing(told)
        self._is_pattern = how.get("protocol") == "consumer" and "assignor" not in how
        self._topics = [f"{name}-topic"]
        subscription = {"pattern": f"{name}-topic.*"} if self._is_pattern else {"topic": self._topics[0]}
        self.is_classic = "protocol" not in how
        self._how = {"group": name, "session_ms": SESSION_MS, **how, **subscription}
        self._records = {}
        self._processes = {}  # where a member lives, or has lived
        self._before = self._generation_before = None
        self._make(self._topics[0])

    def _make(self, topic):
        self._doing.create_topic(topic, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            self._write(topic, partition, RECORDS)

    def _write(self, topic, partition, count):
        now = int(time.time() * 1000)
        self._doing.produce(topic, partition, [(None, b"%d" % number, now) for number in range(count)])
        self._records[topic, partition] = self._records.get((topic, partition), 0) + count

    # What is done

    def join(self, member, process, **otherwise):
        self._processes.setdefault(member, []).append(process)
        static = {"instance": f"{self.name}-static", "session_ms": STATIC_SESSION_MS}
        process.tell("join", self._called(member), **{**self._how, **(static if member == STATIC else {}), **otherwise})

    def leave(self, member):
        self._processes[member][-1].tell("leave", self._called(member))

    def add_a_topic(self):
        """That a pattern matches."""
        if self._is_pattern:
            self._topics.append(f"{self.name}-topic-again")
            self._make(self._topics[-1])

    def write_more(self):
        for topic, partition in self._all():
            self._write(topic, partition, 1)

    def remember(self):
        """From here on no rebalance is expected."""
        self._before = self._places(STATIC)
        self._generation_before = self._generation()

    # What is waited for

    def has_all(self, member=FIRST):
        return self._places(member) == set(self._all()) and not self._failure()

    def is_shared(self, other, member=FIRST):
        """Half each; nothing twice, nothing nowhere."""
        one, two = self._places(member), self._places(other)
        return len(one) == len(two) and not one & two and one | two == set(self._all()) and not self._failure()

    def has_left(self, member):
        return bool(self._said(member, "left"))

    def is_back(self):
        """With what it had."""
        return self._places(STATIC) == self._before

    def check_undisturbed(self):
        assert self._generation() == self._generation_before, "there was a rebalance"

    def is_read_and_committed(self):
        """Every record, by somebody; the offsets are those of the ends."""
        expected = {f"{topic}:{part}:{at}" for (topic, part), count in self._records.items() for at in range(count)}
        return self._read() == expected and self._committed() == self._records

    def _read(self):
        return {
            place
            for member, ran in self._processes.items()
            for process in ran
            for (place,) in process.said(self._called(member), "read")
        }

    def state(self):
        return {
            "expected": len(self._all()),
            **{member: sorted(self._places(member)) for member in self._processes},
            "committed": self._committed(),
            "failed": self._failure(),
            "complaints": [ran[-1].complaints() for ran in self._processes.values()],
        }

    def _committed(self):
        group = OffsetFetchRequestGroup(group_id=self.name, topics=None)
        answer = self._told.ask(OffsetFetchRequest(groups=[group]), 8).groups[0]
        return {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in answer.topics
            for partition in topic.partitions
        }

    def _generation(self):
        """The newest that the coordinator has written; in the consumer protocol it is called an epoch."""
        rows = [row for part in range(OFFSETS_PARTITIONS) for row in self._told.records("__consumer_offsets", part)]
        generations = []
        for _, _, key_bytes, value, _ in rows:
            key = OFFSETS.decode_key(key_bytes)
            if key.api_key in GENERATION and self.name in (getattr(key, "group", None), getattr(key, "group_id", None)):
                generations.append(getattr(OFFSETS.decode_value(key, value), GENERATION[key.api_key]))
        return generations[-1]

    def _all(self):
        return [(topic, partition) for topic in self._topics for partition in range(PARTITIONS)]

    def _called(self, member):
        return f"{self.name}/{member}"

    def _said(self, member, what):
        return self._processes[member][-1].said(self._called(member), what)

    def _places(self, member):
        told = self._said(member, "assigned")
        return {(place.rpartition(":")[0], int(place.rpartition(":")[2])) for place in (told[-1] if told else ())}

    def _failure(self):
        failures = [ran[-1].failure(self._called(member)) for member, ran in self._processes.items()]
        return [failure for failure in failures if failure]


class Telling:
    """All stories, step by step; one that fails is left behind with the reason."""

    def __init__(self, stories):
        self._stories = list(stories)
        self.failures = {}

    def __call__(self, begin, is_reached=None, *, of=lambda story: True):
        for story in self._chosen(of):
            with self._left_behind(story):
                begin(story)
        for story in self._chosen(of) if is_reached else ():
            with self._left_behind(story):
                wait_for(lambda story=story: is_reached(story), story.state)

    def _chosen(self, of):
        return [story for story in self._stories if story.name not in self.failures and of(story)]

    @contextlib.contextmanager
    def _left_behind(self, story):
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the other groups go on
            self.failures[story.name] = f"{type(error).__name__}: {error}"


def tell(stories, survivor, doomed, predecessor, successor):
    """{name of a group: why it failed}; `doomed` and `predecessor` are killed."""
    step = Telling(stories)
    step(lambda story: story.join(FIRST, survivor), GroupStory.has_all)
    step(GroupStory.add_a_topic, GroupStory.has_all)
    step(lambda story: story.join(SECOND, survivor), lambda story: story.is_shared(SECOND))
    step(lambda story: story.leave(SECOND), GroupStory.has_all)
    step(lambda story: story.join(THIRD, doomed), lambda story: story.is_shared(THIRD))
    doomed.kill()
    step(lambda story: None, GroupStory.has_all)
    step(lambda story: story.join(STATIC, predecessor), lambda story: story.is_shared(STATIC))
    step(GroupStory.remember)
    step(lambda story: story.leave(STATIC), lambda story: story.has_left(STATIC), of=lambda story: not story.is_classic)
    predecessor.kill()
    step(lambda story: story.join(STATIC, successor), GroupStory.is_back)
    step(GroupStory.check_undisturbed)
    step(GroupStory.write_more, GroupStory.is_read_and_committed)
    return step.failures
