"""What consumers of a group have read, finished and committed, and whether it fits together.

C1  in one member's ownership of a partition (a *tenure*) offsets come one after the other, from what was committed
    on, or from where the program has sought to; nothing is skipped, nothing comes twice
C2  nothing is handed out of a partition that a member was told to give up, or that its program has paused
C3  what is committed was finished: the program had come back from it, all of it, whoever read it
C4  a member that commits asynchronously sends each commit once, and is told of each, in the order of its calls
C5  when everything has healed, every partition has one owner, is read to its end, and all of that is committed
C6  an offset has one value: what was read is what is in the log
"""

from client_story import violated

GROUP = "group"


class Tenure:
    """One member's ownership of a partition, from when it was told of it to when it was told to give it up."""

    __slots__ = ("is_paused", "next_offset")

    def __init__(self):
        self.next_offset = None  # until something was read, or sought
        self.is_paused = False


class ConsumerHistory:
    def __init__(self):
        self.values = {}  # by (partition, offset)
        self.finished = {}  # by partition: every offset below it is
        self.started_at = {}  # by partition: what was ever committed
        self.reads = self.moves = self.commits = 0

    # What members tell

    def assigned(self, member, places):
        for place in places:
            if place in member.tenures:
                violated("C1", f"{member} was given {place}, which it has")
            member.tenures[place] = Tenure()
            self.moves += 1

    def gone(self, member, places):
        for place in places:
            if member.tenures.pop(place, None) is None:
                violated("C2", f"{member} was told to give up {place}, which it has not")

    def read(self, member, place, offset, value):
        tenure = member.tenures.get(place)
        if tenure is None:
            violated("C2", f"{member} was handed {offset} of {place}, which it has not")
        if tenure.is_paused:
            violated("C2", f"{member} was handed {offset} of {place}, which is paused")
        if tenure.next_offset is None:
            if offset != 0 and offset not in self.started_at.get(place, ()):
                violated("C1", f"{member} begins at {offset} of {place}, which nobody has committed")
        elif offset != tenure.next_offset:
            violated("C1", f"{member} was handed {offset} of {place}, and {tenure.next_offset} is next")
        tenure.next_offset = offset + 1
        if self.values.setdefault((place, offset), value) != value:
            violated("C6", f"{member} was handed {value} at {offset} of {place}: {self.values[place, offset]} before")
        self.reads += 1

    def finish(self, place, offset):
        """In order: a program reads from what was committed, and that was finished."""
        if offset > self.finished.get(place, 0):
            violated("C1", f"{offset} of {place} is finished, and {self.finished.get(place, 0)} never was")
        self.finished[place] = max(self.finished.get(place, 0), offset + 1)

    # What the coordinator knows

    def look_at_commits(self, core):
        for topic, index, committed in core.offsets.places(GROUP):
            place, known = (topic, index), self.started_at.setdefault((topic, index), set())
            if committed.offset not in known:
                known.add(committed.offset)
                self.commits += 1
            if committed.offset > self.finished.get(place, 0):
                violated("C3", f"{committed.offset} of {place} is committed, finished is {self.finished.get(place, 0)}")

    # The end

    def check_values(self, logs):
        for (place, offset), value in self.values.items():
            if offset >= len(logs[place]) or logs[place][offset] != value:
                violated("C6", f"{value} was read at {offset} of {place}, and is not there")
