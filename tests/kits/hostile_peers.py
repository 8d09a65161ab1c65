"""What hostile peers do to a broker: each attack is a function of its address that tells what came of it.

An attack never trusts the broker to answer: every wait has a deadline, and a broker that lets one pass has hung.
"""

import os
import random
import socket
import struct
import time
from contextlib import ExitStack

from odradek.handlers import table
from odradek.protocol import releases, whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.records.compression import GZIP
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

SECONDS_MAX = 30  # for one answer
CLOSED = "closed"
KB, MB = 1024, 1024 * 1024

API_VERSIONS_0 = struct.pack(">ihhih", 10, 18, 0, 7, -1)
TLS_HELLO = bytes.fromhex("16030100f8010000f40303") + bytes(range(64)) * 4


def connect(address, receive_bytes=None):
    peer = socket.socket()
    peer.settimeout(SECONDS_MAX)
    if receive_bytes is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    peer.connect(address)
    return peer


def frame(request, version, correlation_id=7):
    header = RequestHeader(
        request_api_key=request.api_key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id="hostile",
    )
    return framed(b"".join(whole.encode_request(header, request)))


def framed(content):
    return struct.pack(">i", len(content)) + content


def reply(peer):
    """The next frame without its length, or CLOSED."""
    head = exactly(peer, 4)
    return CLOSED if head == CLOSED else exactly(peer, struct.unpack(">i", head)[0])


def exactly(peer, size):
    received = bytearray()
    try:
        while len(received) < size:
            some = peer.recv(min(MB, size - len(received)))
            if not some:
                return CLOSED
            received += some
    except ConnectionError:
        return CLOSED
    return bytes(received)


def tell(address, data):
    """Sends this over a new connection: the answer's bytes or CLOSED."""
    with connect(address) as peer:
        try:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
        except ConnectionError:
            return CLOSED
        return reply(peer)


def ask(address, request, version):
    """The decoded answer or CLOSED."""
    with connect(address) as peer:
        try:
            peer.sendall(frame(request, version))
        except ConnectionError:
            return CLOSED
        answer = reply(peer)
    return CLOSED if answer == CLOSED else whole.decode_response(answer, request.api_key, version)[1]


def until(condition, seconds=SECONDS_MAX):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


# Bytes that are no request


def impossible_lengths(address):
    lengths = (-1, -(2**31), 0, 3, 2**31 - 1, 100 * MB + 1)
    return {length: tell(address, struct.pack(">i", length) + bytes(64)) for length in lengths}


def tls_greeting(address):
    return tell(address, TLS_HELLO)


def garbage(address, count=200, seed=1):
    """Bytes from nowhere, and frames of the right length around them."""
    chance = random.Random(seed)
    outcomes = []
    for number in range(count):
        data = chance.randbytes(chance.randrange(1, 4 * KB))
        outcomes.append(tell(address, framed(data) if number % 2 else data))
    return outcomes


def unknown_apis(address):
    pairs = [(key, 0) for key in (-1, 93, 999, 32767)] + [
        (key, version) for key in (0, 1, 3, 19) for version in (-1, 99)
    ]
    return {pair: tell(address, framed(struct.pack(">hhih", *pair, 7, -1) + bytes(16))) for pair in pairs}


def unknown_api_versions(address):
    return tell(address, framed(struct.pack(">hhihb", 18, 99, 7, -1, 0) + bytes(16)))


# Bodies that are none


def served_pairs(release=releases.RELEASE_4_3):
    for key in table.keys(releases.BROKER):
        for version in table.accepted(release, releases.BROKER, key):
            yield key, version


def bodies(chance):
    """Behind a header: nothing, noise, and counts that go on for ever in both encodings."""
    yield b""
    yield chance.randbytes(chance.randrange(1, 200))
    yield b"\x7f\xff\xff\xff" * 8
    yield b"\xff\xff\xff\xff\x07" * 8
    yield bytes(chance.randrange(3) for _ in range(60))


def garbage_bodies(address, seed=1):
    """{(key, version): outcomes}; SECONDS_MAX without an answer raises TimeoutError."""
    chance = random.Random(seed)
    outcomes = {}
    for key, version in served_pairs():
        header = struct.pack(">hhihB", key, version, 7, -1, 0)
        outcomes[key, version] = [tell(address, framed(header + body)) for body in bodies(chance)]
    return outcomes


def array_of_millions(address, key=3, version=1):
    """A Metadata request whose 90 MB hold nothing but 45 million empty names."""
    body = struct.pack(">i", 45_000_000) + bytes(90_000_000)
    return tell(address, framed(struct.pack(">hhih", key, version, 7, -1) + body))


# Slow, many, and deaf


def half_frames(address, connections=200, seconds=3):
    """One byte a second each of a frame that was announced with 90 MB; how many are still there."""
    with ExitStack() as stack:
        peers = [stack.enter_context(connect(address)) for _ in range(connections)]
        for peer in peers:
            peer.sendall(struct.pack(">i", 90 * MB))
        for _ in range(seconds):
            for peer in peers:
                peer.send(b"x")
            time.sleep(1)
        return len(peers)


def many_connections(address, count=5000):
    """All at once; how many were answered."""
    with ExitStack() as stack:
        peers = [stack.enter_context(connect(address)) for _ in range(count)]
        for peer in peers:
            peer.sendall(API_VERSIONS_0)
        return sum(reply(peer) != CLOSED for peer in peers)


def connect_and_leave(address, count=5000):
    """Opened and closed, every other one with a reset and a request on its way."""
    for number in range(count):
        with connect(address) as peer:
            if number % 2:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                peer.sendall(API_VERSIONS_0)
    return count


def flood(stack, address, requests, connections, bytes_max=64 * MB):
    """Pipelines the same requests until nobody takes them any more, and reads nothing; the peers and what they sent."""
    peers = [stack.enter_context(connect(address)) for _ in range(connections)]
    sent = 0
    for peer in peers:
        peer.setblocking(False)
    stuck_since = time.monotonic()
    while time.monotonic() - stuck_since < 0.5 and sent < bytes_max:
        for peer in peers:
            try:
                sent += peer.send(requests)
                stuck_since = time.monotonic()
            except BlockingIOError:
                pass
            except ConnectionError:
                return peers, sent
        time.sleep(0.001)
    return peers, sent


def pipelined(address, count=100_000, connections=1):
    """So many requests without a look at the answers, as far as the broker takes them."""
    with ExitStack() as stack:
        _, sent = flood(stack, address, API_VERSIONS_0 * 1000, connections, count * len(API_VERSIONS_0))
        return sent // len(API_VERSIONS_0)


def deaf_fetchers(address, topic, connections=8, fetches=4):
    """Each asks for 100 MB, a few times over, and reads none of it; how many are still connected after a second."""
    wanted = FetchTopic(
        topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100 * MB)]
    )
    request = FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=100 * MB, topics=[wanted])
    with ExitStack() as stack:
        peers = [stack.enter_context(connect(address, receive_bytes=4096)) for _ in range(connections)]
        for peer in peers:
            peer.sendall(frame(request, 12) * fetches)
        time.sleep(1)
        return len(peers)


def abandoned_long_polls(address, topic, count=2000, version=12):
    """Fetches that would wait for 24 days, whose senders have left."""
    wanted = FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=MB)])
    data = frame(FetchRequest(max_wait_ms=2**31 - 1, min_bytes=MB, max_bytes=MB, topics=[wanted]), version)
    for _ in range(count):
        with connect(address) as peer:
            peer.sendall(data)
    return count


# Requests that ask for too much


def batch(value, codec=0):
    now_ms = int(time.time() * 1000)
    return bytes(record_batch([Record(0, None, value, now_ms)], BatchFields(), codec=codec))


def produce_request(topic, records, acks=1, partition=0):
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[data])


def compression_bomb(address, topic, size=64 * MB):
    """The error code, or CLOSED; the batch is some 65 KB."""
    records = batch(bytes(size), GZIP)
    assert len(records) < size // 500, len(records)
    answer = ask(address, produce_request(topic, records), 9)
    return answer if answer == CLOSED else answer.responses[0].partition_responses[0].error_code


def produce_everywhere(address, count=10_000):
    """One record to each of so many topics that are not there."""
    records = batch(b"x")
    topics = [
        TopicProduceData(name=f"nowhere-{number}", partition_data=[PartitionProduceData(index=0, records=records)])
        for number in range(count)
    ]
    answer = ask(address, ProduceRequest(acks=1, timeout_ms=10_000, topic_data=topics), 9)
    return answer if answer == CLOSED else {topic.partition_responses[0].error_code for topic in answer.responses}


def empty_partitions(address, size=90 * MB):
    """A produce request of one topic whose partitions have no records: six bytes each."""
    partition = b"\0\0\0\0\0\0"
    count = size // len(partition)
    header = struct.pack(">hhihB", 0, 9, 7, -1, 0)
    body = b"\0" + struct.pack(">hi", 1, 1000) + b"\2\1" + varint(count + 1) + partition * count + b"\0\0"
    return tell(address, framed(header + body))


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def giant_metadata(address, count=100_000, creates=False):
    topics = [MetadataRequestTopic(name=f"missing-{number}") for number in range(count)]
    answer = ask(address, MetadataRequest(topics=topics, allow_auto_topic_creation=creates), 9)
    return answer if answer == CLOSED else {topic.error_code for topic in answer.topics}


def giant_fetch(address, topic, count=1_000_000):
    """So many partitions in one request, nearly all of which the topic does not have."""
    partitions = [FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=MB) for number in range(count)]
    wanted = FetchTopic(topic=topic, partitions=partitions)
    answer = ask(address, FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=MB, topics=[wanted]), 12)
    if answer == CLOSED:
        return CLOSED
    return {data.error_code for told in answer.responses for data in told.partitions}


def giant_topic(address, partitions=2**31 - 1):
    return creation(address, [CreatableTopic(name="giant", num_partitions=partitions, replication_factor=1)])


def many_topics(address, count=100_000):
    return creation(
        address,
        [
            CreatableTopic(name=f"one-of-many-{number}", num_partitions=1, replication_factor=1)
            for number in range(count)
        ],
    )


def creation(address, topics):
    answer = ask(address, CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)
    return answer if answer == CLOSED else {topic.error_code for topic in answer.topics}


# Honest set-up


def create_topic(address, name, partitions=1):
    codes = creation(address, [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)])
    assert codes == {0}, codes
    until(lambda: _writes(address, name, partitions - 1))


def _writes(address, name, partition):
    answer = ask(address, produce_request(name, batch(b"first"), partition=partition), 9)
    return answer.responses[0].partition_responses[0].error_code == 0


def delete_topics(address, names):
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=10_000)
    answer = ask(address, request, 6)
    return {topic.error_code for topic in answer.responses}


def fill(address, topic, size, batch_bytes=900 * KB):
    """Appends about so many bytes that do not compress."""
    records = batch(os.urandom(batch_bytes))
    data = frame(produce_request(topic, records), 9)
    with connect(address) as peer:
        for _ in range(max(1, size // len(records))):
            peer.sendall(data)
            assert reply(peer) != CLOSED


def is_served(address):
    answer = ask(address, ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)
    return answer != CLOSED and answer.error_code == 0
