"""The core that fetches and acknowledges for a share consumer, with an answer for everything that a test gives it.

story = ShareStory()
story.want(place)                            # it is assigned, and a poll waits
story.answer(answer(acquired(place, 0, 2)))
story.taken()                                # place, offset, delivery count
said = story.say(place, {0: ACCEPT})         # what the program says of it
"""

from collections import deque

from odradek.channel.cluster import Cluster, PartitionInfo
from odradek.channel.metadata import Metadata
from odradek.channel.node import Node
from odradek.client.core import Backoff
from odradek.client.share_consumer.acknowledgement import Acknowledged, Source
from odradek.client.share_consumer.deliveries import Deliveries
from odradek.client.share_consumer.share_buffer import ShareBuffer
from odradek.client.share_consumer.share_chunk import Reading
from odradek.client.share_consumer.share_fetcher import ShareFetchConfig, ShareFetcher
from odradek.protocol.declare import Uuid
from odradek.protocol.messages import k78_share_fetch as fetch
from odradek.protocol.messages import k79_share_acknowledge as acknowledge
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
LEADERS = {A0: 1, A1: 1, B0: 2}
NODES = (Node(1, "one", 1), Node(2, "two", 2))
VERSION = 2


def topic_id(name):
    return name.encode() * 16


def key(place):
    return topic_id(place.topic), place.partition


class ShareStory:
    def __init__(self, **config):
        self.now_ms = 1_000_000
        self.leaders = dict(LEADERS)
        self.metadata = Metadata(backoff=Backoff(100, 100))
        self.updates = 0
        self.metadata.when_requested(self._count)
        self._show()
        self.buffer = ShareBuffer(is_strict=config.get("is_record_limit", False))
        self.deliveries = Deliveries()
        self.outcomes = []
        self.errors = []
        self.core = ShareFetcher(
            ShareFetchConfig("g", **config),
            "me",
            self.metadata,
            Backoff(100, 100),
            Reading(),
            on_chunk=self.buffer.add,
            on_outcome=self.outcomes.append,
            on_error=self.errors.append,
        )
        self._out = []  # sends, oldest first

    def _count(self):
        self.updates += 1

    def _show(self):
        infos = [PartitionInfo(*place, node or -1, 0, (1, 2), (1, 2), ()) for place, node in self.leaders.items()]
        ids = {name: Uuid(topic_id(name)) for name in ("a", "b")}
        self.metadata.cluster = Cluster("c", NODES, infos, topic_ids=ids)

    def lead(self, place, node):
        self.leaders[place] = node
        self._show()

    # What the client does

    def assign(self, *places):
        self.core.assigned = {key(place): place for place in places}
        return self

    def want(self, *places):
        if places:
            self.assign(*places)
        self.core.is_wanted = True
        return self.pump()

    def unwant(self):
        self.core.is_wanted = False
        return self

    def say(self, place, types, retry_ms=0):
        said = Acknowledged(Source(LEADERS[place], topic_id(place.topic), place), dict(types))
        said.retry_until_ms = self.now_ms + retry_ms if retry_ms else 0
        self.core.acknowledge(said)
        return said

    def taken(self):
        look = self.buffer.look(500)
        self.deliveries.give(look.deliveries)
        self.buffer.passed(look)
        return [
            (each.source.place, each.offset, each.record.delivery_count)
            for each in look.deliveries
            if each.record is not None
        ]

    def said(self):
        """What the client says by itself of what it has taken."""
        return {each.source.place: each.types for each in self.deliveries.take(deque())}

    # What goes over the wire

    def pump(self):
        for send in self.core.poll(self.now_ms):
            request = send.request.build(VERSION)
            kind = type(request)
            again = kind.decode(memoryview(b"".join(map(bytes, request.encode(VERSION)))), VERSION)
            self._out.append((again, send))
        return self

    @property
    def sent(self):
        return [request for request, _ in self._out]

    def take(self):
        """The only request that is out; it stays out."""
        (request,) = self.sent
        return request

    def answer(self, response, place=None):
        """To the oldest request, or to the oldest for the leader of the place."""
        at = 0
        if place is not None:
            at = next(at for at, (request, _) in enumerate(self._out) if self.place_of(request) == LEADERS[place])
        return self._answer(at, response)

    def answer_to(self, request, response):
        return self._answer(self.sent.index(request), response)

    def _answer(self, at, response):
        request, send = self._out.pop(at)
        assert isinstance(response, fetch.ShareFetchResponse) == isinstance(request, fetch.ShareFetchRequest)
        self.core.answered(send.token, response, self.now_ms)
        self.pump()
        return request

    def lose(self, error):
        _, send = self._out.pop(0)
        self.core.failing(error)
        self.core.failed(send.token, self.now_ms)
        self.pump()

    def pass_ms(self, milliseconds):
        self.now_ms += milliseconds
        return self.pump()

    # What stands in a request

    def place_of(self, request):
        """The node that it goes to."""
        return next(send.destination.number for out, send in self._out if out is request)

    @staticmethod
    def named(request):
        return [
            TopicPartition(chr(bytes(topic.topic_id)[0]), each.partition_index)
            for topic in request.topics
            for each in topic.partitions
        ]

    @staticmethod
    def forgotten(request):
        return [
            TopicPartition(chr(bytes(topic.topic_id)[0]), number)
            for topic in request.forgotten_topics_data
            for number in topic.partitions
        ]

    @staticmethod
    def acknowledged(request):
        return {
            TopicPartition(chr(bytes(topic.topic_id)[0]), each.partition_index): [
                (batch.first_offset, batch.last_offset, list(batch.acknowledge_types))
                for batch in each.acknowledgement_batches
            ]
            for topic in request.topics
            for each in topic.partitions
        }


# Answers


def answer(*found, error=None):
    topics = {}
    for place, partition in found:
        topics.setdefault(topic_id(place.topic), []).append(partition)
    return fetch.ShareFetchResponse(
        error_code=0 if error is None else error.code,
        acquisition_lock_timeout_ms=30_000,
        responses=[
            fetch.ShareFetchableTopicResponse(topic_id=Uuid(each), partitions=partitions)
            for each, partitions in topics.items()
        ],
    )


def data(place, **fields):
    return place, fetch.PartitionData(partition_index=place.partition, records=b"", **fields)


def acquired(place, first, last, count=1, holes=(), cut=0):
    """Records `first` to `last`, without those in `holes`, and the batch of the last `cut` of them cut off."""
    kept = [offset for offset in range(first, last + 1 - cut) if offset not in holes]
    batch = record_batch([Record(offset, b"k", b"%d" % offset, 1) for offset in kept], BatchFields())
    found = data(place)[1]
    found.records = bytes(batch)
    found.acquired_records = [fetch.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)]
    return place, found


def _by_itself(place, error, lock_ms):
    partition = acknowledge.PartitionData(
        partition_index=place.partition, error_code=0 if error is None else error.code
    )
    topic = acknowledge.ShareAcknowledgeTopicResponse(topic_id=Uuid(topic_id(place.topic)), partitions=[partition])
    return acknowledge.ShareAcknowledgeResponse(acquisition_lock_timeout_ms=lock_ms, responses=[topic])


def settled(place, by_itself=False, lock_ms=30_000):
    """What was said of the partition is well: in the answer to a fetch, or as an answer of its own."""
    return _by_itself(place, None, lock_ms) if by_itself else data(place)


def refused(place, error, acknowledging=None, by_itself=False):
    if by_itself:
        return _by_itself(place, error, 30_000)
    return data(
        place,
        error_code=0 if error is None else error.code,
        acknowledge_error_code=0 if acknowledging is None else acknowledging.code,
    )
