"""The transaction logs of real brokers: our core loads them, and would have written each record to the byte."""

import gzip
import json
from pathlib import Path

import pytest

from odradek.coordinator.transaction import states
from odradek.coordinator.transaction.core import CoreConfig, TransactionCore
from odradek.coordinator.transaction.transaction import Transaction
from odradek.protocol.frames import TRANSACTIONS
from odradek.replicated.log_record import LogRecord

LOGDIRS = Path(__file__).parent / "data" / "logdirs"
FILES = {
    "kafka-3.3.2-kraft-clean": 0,
    "kafka-3.3.2-zk-clean": 0,
    "kafka-4.3.0-kraft-clean": 1,
}


def records(name):
    with gzip.open(LOGDIRS / f"{name}.segments.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if "__transaction_state-" in row["file"] and row["file"].endswith(".log"):
                for batch in row["batches"]:
                    for record in batch["records"]:
                        yield record["offset"], bytes.fromhex(record["key"]), bytes.fromhex(record["value"])


def theirs_first(read, topic):
    """Kafka writes topics in the order of a hash table, ours by name."""
    return [each.topic for each in read.transaction_partitions].index(topic.topic)


@pytest.mark.parametrize(("name", "version"), FILES.items())
def test_a_recorded_log(name, version):
    core = TransactionCore(CoreConfig(lambda: 2, 10_000, 1, 1))
    found = list(records(name))
    assert len(found) >= 20
    for offset, key, value in found:
        decoded = TRANSACTIONS.decode_key(key)
        read = TRANSACTIONS.decode_value(decoded, value)
        ours = Transaction.of(decoded.transactional_id, read).record(version)
        assert TRANSACTIONS.encode_key(ours.key) == key
        (ours.value.transaction_partitions or []).sort(key=lambda topic: theirs_first(read, topic))
        assert TRANSACTIONS.encode_value(ours.value, version) == value
        core.replay(LogRecord(decoded, read), offset)
    core.validate()
    assert {states.NAMES[txn.state] for txn in core.transactions.values()} <= {
        "Empty",
        "Ongoing",
        "CompleteCommit",
        "CompleteAbort",
    }
    assert "tx-1" in core.transactions
