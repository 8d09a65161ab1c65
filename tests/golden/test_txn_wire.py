"""Transactions of real clients with a real Kafka, sent to us: coordinator and produce path answer the same.

Producer ids and epochs of the recording are learnt from the answers and replaced in later requests, in the batches too.
How often a client was told to come again is a matter of speed: CONCURRENT_TRANSACTIONS is asked again and not compared.
"""

import time

import pytest
from crc32c import crc32c

from odradek.protocol import whole
from odradek.protocol.errors import ConcurrentTransactions
from odradek.records.layout import CRC, HEADER
from started import broker
from wire_replay import PROPERTIES, Replay, SocketTarget, create_topic, recordings

INIT_PRODUCER_ID, END_TXN, PRODUCE, FIND_COORDINATOR = 22, 26, 0, 10
PLAYED = {PRODUCE, 3, FIND_COORDINATOR, INIT_PRODUCER_ID, 24, 25, END_TXN, 28}
ID_FIELDS = ("producer_id", "v3_and_below_producer_id")
EPOCH_FIELDS = ("producer_epoch", "v3_and_below_producer_epoch")
CRC_AT, CRC_FROM = 17, 21


class TxnReplay(Replay):
    def __init__(self, release, ask):
        super().__init__(release, ask)
        self.producers = {}  # recorded (id, epoch) to ours

    def _is_served(self, frame):
        return frame["api_key"] in PLAYED and not (frame["api_key"] == 28 and self.is_in_group)

    def run(self, path):
        self.is_in_group = "confluent" in path.name  # its offsets are those of a member of a group
        return super().run(path)

    def _one(self, frame, recorded):
        code = ConcurrentTransactions.code
        if recorded is None or code in _codes(whole.decode_response(recorded, frame["api_key"], frame["version"])[1]):
            return
        before = len(self.differences)
        super()._one(frame, recorded)
        if frame["api_key"] == FIND_COORDINATOR:  # it makes the coordinator; what it says is compared with the groups'
            del self.differences[before:]

    def _both(self, ours, recorded, key, version):
        mine, theirs = (whole.decode_response(each, key, version)[1] for each in (ours, recorded))
        if key == INIT_PRODUCER_ID or (key == END_TXN and version >= 5):
            known = (theirs.producer_id, theirs.producer_epoch)
            self.producers[known] = (mine.producer_id, mine.producer_epoch)
            mine.producer_id, mine.producer_epoch = known
            ours = _encoded(mine, ours, version)
        return super()._both(ours, recorded, key, version)

    def _replace_ids(self, struct):
        super()._replace_ids(struct)
        self._replace_producer(struct)
        if getattr(struct, "api_key", None) == PRODUCE:
            for topic in struct.topic_data:
                for partition in topic.partition_data:
                    partition.records = self._with_our_producer(bytearray(partition.records))

    def _replace_producer(self, struct):
        for id_field, epoch_field in zip(ID_FIELDS, EPOCH_FIELDS, strict=True):
            if hasattr(type(struct), id_field):
                known = (getattr(struct, id_field), getattr(struct, epoch_field))
                ours = self.producers.get(known, known)
                setattr(struct, id_field, ours[0])
                setattr(struct, epoch_field, ours[1])

    def _with_our_producer(self, batch):
        header = list(HEADER.unpack_from(batch))
        header[9:11] = self.producers[header[9], header[10]]
        HEADER.pack_into(batch, 0, *header)
        CRC.pack_into(batch, CRC_AT, crc32c(bytes(batch[CRC_FROM:])))
        return batch


def _encoded(response, frame, version):
    """The response behind the header of the frame that it came in."""
    size = len(b"".join(bytes(part) for part in response.encode(version)))
    return bytes(frame[: len(frame) - size]) + response.to_bytes(version)


def _codes(response):
    results = getattr(response, "results_by_topic_v3_and_below", ())
    return {getattr(response, "error_code", 0)} | {
        partition.partition_error_code for topic in results for partition in topic.results_by_partition
    }


@pytest.mark.parametrize("release", ["4.3", "3.3"])
def test_recorded_transactions(release):
    with broker(release, {**PROPERTIES, "auto.create.topics.enable": "false"}) as address:
        set_up = SocketTarget(*address)
        create_topic(set_up.ask, "wire")
        paths = recordings(release, "txn")
        assert len(paths) >= 3
        for path in paths:
            target = SocketTarget(*address)
            replay = TxnReplay(release, _patient(target.ask))
            differences = replay.run(path)
            target.close()
            assert replay.asked >= 7, path.name
            assert not differences, f"{path.name}:\n" + "\n".join(map(str, differences))
        set_up.close()


def _patient(ask, patience_s=5):
    """Asks again while the coordinator is being made, loads, or is at the end of the last transaction."""

    def asked(connection, frame):
        header, request = whole.decode_request(frame)
        deadline = time.monotonic() + patience_s
        while True:
            answer = ask(connection, frame)
            response = whole.decode_response(answer, request.api_key, header.request_api_version)[1]
            if not _says_again(response) or time.monotonic() > deadline:
                return answer

    return asked


def _says_again(response):
    found = _codes(response) | {each.error_code for each in getattr(response, "coordinators", ())}
    found |= {
        partition.error_code
        for topic in getattr(response, "topics", ())
        for partition in getattr(topic, "partitions", ())
    }
    return bool(found & {14, 15, 16, ConcurrentTransactions.code})
