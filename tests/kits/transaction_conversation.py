"""One long conversation about transactions, to be had with any broker: what it answers is a list of lines.

    python tests/transaction_conversation.py HOST:PORT 3.3|4.3 > tests/golden/data/transactions-....txt

wrote down what a real Kafka says. Producer ids are those of a broker that has handed out none, so that it wants a fresh
one; what depends on speed (CONCURRENT_TRANSACTIONS, and which state is seen on the way) is waited out.
"""

import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from log_kit import batch
from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.protocol.messages.k26_end_txn import EndTxnRequest
from odradek.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from odradek.protocol.messages.k66_list_transactions import ListTransactionsRequest
from wire_replay import SocketTarget, create_topic

AGAIN = {14, 15, 16, 51}
PATIENCE_S = 15
TOPIC = "t"


class Conversation:
    """`said` is what was asked and answered."""

    def __init__(self, ask, release):
        self.ask_frame = ask
        self.release = release
        self.said = []

    def say(self, *words):
        self.said.append(" ".join(map(str, words)))

    def ask(self, request, version):
        header = RequestHeader(
            request_api_key=request.api_key, request_api_version=version, correlation_id=1, client_id="talker"
        )
        answer = self.ask_frame("talker", b"".join(whole.encode_request(header, request)))
        return whole.decode_response(answer, request.api_key, version)[1]

    def until(self, work, is_good):
        deadline = time.monotonic() + PATIENCE_S
        while not is_good(result := work()):
            assert time.monotonic() < deadline, f"still {result}"
            time.sleep(0.01)
        return result

    # Requests; each is written down with its answer

    def find(self, transactional_id):
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id])
        self.until(lambda: self.ask(request, 4).coordinators[0].error_code, lambda code: code == 0)

    def init(self, transactional_id, producer=(-1, -1), version=4, timeout_ms=60_000, *, once=False):
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer[0],
            producer_epoch=producer[1],
        )
        response = self.until(
            lambda: self.ask(request, version), lambda response: once or response.error_code not in AGAIN
        )
        pair = (response.producer_id, response.producer_epoch)
        self.say("init", version, transactional_id, producer, "->", response.error_code, pair)
        return pair

    def add(self, transactional_id, producer, indexes=(0,), topic=TOPIC, version=3):
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(indexes))],
        )
        response = self.ask(request, version)
        codes = partition_codes(response.results_by_topic_v3_and_below)
        self.say("add", version, transactional_id, producer, topic, indexes, "->", codes)

    def add_for_client(self, transactional_id, producer, indexes=(0,), topic=TOPIC, version=5, *, verify_only=False):
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            verify_only=verify_only,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(indexes))],
        )
        response = self.ask(AddPartitionsToTxnRequest(transactions=[transaction]), version)
        codes = [partition_codes(result.topic_results) for result in response.results_by_transaction]
        what = "verify" if verify_only else "add"
        self.say(what, version, transactional_id, producer, topic, indexes, "->", response.error_code, codes)

    def add_offsets(self, transactional_id, producer, group="g", version=3):
        request = AddOffsetsToTxnRequest(
            transactional_id=transactional_id, producer_id=producer[0], producer_epoch=producer[1], group_id=group
        )
        code = self.ask(request, version).error_code
        self.say("add offsets", version, transactional_id, producer, group, "->", code)

    def end(self, transactional_id, producer, is_commit=True, version=3):
        request = EndTxnRequest(
            transactional_id=transactional_id, producer_id=producer[0], producer_epoch=producer[1], committed=is_commit
        )
        response = self.ask(request, version)
        pair = (response.producer_id, response.producer_epoch)
        what = "commit" if is_commit else "abort"
        self.say(what, version, transactional_id, producer, "->", response.error_code, pair)
        return pair

    def produce(self, transactional_id, producer, sequence=0, version=9, *, transactional=True):
        records = batch(b"v", producer=producer[0], epoch=producer[1], sequence=sequence, transactional=transactional)
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=5000,
            topic_data=[
                TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=bytes(records))])
            ],
        )
        answer = self.ask(request, version).responses[0].partition_responses[0]
        self.say("produce", version, transactional_id, producer, sequence, "->", answer.error_code, answer.base_offset)

    def marker(self, producer, is_commit=True, topic=TOPIC, index=0, coordinator_epoch=0, version=1, of_version=0):
        marker = WritableTxnMarker(
            producer_id=producer[0],
            producer_epoch=producer[1],
            transaction_result=is_commit,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[index])],
            coordinator_epoch=coordinator_epoch,
            transaction_version=of_version,
        )
        response = self.ask(WriteTxnMarkersRequest(markers=[marker]), version)
        code = response.markers[0].topics[0].partitions[0].error_code
        what = ("marker", version, of_version, producer, is_commit, topic, index, coordinator_epoch)
        self.say(*what, "->", code)

    def describe(self, *transactional_ids):
        response = self.ask(DescribeTransactionsRequest(transactional_ids=list(transactional_ids)), 0)
        for state in response.transaction_states:
            topics = [(topic.topic, sorted(topic.partitions)) for topic in state.topics]
            pair = (state.producer_id, state.producer_epoch)
            facts = (state.transaction_state or "-", pair, state.transaction_timeout_ms, topics)
            self.say("describe", state.transactional_id, "->", state.error_code, *facts)
        return response.transaction_states[-1].transaction_state

    def complete(self, transactional_id):
        """Until the markers are written."""
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        self.until(
            lambda: self.ask(request, 0).transaction_states[0].transaction_state,
            lambda state: state in ("CompleteCommit", "CompleteAbort"),
        )
        self.describe(transactional_id)

    def listed(self, version=0, **filters):
        response = self.ask(ListTransactionsRequest(**filters), version)
        found = sorted(
            (each.transactional_id, each.producer_id, each.transaction_state) for each in response.transaction_states
        )
        self.say("list", version, filters, "->", response.error_code, sorted(response.unknown_state_filters), found)


def partition_codes(topics):
    return sorted(
        (topic.name, result.partition_index, result.partition_error_code)
        for topic in topics
        for result in topic.results_by_partition
    )


def old_clients(talk):
    """Versions that both releases have."""
    talk.find("a")
    a = talk.init("a")
    talk.produce("a", a)
    talk.end("a", a)
    talk.add("a", a)
    talk.produce("a", a, 1 if talk.release == "3.3" else 0)
    talk.describe("a")
    talk.end("a", a)
    talk.complete("a")
    talk.end("a", a)
    talk.end("a", a, False)
    talk.init("a", a)
    talk.init("a", a)
    talk.init("a", (a[0], a[1] + 5))
    talk.init("a", (a[0] + 1000, 0))
    b = talk.init("b")
    talk.add("b", b, (0, 1))
    talk.init("b", once=True)
    talk.complete("b")
    talk.produce("b", b)
    talk.end("b", b)
    talk.init("b")
    talk.init("b", b)
    for version in (1, 3):
        talk.end("b", b, version=version)
        talk.add("b", b, version=version)
        talk.add_offsets("b", b, version=version)
    talk.init("b", b, version=3)
    talk.init("")
    talk.init("c", timeout_ms=0)
    talk.init("c", timeout_ms=2**31 - 1)
    nobody = (77, 0)
    for transactional_id in ("", "nobody"):
        talk.end(transactional_id, nobody)
        talk.add(transactional_id, nobody)
        talk.add_offsets(transactional_id, nobody)
    talk.add("b", b, topic="nope")
    talk.add("b", b, (0, 77))
    d = talk.init("d")
    talk.end("d", d)
    talk.end("d", d, False)
    talk.produce(None, d)
    talk.produce("d", d, transactional=False)
    talk.add("d", d)
    talk.produce("d", d, 1)
    talk.marker((d[0], 0), version=1, coordinator_epoch=3)
    talk.marker((d[0], 0), version=1, coordinator_epoch=2)
    talk.marker((d[0], 7), version=1, coordinator_epoch=3)
    talk.marker((d[0], 0), version=1, coordinator_epoch=4)
    talk.marker((999, 0), version=1, index=77)
    talk.marker((999, 0), version=1, topic="nope")
    talk.listed()
    talk.listed(state_filters=["Ongoing", "PrepareEpochFence", "Dead", "empty", "Foo"])
    talk.listed(producer_id_filters=[a[0], 99])
    talk.describe("a", "nobody", "")


def new_clients(talk):
    """Transactions of version 2, and what brokers ask each other."""
    e = talk.init("e", version=5)
    talk.produce("e", e, version=12)
    second = talk.end("e", e, version=5)
    talk.complete("e")
    talk.end("e", e, version=5)
    talk.end("e", e, False, version=5)
    talk.produce("e", e, 1, version=12)
    talk.produce("e", second, version=12)
    talk.end("e", e, version=5)
    third = talk.end("e", second, False, version=5)
    talk.complete("e")
    fourth = talk.end("e", third, False, version=5)
    talk.complete("e")
    talk.end("e", fourth, True, version=5)
    talk.end("e", (e[0] + 1000, 0), False, version=5)
    talk.init("e", fourth, version=5)
    talk.init("e", fourth, version=5)
    talk.init("e", third, version=5)
    f = talk.init("f", version=5)
    talk.produce("f", f, version=12)
    talk.init("f", version=5, once=True)
    talk.complete("f")
    talk.init("f", f, version=5)
    talk.init("f", version=5)
    talk.end("f", f, version=5)
    g = talk.init("g", version=5)
    talk.add_for_client("g", g, verify_only=True)
    talk.add_for_client("g", g, verify_only=True, version=4)
    talk.add_for_client("g", g)
    talk.add_for_client("g", g, (0, 1), verify_only=True)
    talk.add_for_client("g", g, topic="nope")
    talk.add_for_client("g", g, (0, 77))
    for stamp in ((g[0], 9), (g[0] + 1000, 0)):
        talk.add_for_client("g", stamp)
        talk.add_for_client("g", stamp, verify_only=True)
    talk.add_for_client("nobody", g, verify_only=True)
    talk.add_for_client("", g)
    talk.describe("g")
    h = talk.init("h", version=5)
    for version in (3, 8, 10, 11):
        talk.produce("h", h, version=version)
    for version in (9, 11, 12):
        talk.produce("h", (h[0], 1), version=version)
        talk.produce("h", (h[0] + 1000, 0), version=version)
    talk.produce("nobody", h, version=12)
    talk.produce(None, h, version=12)
    talk.produce("", h, version=12)
    talk.produce("h", h, 5, version=12)
    talk.produce("h", h, 0, version=12)
    i = talk.init("i", version=5)
    talk.produce("i", i, version=12)
    talk.marker(i, version=2, of_version=2)
    talk.marker((i[0], 1), version=2, of_version=2)
    talk.marker((i[0], 1), version=2, of_version=2)
    talk.produce("i", (i[0], 1), version=12)
    after = talk.end("i", i, version=5)
    talk.complete("i")
    talk.produce("i", after, version=12)
    talk.marker(after, version=2, of_version=2)
    talk.marker(after, version=2, of_version=0)
    talk.listed(2, transactional_id_pattern="[e-g]")
    talk.listed(2, transactional_id_pattern="(")
    talk.listed(1, duration_filter=10**12)
    talk.listed(1, duration_filter=0, state_filters=["CompleteCommit"])


def play(ask, release):
    """The lines of a whole conversation."""
    create_topic(ask, TOPIC, partitions=3)
    talk = Conversation(ask, release)
    old_clients(talk)
    if release != "3.3":
        new_clients(talk)
    return talk.said


if __name__ == "__main__":
    host, port = sys.argv[1].split(":")
    sys.stdout.write("\n".join(play(SocketTarget(host, int(port)).ask, sys.argv[2])) + "\n")
