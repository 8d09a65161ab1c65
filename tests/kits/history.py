"""What clients saw, and whether a log could have shown it to them: one checker for simulation and for real processes.

A client notes every send before it goes out and then what became of it: `ok` with an offset, and nothing more if nobody
knows (a timeout is never a failure). A consumer notes every record it was shown.
Each note belongs to a *life* of the broker: they are numbered from 0, and a crash ends one.

The checker is given the log of each partition at the end of every life, and where the next life began (`Cut`): a crash
may take a suffix of a log away, if nobody asked for `flush.messages=1`.

    V1  what was acknowledged is in the log of its life, at its offset, and in every later one not cut before it
    V2  an offset has one value: acknowledged, shown and stored are the same
    V3  a value of an idempotent producer is in a log once; that of another one as often as it was sent, at most
    V4  a consumer is shown every offset once, in order; it goes back only to a cut, and is never led past one
    V5  what is in the log at the end is shown by a read from the beginning
    P2  the values of an idempotent producer are in the order in which they were sent
    P3  a batch that was sent again has the offset that it got the first time
"""

INVOKED, OK = "invoked", "ok"


class ViolationError(AssertionError):
    """The name of what was broken comes first."""

    def __init__(self, rule, message):
        super().__init__(f"{rule}: {message}")
        self.rule = rule


class Send:
    """One batch of values for a partition; it may go out several times."""

    __slots__ = ("attempts", "epoch", "is_idempotent", "oks", "partition", "producer", "sequence", "state", "values")

    def __init__(self, partition, values, producer, is_idempotent, epoch, sequence):
        self.partition = partition
        self.values = values
        self.producer = producer
        self.is_idempotent = is_idempotent
        self.epoch = epoch
        self.sequence = sequence
        self.attempts = 1
        self.state = INVOKED
        self.oks = []  # (life, offset of the first value)

    def __repr__(self):
        return f"Send({self.producer}@{self.epoch}, {self.values}, {self.partition}, {self.state}, {self.oks})"


class Shown:
    """A record that a consumer got."""

    __slots__ = ("life", "offset", "value")

    def __init__(self, life, offset, value):
        self.life = life
        self.offset = offset
        self.value = value


class Reader:
    """One consumer of one partition: where it is, and what it was shown."""

    def __init__(self, history, name, partition):
        self._history = history
        self.name = name
        self.partition = partition
        self.position = 0
        self.life = 0  # in which it was last shown something
        self.shown = []

    def take(self, life, records):
        cut = self._history.cut_before(self.partition, life, self.life)
        if cut is not None and cut < self.position:
            raise ViolationError(
                "V4", f"{self.name} of {self.partition} is led from {self.position} past a cut at {cut}"
            )
        for offset, value in records:
            if offset < self.position:
                continue  # the beginning of a batch of which it has seen a part
            if offset > self.position:
                raise ViolationError("V4", f"{self.name} of {self.partition} skips from {self.position} to {offset}")
            self.shown.append(Shown(life, offset, value))
            self.position = offset + 1
        self.life = life

    def go_back(self, life, offset):
        """The leader has told where its log and ours part: at a cut that we had read past."""
        cut = self._history.cut_before(self.partition, life, self.life)
        if offset != cut or offset >= self.position:
            raise ViolationError("V4", f"{self.name} of {self.partition} is sent from {self.position} back to {offset}")
        self.position = offset
        self.life = life


class Cut:
    """Where the log of a partition began to be written again, in a life; `is_durable`: nothing may be missing."""

    __slots__ = ("is_durable", "life", "offset")

    def __init__(self, life, offset, is_durable):
        self.life = life
        self.offset = offset
        self.is_durable = is_durable


class History:
    def __init__(self):
        self.sends = []
        self.readers = []
        self.cuts = {}  # by partition, one for each life but the first
        self.logs = {}  # by partition, one for each life: its values in the order of the offsets

    def send(self, partition, values, producer, *, is_idempotent=False, epoch=-1, sequence=-1):
        self.sends.append(Send(partition, list(values), producer, is_idempotent, epoch, sequence))
        return self.sends[-1]

    def reader(self, name, partition):
        self.readers.append(Reader(self, name, partition))
        return self.readers[-1]

    def ended(self, partition, values):
        """The log of a partition when a life ended, all that its readers could have seen."""
        self.logs.setdefault(partition, []).append(values)

    def began(self, partition, offset, *, is_durable):
        cuts = self.cuts.setdefault(partition, [])
        cuts.append(Cut(len(cuts) + 1, offset, is_durable))

    def cut_before(self, partition, life, since):
        """The lowest cut of the lives after `since`, up to `life`; None if there was none."""
        return min((cut.offset for cut in self.cuts.get(partition, []) if since < cut.life <= life), default=None)

    # After the last life.

    def check(self):
        for partition in sorted(self.logs):
            self._check_cuts(partition)
            self._check_facts(partition)
            self._check_counts(partition)
            self._check_order(partition)

    def _check_cuts(self, partition):
        logs = self.logs[partition]
        for cut, before, after in zip(self.cuts.get(partition, []), logs, logs[1:], strict=False):
            if cut.offset > len(before) or before[: cut.offset] != after[: cut.offset]:
                raise ViolationError(
                    "V2", f"{partition}: life {cut.life} began with what was never there: {cut.offset}"
                )

    def _facts(self, partition):
        """(life, offset, value, by whom) of all that somebody was told."""
        for send in self.sends:
            if send.partition == partition:
                for life, offset in send.oks:
                    for number, value in enumerate(send.values):
                        yield life, offset + number, value, send
        for reader in self.readers:
            if reader.partition == partition:
                for shown in reader.shown:
                    yield shown.life, shown.offset, shown.value, reader.name

    def _check_facts(self, partition):
        logs = self.logs[partition]
        for life, offset, value, source in self._facts(partition):
            for later in range(life, len(logs)):
                cut = self.cuts[partition][later - 1] if later > life else None
                if cut is not None and cut.offset <= offset:
                    if cut.is_durable:
                        raise ViolationError("V1", f"{partition}@{offset} {value} of {source} is lost in life {later}")
                    break
                found = logs[later][offset] if offset < len(logs[later]) else None
                if found is None:
                    raise ViolationError("V1", f"{partition}@{offset} {value} of {source} is missing in life {later}")
                if found != value:
                    raise ViolationError("V2", f"{partition}@{offset} is {found} in life {later}, {value} for {source}")

    def _check_counts(self, partition):
        allowed = {}
        for send in self.sends:
            if send.partition == partition:
                for value in send.values:
                    allowed[value] = 1 if send.is_idempotent else send.attempts
        for life, log in enumerate(self.logs[partition]):
            counts = {}
            for value in log:
                counts[value] = counts.get(value, 0) + 1
            for value, count in counts.items():
                if count > allowed.get(value, 0):
                    raise ViolationError("V3", f"{partition}: {value} is there {count} times in life {life}")

    def _check_order(self, partition):
        for send in self.sends:
            if send.partition == partition and send.is_idempotent:
                self._check_same_offset(send)
        for log in self.logs[partition]:
            places = {value: place for place, value in enumerate(log)}
            last = {}
            for send in self.sends:
                if send.partition != partition or not send.is_idempotent or send.values[0] not in places:
                    continue
                place = places[send.values[0]]
                if place < last.get(send.producer, -1):
                    raise ViolationError("P2", f"{partition}: {send} is before what was sent before it")
                last[send.producer] = place

    def _check_same_offset(self, send):
        for (life, offset), (later, again) in zip(send.oks, send.oks[1:], strict=False):
            cut = self.cut_before(send.partition, later, life)
            if again != offset and (cut is None or cut > offset):
                raise ViolationError("P3", f"{send} got two offsets")

    def check_read(self, partition, records):
        """V5: `records` is what a reader got from 0 to the end, after everything."""
        log = self.logs[partition][-1]
        if [value for _, value in records] != log or [offset for offset, _ in records] != list(range(len(log))):
            raise ViolationError("V5", f"{partition}: a last read shows {len(records)} records of {len(log)}")
