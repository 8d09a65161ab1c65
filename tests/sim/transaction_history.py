"""What copiers did in their transactions, and whether the logs could be the end of it.

A *copier* takes values of its input in order and writes each into some partition of the output, together with the
offset behind them, in one transaction. Every try is an `Attempt` with a number, which is part of what it writes: so a
record tells which transaction it belongs to. The checks look at the logs of the output after everything.

    T1  no record of an attempt that nobody wanted to commit, or that was aborted, is committed
    T2  an attempt is committed whole or not at all; whole, if its commit was acknowledged
    T3  the committed offset is behind exactly the values that were copied
    T4  a producer epoch of version 2 has one decision in all partitions; a marker that comes again ends nothing
    T8  every value of the input is in the output once
    P2  the records of an attempt are in the order in which they were sent
    P3  a record is where its acknowledgement said
    P4  the epochs of a producer do not go back in a partition
"""

from history import ViolationError
from odradek.records.control import COMMIT, control_type

WRITING, COMMITTING, COMMITTED, ABORTED = "writing", "committing", "committed", "aborted"


class Attempt:
    """`writes` has a partition and a value for each record; `state` is the last thing that its copier knew."""

    __slots__ = ("batches", "copier", "number", "position", "state", "writes")

    def __init__(self, number, copier, position):
        self.number = number
        self.copier = copier
        self.position = position
        self.state = WRITING
        self.writes = []
        self.batches = []  # of the sender, in the order of the writes

    def write(self, partition, source, batch):
        self.writes.append((partition, f"{source}#{self.number}".encode()))
        self.batches.append(batch)

    def __repr__(self):
        return f"Attempt {self.number} of {self.copier} ({self.state}): {self.writes}"


class Ended:
    """The records of one producer in one partition, from the first one to the marker behind them."""

    __slots__ = ("epoch", "is_commit", "producer_id", "records")

    def __init__(self, producer_id):
        self.producer_id = producer_id
        self.epoch = None  # of the marker
        self.is_commit = None  # until there is a marker
        self.records = []  # offset, value


class OutputLog:
    """A partition, cut into transactions."""

    def __init__(self, partition, batches):
        self.partition = partition
        self.ended = []
        self.values = {}  # by offset
        self._open = {}
        self._epochs = {}
        for each in batches:
            self._check_epoch(each)
            if each.is_control:
                self._end(each)
            elif each.is_transactional:
                self._add(each)

    @property
    def open_producers(self):
        return [producer_id for producer_id, one in self._open.items() if one.records]

    def committed(self):
        """(offset, value) of all that read_committed shows, in order."""
        return sorted(record for one in self.ended if one.is_commit for record in one.records)

    def _check_epoch(self, each):
        if each.producer_epoch < self._epochs.get(each.producer_id, -1):
            raise ViolationError("P4", f"{self.partition}: epoch {each.producer_epoch} of {each} follows a later one")
        self._epochs[each.producer_id] = each.producer_epoch

    def _add(self, each):
        one = self._open.setdefault(each.producer_id, Ended(each.producer_id))
        for record in each.records():
            one.records.append((record.offset, bytes(record.value)))
            self.values[record.offset] = bytes(record.value)

    def _end(self, each):
        one = self._open.pop(each.producer_id, None) or Ended(each.producer_id)
        one.epoch = each.producer_epoch
        one.is_commit = control_type(next(iter(each.records())).key) == COMMIT
        self.ended.append(one)


class TransactionHistory:
    def __init__(self):
        self.attempts = []
        self.shown = {}  # by partition, what a read_committed consumer was shown: offset, value

    def attempt(self, copier, position):
        self.attempts.append(Attempt(len(self.attempts), copier, position))
        return self.attempts[-1]

    def show(self, partition, offset, value):
        shown = self.shown.setdefault(partition, [])
        if shown and offset <= shown[-1][0]:
            raise ViolationError("V4", f"{partition}: {offset} is shown after {shown[-1][0]}")
        shown.append((offset, value))

    # After everything

    def check(self, logs, inputs, offsets, v2_producers):
        """`logs` by partition; `inputs` and `offsets` by copier; `v2_producers`: ids of producers of version 2."""
        self._check_ends(logs, v2_producers)
        visible = self._visible(logs)
        for attempt in self.attempts:
            self._check_attempt(attempt, visible)
            self._check_acks(attempt, logs)
        for log in logs.values():
            self._check_order(log)
            self._check_shown(log)
        for copier, values in inputs.items():
            self._check_copies(copier, values, offsets[copier], visible)

    def _check_ends(self, logs, v2_producers):
        decisions = {}
        for log in logs.values():
            if log.open_producers:
                raise ViolationError("T7", f"{log.partition}: {log.open_producers} have transactions that never ended")
            seen = set()
            for one in log.ended:
                key = (one.producer_id, one.epoch)
                if one.producer_id not in v2_producers:
                    continue
                if key in seen and one.records:
                    raise ViolationError("T4", f"{log.partition}: a second marker of {key} ends {one.records}")
                seen.add(key)
                if decisions.setdefault(key, one.is_commit) != one.is_commit:
                    raise ViolationError("T4", f"{log.partition}: {key} is committed here and aborted there")

    def _visible(self, logs):
        found = {}
        for log in logs.values():
            for _, value in log.committed():
                if (log.partition, value) in found:
                    raise ViolationError("P1", f"{log.partition}: {value} is there twice")
                found[log.partition, value] = True
        return found

    def _check_attempt(self, attempt, visible):
        seen = [write for write in attempt.writes if write in visible]
        if seen and attempt.state in (WRITING, ABORTED):
            raise ViolationError("T1", f"{attempt} shows {seen}")
        if len(seen) not in (0, len(attempt.writes)):
            raise ViolationError("T2", f"{attempt} shows only {seen}")
        if attempt.state == COMMITTED and not seen:
            raise ViolationError("T2", f"{attempt} is lost")

    def _check_acks(self, attempt, logs):
        for (partition, value), batch in zip(attempt.writes, attempt.batches, strict=True):
            if batch.is_done and batch.error is None and batch.offset >= 0:
                stored = logs[partition].values.get(batch.offset)
                if stored != value:
                    raise ViolationError("P3", f"{partition}@{batch.offset} is {stored}, acknowledged was {value}")

    def _check_order(self, log):
        places = {value: offset for offset, value in log.values.items()}
        for attempt in self.attempts:
            values = [value for partition, value in attempt.writes if partition == log.partition]
            order = [places[value] for value in values if value in places]
            if order != sorted(order):
                raise ViolationError("P2", f"{log.partition}: {attempt} is out of order: {order}")

    def _check_shown(self, log):
        """V1, V2, T1: a consumer was shown what is committed, all of it, up to where it is."""
        shown = self.shown.get(log.partition, [])
        committed = log.committed()
        if shown != committed:
            extra = [record for record in shown if record not in committed]
            raise ViolationError("T1" if extra else "V1", f"{log.partition}: shown {shown}, committed {committed}")

    def _check_copies(self, copier, values, offset, visible):
        copies = {}
        for _, value in visible:
            source = value.decode().partition("#")[0]
            copies[source] = copies.get(source, 0) + 1
        for place, value in enumerate(values):
            if copies.get(value, 0) > 1:
                raise ViolationError("T8", f"{value} was copied {copies[value]} times")
            if (copies.get(value, 0) == 1) != (place < offset):
                raise ViolationError("T3", f"{value} at {place}: copied {copies.get(value, 0)}, offset {offset}")
