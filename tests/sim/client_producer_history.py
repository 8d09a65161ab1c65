"""What producers have sent, what they were told, and what the logs have of it.

R1  what was acknowledged is in the log, at its offset
R2  no value of an idempotent producer is in a log twice, whatever it was told; what it was told was never taken is
    in none
R3  the values of a producer stand in a partition in the order in which they were sent
R4  every record has one outcome, and they are told in the order of the records of a partition
R5  at rest no batch is left and all memory is back; never is more there than there was
R6  what a request has of a batch is what was built: valid, and of its partition; a number of a producer id and epoch
    is never given to another record
R7  a consumer reads all of it, in order (`SimReader`)
"""

from client_story import violated

from odradek.records.batch import batches


class Sent:
    __slots__ = ("error", "is_refused", "offset", "outcomes", "place", "producer", "value")

    def __init__(self, producer, place, value):
        self.producer = producer
        self.place = place
        self.value = value
        self.offset = self.error = None
        self.outcomes = 0
        self.is_refused = False

    def __repr__(self):
        return f"{self.value[:20]} for {self.place}"


class ProducerHistory:
    def __init__(self):
        self.sent = []
        self.by_value = {}
        self.acked = self.failed = self.resent = self.refusals = 0
        self.passed = 0  # batches in requests
        self._contents = {}  # values by producer id, epoch, sequence and partition

    # What producers tell

    def sends(self, producer, place, value):
        note = Sent(producer.name, place, value)
        self.by_value[value] = note
        return note

    def taken(self, note):
        self.sent.append(note)

    def refused(self, note):
        note.is_refused = True
        self.refusals += 1

    def told(self, note, offset, error):
        note.outcomes += 1
        if note.outcomes > 1:
            violated("R4", f"{note} has a second outcome: {offset} {error}, after {note.offset} {note.error}")
        note.offset, note.error = offset, error
        self.acked += error is None
        self.failed += error is not None

    def check_outcomes(self, producer):
        for note in self.sent:
            if note.producer == producer.name and not note.outcomes:
                violated("R4", f"{note} has no outcome, and its producer has closed")

    def check_memory(self, producer, session):
        pool = session.pool
        if pool.available_bytes != pool.total_bytes or pool.waiting:
            violated("R5", f"{producer} has {pool.available_bytes} bytes of {pool.total_bytes} at rest")

    # What passes

    def passes(self, name, request):
        for topic in request.topic_data:
            for data in topic.partition_data:
                for each in batches(bytes(data.records)):
                    self.passed += 1
                    self._check_batch(name, (topic.name, data.index), each)

    def _check_batch(self, name, place, each):
        try:
            each.ensure_valid()
            values = [bytes(record.value) for record in each.records()]
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it
            violated("R6", f"{name} has sent to {place} what is no batch: {error!r}")
        for value in values:
            note = self.by_value.get(value)
            if note is None or note.place != place or note.producer != name:
                violated("R6", f"{name} has sent {value} to {place}: it is {note}")
        if each.has_sequence:
            for sequence, value in enumerate(values, each.base_sequence):
                self._check_number((each.producer_id, each.producer_epoch, sequence, place), value)

    def _check_number(self, number, value):
        if number in self._contents:
            self.resent += 1
        if self._contents.setdefault(number, value) != value:
            violated("R6", f"{number} was {self._contents[number]}, and is now {value}")

    # The end

    def check(self, logs):
        for place, values in logs.items():
            places = self._check_once(place, values)
            self._check_order(place, places)

    def _check_once(self, place, values):
        places = {}
        for offset, value in enumerate(values):
            note = self.by_value.get(value)
            if note is None or note.is_refused or note.place != place:
                violated("R2", f"{value} is at {offset} of {place}, and was not sent there")
            if value in places:
                violated("R2", f"{value} is at {places[value]} and at {offset} of {place}")
            places[value] = offset
        return places

    def _check_order(self, place, places):
        last = {}
        for note in self.sent:
            if note.place != place:
                continue
            offset = places.get(note.value)
            if note.outcomes and note.error is None and offset != note.offset:
                violated("R1", f"{note} was acknowledged at {note.offset}, and is at {offset}")
            if offset is not None:
                if offset < last.get(note.producer, -1):
                    violated("R3", f"{note} is at {offset}, before what was sent before it")
                last[note.producer] = offset
