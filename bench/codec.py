"""The message codec beside kio, kafka-python and aiokafka: the same bytes, decoded and encoded, in the same run.

Each peer decodes the bytes that ours encoded, and encodes what it decoded. Ratios above 1 mean that ours is faster.
"""

import importlib
import io
import sys
from collections.abc import Callable
from typing import Any

from bench.measure import best_seconds, geometric_mean
from odradek import native
from odradek.protocol import codec as pure
from odradek.protocol.declare import Message
from odradek.protocol.messages import k00_produce as produce
from odradek.protocol.messages import k01_fetch as fetch
from odradek.protocol.messages import k03_metadata as metadata

TOPIC = "orders"
TOPIC_ID = bytes(range(16))
RECORDS = bytes(200)

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def produce_request(version: int) -> Message:
    partition = produce.PartitionProduceData(index=3, records=RECORDS)
    topic = produce.TopicProduceData(partition_data=[partition])
    _name(topic, "name", version, ids_from=13)
    return produce.ProduceRequest(acks=-1, timeout_ms=30000, topic_data=[topic])


def produce_response(version: int) -> Message:
    partition = produce.PartitionProduceResponse(index=3, base_offset=123456789)
    topic = produce.TopicProduceResponse(partition_responses=[partition])
    _name(topic, "name", version, ids_from=13)
    return produce.ProduceResponse(responses=[topic])


def fetch_request(version: int) -> Message:
    partitions = [
        fetch.FetchPartition(partition=i, fetch_offset=1000 + i, partition_max_bytes=1 << 20) for i in range(3)
    ]
    topic = fetch.FetchTopic(partitions=partitions)
    _name(topic, "topic", version, ids_from=13)
    return fetch.FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, topics=[topic])


def fetch_response(version: int) -> Message:
    partitions = [
        fetch.PartitionData(
            partition_index=i, high_watermark=5000, last_stable_offset=5000, log_start_offset=0, records=RECORDS
        )
        for i in range(3)
    ]
    topic = fetch.FetchableTopicResponse(partitions=partitions)
    _name(topic, "topic", version, ids_from=13)
    return fetch.FetchResponse(responses=[topic])


def metadata_request(version: int) -> Message:
    return metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=TOPIC)])


def metadata_response(version: int) -> Message:
    brokers = [metadata.MetadataResponseBroker(node_id=i, host="broker.example", port=9092) for i in range(3)]
    partitions = [
        metadata.MetadataResponsePartition(
            partition_index=i, leader_id=i % 3, replica_nodes=[0, 1, 2], isr_nodes=[0, 1, 2]
        )
        for i in range(12)
    ]
    topic = metadata.MetadataResponseTopic(name=TOPIC, partitions=partitions)
    return metadata.MetadataResponse(brokers=brokers, cluster_id="cluster", controller_id=1, topics=[topic])


def _name(topic: Any, field: str, version: int, ids_from: int) -> None:
    if version >= ids_from:
        topic.topic_id = TOPIC_ID
    else:
        setattr(topic, field, TOPIC)


# What is measured: the builder, and the version each peer is asked for.
CASES: list[tuple[str, Callable[[int], Message], dict[str, int]]] = [
    ("ProduceRequest", produce_request, {"kio": 13, "kafka-python": 13, "aiokafka": 7}),
    ("ProduceResponse", produce_response, {"kio": 13, "kafka-python": 13, "aiokafka": 7}),
    ("FetchRequest", fetch_request, {"kio": 16, "kafka-python": 16, "aiokafka": 11}),
    ("FetchResponse", fetch_response, {"kio": 16, "kafka-python": 16, "aiokafka": 11}),
    ("MetadataRequest", metadata_request, {"kio": 12, "kafka-python": 12, "aiokafka": 5}),
    ("MetadataResponse", metadata_response, {"kio": 12, "kafka-python": 12, "aiokafka": 5}),
]


def kio(name: str, version: int, data: bytes) -> Pair:
    from kio.serial import entity_reader, entity_writer

    side = "request" if name.endswith("Request") else "response"
    api = name.removesuffix("Request").removesuffix("Response").lower()
    module = importlib.import_module(f"kio.schema.{api}.v{version}.{side}")
    entity = getattr(module, name)
    read, write = entity_reader(entity), entity_writer(entity)
    decoded, _ = read(data, 0)
    check = io.BytesIO()
    write(check, decoded)
    assert check.getvalue() == data, f"kio encodes {name} v{version} otherwise"
    return (lambda: read(data, 0)), (lambda: write(io.BytesIO(), decoded))


def kafka_python(name: str, version: int, data: bytes) -> Pair:
    modules = {
        "Produce": "kafka.protocol.producer",
        "Fetch": "kafka.protocol.consumer",
        "Metadata": "kafka.protocol.metadata",
    }
    api = name.removesuffix("Request").removesuffix("Response")
    cls = getattr(importlib.import_module(modules[api]), name)
    decoded = cls.decode(data, version=version)
    decoded._header = None  # a decoded message lacks the attribute, and encode asks for it
    assert decoded.encode(version=version) == data, f"kafka-python encodes {name} v{version} otherwise"
    return (lambda: cls.decode(data, version=version)), (lambda: decoded.encode(version=version))


def aiokafka(name: str, version: int, data: bytes) -> Pair:
    api = name.removesuffix("Request").removesuffix("Response")
    module = importlib.import_module(f"aiokafka.protocol.{api.lower()}")
    cls = getattr(module, f"{name}_v{version}", None) or getattr(module, f"{name}Struct_v{version}", None)
    cls = cls or getattr(module, f"{api}RequestStruct_v{version}")
    decoded = cls.decode(data)
    assert decoded.encode() == data, f"aiokafka encodes {name} v{version} otherwise"
    return (lambda: cls.decode(data)), decoded.encode


PEERS = {"kio": kio, "kafka-python": kafka_python, "aiokafka": aiokafka}


def ours(executor: Any, message: Message, version: int, data: bytes) -> Pair:
    plan = type(message).plan(version)
    decoded, _ = executor.decode(plan, data, 0)
    return (lambda: executor.decode(plan, data, 0)), (lambda: executor.encode(plan, decoded))


def main() -> int:
    compiled = native.load_compiled("odradek.protocol._codec")
    print(
        f"{'message':<18}{'way':<8}{'peer':<14}{'v':>3}"
        f"{'peer µs':>9}{'ours µs':>9}{'ratio':>7}{'pure µs':>9}{'ratio':>7}"
    )
    ratios: dict[str, list[float]] = {peer: [] for peer in PEERS}
    pure_ratios: dict[str, list[float]] = {peer: [] for peer in PEERS}
    for name, build, versions in CASES:
        for peer, version in versions.items():
            message = build(version)
            data = message.to_bytes(version)
            theirs = PEERS[peer](name, version, data)
            mine, plain = ours(compiled, message, version, data), ours(pure, message, version, data)
            for index, way in enumerate(("decode", "encode")):
                best = best_seconds({"peer": theirs[index], "ours": mine[index], "pure": plain[index]})
                ratios[peer].append(best["peer"] / best["ours"])
                pure_ratios[peer].append(best["peer"] / best["pure"])
                print(
                    f"{name:<18}{way:<8}{peer:<14}{version:>3}{best['peer'] * 1e6:>9.2f}{best['ours'] * 1e6:>9.2f}"
                    f"{ratios[peer][-1]:>7.1f}{best['pure'] * 1e6:>9.2f}{pure_ratios[peer][-1]:>7.1f}"
                )
    for peer in PEERS:
        print(
            f"against {peer}: compiled {geometric_mean(ratios[peer]):.2f}x, "
            f"pure {geometric_mean(pure_ratios[peer]):.2f}x (geometric mean)"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
