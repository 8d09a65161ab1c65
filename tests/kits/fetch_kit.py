"""A consumer's fetch cores and a cluster that answers them: logs of real batches, leaders that move, and fetch sessions
that are kept as strictly as a broker keeps them. Every request and every answer passes the wire form.

    story = FetchStory({"t": 2})
    story.log("t", 0).append(3)
    story.assign(("t", 0)).pump()
    story.answer()                       # the oldest request that is out
    story.take()                         # offsets by partition
"""

from odradek.channel.cluster import Cluster, PartitionInfo
from odradek.channel.core import ByVersion
from odradek.channel.metadata import Metadata
from odradek.channel.node import Node
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_config import FetchConfig
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.offset_reset import EARLIEST
from odradek.client.consumer.position_resolver import PositionResolver
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.k02_list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.control import end_transaction_marker
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

WALL_MS = 1_700_000_000_000
FETCH, LIST_OFFSETS, EPOCHS = FetchRequest.api_key, ListOffsetsRequest.api_key, OffsetForLeaderEpochRequest.api_key
VERSIONS = {FETCH: 17, LIST_OFFSETS: 9, EPOCHS: 4}
RESPONSES = {FETCH: FetchResponse, LIST_OFFSETS: ListOffsetsResponse, EPOCHS: OffsetForLeaderEpochResponse}


class ModelLog:
    """A partition as its leader has it."""

    def __init__(self, epoch=0):
        self.batches = []  # first offset, last offset, epoch, bytes
        self.aborted = []  # producer id, first offset, last offset
        self.start = 0
        self.end = 0
        self.epoch = epoch
        self.stable = None  # the last stable offset, if it is not the end

    def append(self, count=1, *, size=10, codec=0, value=None, key=None, headers=(), producer=None):
        """One batch; the value of a record is its offset, filled up to the size."""
        records = [
            Record(
                self.end + row,
                key,
                b"%d" % (self.end + row) + b"." * max(0, size - 8) if value is None else value,
                WALL_MS + self.end + row,
                list(headers),
            )
            for row in range(count)
        ]
        fields = BatchFields(partition_leader_epoch=self.epoch)
        if producer is not None:
            fields = BatchFields(
                partition_leader_epoch=self.epoch, producer_id=producer, producer_epoch=0, is_transactional=True
            )
        self.add(record_batch(records, fields, codec=codec), count)
        return self

    def add(self, data, count):
        self.batches.append((self.end, self.end + count - 1, self.epoch, data))
        self.end += count
        return self

    def end_transaction(self, producer, *, is_commit, first=None):
        marker = end_transaction_marker(
            is_commit,
            0,
            WALL_MS,
            producer_id=producer,
            producer_epoch=0,
            base_offset=self.end,
            partition_leader_epoch=self.epoch,
        )
        if not is_commit:
            self.aborted.append((producer, first, self.end))
        return self.add(marker, 1)

    def truncate(self, end):
        """A leader of a new epoch has less."""
        self.batches = [batch for batch in self.batches if batch[1] < end]
        self.end = end
        self.epoch += 1

    def trim(self, start):
        self.start = start
        self.batches = [batch for batch in self.batches if batch[1] >= start]

    def read(self, offset, max_bytes, *, is_first, end):
        found = b""
        for first, last, _, data in self.batches:
            if last < offset or first >= end:
                continue
            if len(found) + len(data) > max_bytes and (found or not is_first):
                break
            found += data
        return found

    def end_of_epoch(self, epoch):
        """The last epoch up to this one, and where it ends."""
        epochs = sorted({batch[2] for batch in self.batches} | {self.epoch})
        at_most = [each for each in epochs if each <= epoch]
        if not at_most:
            return -1, -1
        later = [batch[0] for batch in self.batches if batch[2] > epoch]
        return at_most[-1], min(later, default=self.end)


class ModelBroker:
    """One node's fetch sessions."""

    def __init__(self, cluster, node_id):
        self.cluster = cluster
        self.node_id = node_id
        self.sessions = {}  # id: [next epoch, {place: FetchPartition}]
        self.next_id = 100 * node_id
        self.keeps_sessions = True

    def fetch(self, request, version):
        names = self.cluster.names
        asked = {
            TopicPartition(names.get(topic.topic_id, "") if version >= 13 else topic.topic, each.partition): each
            for topic in request.topics
            for each in topic.partitions
        }
        if version < 7 or request.session_epoch in (0, -1):
            self.sessions.pop(request.session_id, None)
            return self.full(request, asked, version)
        session = self.sessions.get(request.session_id)
        if session is None:
            return FetchResponse(error_code=errors.FetchSessionIdNotFound.code)
        if session[0] != request.session_epoch:
            return FetchResponse(error_code=errors.InvalidFetchSessionEpoch.code)
        for topic in request.forgotten_topics_data:
            for partition in topic.partitions:
                name = names.get(topic.topic_id, "") if version >= 13 else topic.topic
                session[1].pop(TopicPartition(name, partition), None)
        session[1].update(asked)
        session[0] += 1
        return self.answer(request, session[1], request.session_id, is_full=False, version=version)

    def full(self, request, asked, version):
        session_id = 0
        if version >= 7 and request.session_epoch == 0 and self.keeps_sessions and asked:
            self.next_id += 1
            session_id = self.next_id
            self.sessions[session_id] = [1, dict(asked)]
        return self.answer(request, asked, session_id, is_full=True, version=version)

    def answer(self, request, asked, session_id, *, is_full, version):
        left, topics = request.max_bytes, []
        for place, each in asked.items():
            data = self.partition(place, each, left, request.isolation_level, is_first=left == request.max_bytes)
            left -= len(data.records or b"")
            if is_full or data.records or data.error_code or data.preferred_read_replica >= 0:
                topic_id = self.cluster.topic_ids.get(place.topic, bytes(16))
                topics.append(FetchableTopicResponse(topic=place.topic, topic_id=topic_id, partitions=[data]))
        return FetchResponse(session_id=session_id, responses=topics)

    def partition(self, place, asked, left, isolation, *, is_first):
        cluster, number = self.cluster, place.partition
        if place in cluster.errors:
            return PartitionData(partition_index=number, error_code=cluster.errors[place], records=b"")
        log = cluster.logs.get(place)
        is_replica = cluster.leaders.get(place) == self.node_id or self.node_id in cluster.followers.get(place, ())
        if log is None or not is_replica:
            return PartitionData(partition_index=number, error_code=errors.NotLeaderOrFollower.code, records=b"")
        if asked.current_leader_epoch not in (-1, log.epoch):
            error = errors.FencedLeaderEpoch if asked.current_leader_epoch < log.epoch else errors.UnknownLeaderEpoch
            return PartitionData(partition_index=number, error_code=error.code, records=b"")
        if not log.start <= asked.fetch_offset <= log.end:
            return PartitionData(partition_index=number, error_code=errors.OffsetOutOfRange.code, records=b"")
        stable = log.end if log.stable is None else log.stable
        preferred = cluster.preferred.get(place, -1)
        data = PartitionData(
            partition_index=number,
            high_watermark=log.end,
            last_stable_offset=stable,
            log_start_offset=log.start,
            records=b"",
        )
        if preferred not in (-1, self.node_id):
            data.preferred_read_replica = preferred
            return data
        end = stable if isolation else log.end
        data.records = log.read(
            asked.fetch_offset, min(left, asked.partition_max_bytes), is_first=is_first and left > 0, end=end
        )
        if isolation:
            data.aborted_transactions = [
                AbortedTransaction(producer_id=producer, first_offset=first)
                for producer, first, last in log.aborted
                if last >= asked.fetch_offset
            ]
        return data


class ModelCluster:
    def __init__(self, topics, nodes=1):
        self.node_ids = list(range(1, nodes + 1))
        self.brokers = {node_id: ModelBroker(self, node_id) for node_id in self.node_ids}
        self.topic_ids = {topic: bytes([number + 1] * 16) for number, topic in enumerate(topics)}
        places = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
        self.logs = {place: ModelLog() for place in places}
        self.leaders = {place: self.node_ids[at % nodes] for at, place in enumerate(places)}
        self.followers = {}
        self.preferred = {}
        self.errors = {}  # that a partition answers with, whoever asks

    @property
    def names(self):
        return {topic_id: name for name, topic_id in self.topic_ids.items()}

    def view(self):
        """As metadata tells it."""
        return Cluster(
            "c",
            [Node(node_id, f"host{node_id}", 9092) for node_id in self.node_ids],
            [PartitionInfo(*place, self.leaders[place], log.epoch) for place, log in self.logs.items()],
            topic_ids=self.topic_ids,
        )

    def move(self, place, node_id):
        self.leaders[place] = node_id
        self.logs[place].epoch += 1

    def list_offsets(self, request, version):
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[self._offset(TopicPartition(topic.name, each.partition_index), each, request, version)
                                for each in topic.partitions],
                )
                for topic in request.topics
            ]
        )  # fmt: skip

    def _offset(self, place, asked, request, version):
        log = self.logs[place]
        if place in self.errors:
            return ListOffsetsPartitionResponse(partition_index=place.partition, error_code=self.errors[place])
        stable = log.end if log.stable is None else log.stable
        if asked.timestamp == -2:
            offset = log.start
        elif asked.timestamp == -1:
            offset = stable if request.isolation_level else log.end
        else:
            offset = max(log.start, asked.timestamp - WALL_MS)  # each record has the time of its offset
            offset = offset if offset < log.end else -1
        return ListOffsetsPartitionResponse(
            partition_index=place.partition, offset=offset, timestamp=-1, leader_epoch=log.epoch if version >= 4 else -1
        )

    def epochs(self, request):
        topics = []
        for topic in request.topics:
            ends = []
            for each in topic.partitions:
                epoch, end = self.logs[topic.topic, each.partition].end_of_epoch(each.leader_epoch)
                ends.append(EpochEndOffset(partition=each.partition, leader_epoch=epoch, end_offset=end))
            topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=ends))
        return OffsetForLeaderEpochResponse(topics=topics)


class Out:
    """A request that is out: as the broker reads it."""

    def __init__(self, core, send, versions):
        self.core = core
        self.send = send
        asked = send.request
        self.api_key = asked.api_key
        self.version = versions[self.api_key]
        if isinstance(asked, ByVersion):
            self.version = min(self.version, asked.version_max or self.version)
            asked = asked.build(self.version)
        self.request = type(asked).decode(asked.to_bytes(self.version), self.version)

    @property
    def node_id(self):
        return self.send.destination.number


class FetchStory:
    def __init__(self, topics, *, nodes=1, reset=EARLIEST, config=None, versions=None, **buffer):
        self.config = config or FetchConfig()
        self.cluster = ModelCluster(topics, nodes)
        self.metadata = Metadata()
        self.updates = 0
        self.subscriptions = SubscriptionState(reset, is_read_committed=self.config.is_read_committed)
        self.buffer = FetchBuffer(**buffer)
        self.fetcher = Fetcher(self.subscriptions, self.metadata, self.buffer, self.config)
        self.resolver = PositionResolver(
            self.subscriptions, self.metadata, self.buffer, wall_ms=lambda: WALL_MS + self.now_ms
        )
        self.now_ms = 0
        self.versions = {**VERSIONS, **(versions or {})}
        self.out = []
        self.metadata.when_requested(self.wants_metadata)
        self.refresh()

    def wants_metadata(self):
        self.updates += 1

    def refresh(self):
        """The client hears what the cluster is like now."""
        self.metadata.cluster = self.cluster.view()
        return self

    def log(self, topic, partition):
        return self.cluster.logs[topic, partition]

    def assign(self, *places):
        self.subscriptions.assign([TopicPartition(*place) for place in places])
        return self

    def begin(self, *places, at=0):
        """Assigned, and with a position."""
        self.assign(*places)
        for place in places:
            self.subscriptions.seek(TopicPartition(*place), at)
        return self.pump()

    def pump(self):
        for core in (self.resolver, self.fetcher):
            self.out += [Out(core, send, self.versions) for send in core.poll(self.now_ms)]
        return self

    def wait(self, ms):
        self.now_ms += ms
        return self.pump()

    def fetches(self):
        return [out for out in self.out if out.api_key == FETCH]

    def answer(self, response=None, *, at=0):
        """The oldest request is answered, by the cluster unless something else is given."""
        out = self.out.pop(at)
        if response is None:
            response = self._answer(out)
        data = response.to_bytes(out.version)
        out.core.answered(out.send.token, RESPONSES[out.api_key].decode(data, out.version), self.now_ms)
        self.pump()
        return out

    def _answer(self, out):
        if out.api_key == FETCH:
            return self.cluster.brokers[out.node_id].fetch(out.request, out.version)
        if out.api_key == LIST_OFFSETS:
            return self.cluster.list_offsets(out.request, out.version)
        return self.cluster.epochs(out.request)

    def fail(self, *, at=0):
        out = self.out.pop(at)
        out.core.failed(out.send.token, self.now_ms)
        self.pump()
        return out

    def settle(self, rounds=20):
        """Answers go back and forth until every fetch waits for more records."""
        quiet = 0
        while rounds and quiet < 3:
            rounds -= 1
            before = [state.fetch_offset for state in self.subscriptions]
            for _ in list(self.out):
                self.answer()
            is_quiet = before == [state.fetch_offset for state in self.subscriptions]
            quiet = quiet + 1 if is_quiet and all(out.api_key == FETCH for out in self.out) else 0
        return self

    def take(self, max_records=10_000):
        """The offsets that were handed out, by partition."""
        found = {}
        for record in self.buffer.take(max_records):
            found.setdefault(TopicPartition(record.topic, record.partition), []).append(record.offset)
        self.pump()
        return found

    def validate(self):
        """What must hold at any moment."""
        used = self.fetcher.buffered_bytes + self.fetcher.reserved_bytes
        for state in self.subscriptions:
            assert state.buffered_bytes >= 0
            assert state.buffered_bytes == sum(chunk.size_bytes for chunk in state.chunks)
        return used
