"""The ids that a recording got from its broker, and those that the broker which it is replayed against has given.

Topics, members of groups, fetch sessions, and producers with their epochs are learnt from pairs of answers, and put
into the requests that follow; into the batches of a Produce request, too.
"""

import json

from crc32c import crc32c

from odradek.protocol.declare import Struct
from odradek.protocol.field import ARRAY, STRING, STRUCT, UUID, ZERO_UUID
from odradek.protocol.uuids import parse_uuid
from odradek.records.layout import CRC, HEADER

PRODUCE, FETCH, INIT_PRODUCER_ID, END_TXN = 0, 1, 22, 26
PRODUCER_FIELDS = (
    ("producer_id", "producer_epoch"),
    ("v3_and_below_producer_id", "v3_and_below_producer_epoch"),
)
CRC_AT, CRC_FROM = 17, 21


class RecordedIds:
    def __init__(self):
        self._topics = {}
        self._members = {}
        self._sessions = {}
        self._producers = {}  # with their epochs

    # From answers

    def learn(self, key, theirs, mine):
        """Two answers to one request, in Kafka's JSON form."""
        ours, known = {}, {}
        _collect_topics(mine, ours)
        _collect_topics(theirs, known)
        for name in known.keys() & ours.keys():
            self._topics[parse_uuid(known[name])] = parse_uuid(ours[name])
        if theirs.get("memberId") and mine.get("memberId"):
            self._members.setdefault(theirs["memberId"], mine["memberId"])
        if key == FETCH and theirs.get("sessionId"):
            self._sessions[theirs["sessionId"]] = mine["sessionId"]
        if key in (INIT_PRODUCER_ID, END_TXN) and theirs.get("producerId", -1) >= 0:
            self._producers[_producer(theirs)] = _producer(mine)

    def with_our_members(self, form):
        """A recorded answer."""
        text = json.dumps(form)
        for recorded, own in self._members.items():
            text = text.replace(recorded, own)
        return json.loads(text)

    # Into requests

    def replace(self, struct):
        for field in struct.fields:
            value = getattr(struct, field.name)
            if field.kind in (UUID, STRING):
                setattr(struct, field.name, self._topics.get(value, self._members.get(value, value)))
            elif field.kind == STRUCT and isinstance(value, Struct):
                self.replace(value)
            elif field.kind == ARRAY and value and isinstance(value[0], Struct):
                for item in value:
                    self.replace(item)
        self._replace_numbers(struct)

    def _replace_numbers(self, struct):
        api = getattr(struct, "api_key", None)
        if api == FETCH:
            struct.session_id = self._sessions.get(struct.session_id, struct.session_id)
        for fields in PRODUCER_FIELDS:
            if all(hasattr(type(struct), field) for field in fields):
                known = tuple(getattr(struct, field) for field in fields)
                for field, own in zip(fields, self._producers.get(known, known), strict=True):
                    setattr(struct, field, own)
        if api == PRODUCE:
            for topic in struct.topic_data:
                for partition in topic.partition_data:
                    partition.records = self._of_our_producer(bytearray(partition.records))

    def _of_our_producer(self, batch):
        header = list(HEADER.unpack_from(batch))
        known = (header[9], header[10])
        if known in self._producers:
            header[9:11] = self._producers[known]
            HEADER.pack_into(batch, 0, *header)
            CRC.pack_into(batch, CRC_AT, crc32c(bytes(batch[CRC_FROM:])))
        return batch


def _producer(form):
    return form["producerId"], form["producerEpoch"]


def _collect_topics(form, found):
    if isinstance(form, list):
        for item in form:
            _collect_topics(item, found)
    elif isinstance(form, dict):
        if form.get("topicId") and form.get("name") and parse_uuid(form["topicId"]) != ZERO_UUID:
            found[form["name"]] = form["topicId"]
        for value in form.values():
            _collect_topics(value, found)
