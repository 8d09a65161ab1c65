"""A small client for what goes before a measurement: ready, topic there, topic writable, topic gone."""

import socket
import time
from struct import Struct
from typing import Any

from odradek.protocol import apis, registry
from odradek.protocol.declare import Request
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from odradek.records.build import build

ANSWER_SECONDS_MAX = 60
LOOK_SECONDS = 0.005
_LENGTH = Struct(">i")


class WireClient:
    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX)

    def __enter__(self) -> "WireClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, request: Request, version: int) -> Any:
        assert request.api_key is not None
        api = apis.by_key(request.api_key)
        header = RequestHeader(
            request_api_key=api.key, request_api_version=version, correlation_id=1, client_id="bench"
        )
        parts = [*header.encode(api.request_header_version(version)), *request.encode(version)]
        frame = b"".join(bytes(part) for part in parts)  # type: ignore[arg-type]
        self._socket.sendall(_LENGTH.pack(len(frame)) + frame)
        answer = self._receive(_LENGTH.unpack(self._receive(4))[0])
        return registry.response(api.key).decode(answer[4 + api.response_header_version(version) :], version)

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            some = self._socket.recv(size - len(data))
            if not some:
                raise ConnectionResetError("the broker has closed the connection")
            data += some
        return data


def wait_until_ready(port: int, is_alive: Any, seconds_max: float = 180) -> None:
    """Until a Metadata request is answered and names a broker."""
    deadline = time.monotonic() + seconds_max
    while is_alive() and time.monotonic() < deadline:
        try:
            with WireClient(port) as client:
                if client.ask(MetadataRequest(topics=[]), 5).brokers:
                    return
        except OSError:
            time.sleep(LOOK_SECONDS)
    raise RuntimeError(f"no broker answers on port {port}")


def create_topic(port: int, name: str, partitions: int) -> None:
    """There, and every partition has taken a record."""
    with WireClient(port) as client:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30000), 4)
        for partition in range(partitions):
            wait_until(lambda partition=partition: produce(client, name, partition) == 0)  # type: ignore[misc]


def delete_topic(port: int, name: str) -> None:
    with WireClient(port) as client:
        client.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=30000), 3)


def wait_until_readable(port: int, topic: str) -> int:
    """The end offset of partition 0, once its leader tells it."""
    end = -1

    def is_told() -> bool:
        nonlocal end
        with WireClient(port) as client:
            asked = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
            found = client.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), 2).topics[0].partitions[0]
        end = found.offset
        return bool(found.error_code == 0)

    wait_until(is_told)
    return end


def produce(client: WireClient, topic: str, partition: int) -> int:
    """Writes a record; the error code."""
    records = bytes(build([b"first"], default_timestamp=int(time.time() * 1000)).data)
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
    answer = client.ask(ProduceRequest(acks=1, timeout_ms=5000, topic_data=[data]), 7)
    return int(answer.responses[0].partition_responses[0].error_code)


def wait_until(is_true: Any) -> None:
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while not is_true():
        if time.monotonic() > deadline:
            raise RuntimeError("what was waited for has not come")
        time.sleep(LOOK_SECONDS)
