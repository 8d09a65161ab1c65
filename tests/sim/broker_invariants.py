"""The invariants of `reliability.md` that are seen from inside: after every step, at every start, and at the end."""

from history import ViolationError
from log_kit import run
from odradek.inspection.verify_dir import verify_dir
from odradek.inspection.verify_replay import Replay
from odradek.records.batch import batches

DATA = "/data"


class LogView:
    """The log of a partition as its files show it, every batch checked (L1, L2, P1). Offsets begin at 0."""

    def __init__(self, files, partition):
        topic, index = partition
        prefix = f"{DATA}/{topic}-{index}/"
        names = sorted(path for path in files if path.startswith(prefix) and path.endswith(".log"))
        self.partition = partition
        self.batches = [each for name in names for each in batches(files[name])]
        self.values = []
        sequences = {}
        for each in self.batches:
            self._add(each, sequences)

    def _add(self, each, sequences):
        each.ensure_valid()
        if each.base_offset != len(self.values):
            raise ViolationError(
                "L1", f"{self.partition}: a batch at {each.base_offset} follows {len(self.values) - 1}"
            )
        self.values += [bytes(record.value) for record in each.records()]
        if each.has_sequence:
            key = (each.producer_id, each.producer_epoch)
            if each.base_sequence <= sequences.get(key, -1):
                raise ViolationError("P1", f"{self.partition}: {key} has sequence {each.base_sequence} twice")
            sequences[key] = each.last_sequence


def check_step(partition, hosted, is_durable, high_watermarks, first_high_watermark):
    """L4; the high watermark never goes back in a life (R3); with flush.messages=1 nothing is shown before its fsync.

    `first_high_watermark` comes from a checkpoint, which is at most what was synced in an earlier life.
    """
    log = hosted.log
    if not log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset:
        raise ViolationError("L4", f"{partition}: {log}")
    if hosted.leader is not None:
        if log.high_watermark < high_watermarks.get(partition, 0):
            raise ViolationError("R3", f"{partition}: the high watermark goes back to {log.high_watermark}")
        high_watermarks[partition] = log.high_watermark
        synced = max(log.recovery_point, first_high_watermark)
        if is_durable and log.high_watermark > synced:
            raise ViolationError("R8", f"{partition}: shown up to {log.high_watermark}, synced to {synced}")


def check_producers(partition, log, view):
    """P5: what the partition knows of its producers after a start is what a replay of its whole log gives."""
    replay = Replay()
    for each in view.batches:
        replay.add(each, each.base_offset)
    expected = {
        producer_id: (producer.epoch, producer.last_sequence, producer.last_offset)
        for producer_id, producer in replay.producers.items()
    }
    found = {
        entry.producer_id: (entry.epoch, entry.last_sequence, entry.last_data_offset) for entry in log.producers.entries
    }
    if found != expected:
        raise ViolationError("P5", f"{partition}: producers {found}, replayed {expected}")


def check_stable_offset(partition, log, view):
    """L6 from a replay of the whole log, of which everything is committed."""
    replay = Replay()
    for each in view.batches:
        replay.add(each, each.base_offset)
    open_at = [producer.txn_first for producer in replay.producers.values() if producer.txn_first >= 0]
    expected = min([log.high_watermark, *open_at])
    if log.last_stable_offset != expected:
        raise ViolationError("L6", f"{partition}: stable up to {log.last_stable_offset}, replayed {expected}: {log}")


def check_resources(broker):
    """X5: the clients have gone, and nothing of them is left but their fetch sessions."""
    server = broker.server.broker
    for socket_server in (server.socket_server, broker.server.controller.socket_server):
        assert socket_server.connections() == []
        assert socket_server.quotas.total == 0
        assert socket_server.memory.used_bytes == 0
        assert socket_server.memory.waiting == 0
    assert {name: purgatory.size for name, purgatory in server.replicas.purgatories.items()} == {
        "Produce": 0,
        "Fetch": 0,
        "DeleteRecords": 0,
    }
    assert not any(partition.waiters for partition in server.replicas.partitions())


def check_dir(disk, *, is_stopped=False):
    """L1-L7 and P5 by `odradek log check`, which shares no code with what has written them; and no file is open."""
    found = []
    run(verify_dir(disk.clone(), DATA, found.append))
    problems = [finding for finding in found if finding.severity == "error"]
    assert not problems, problems
    if is_stopped:
        assert disk.open_files() == 0, "a stopped broker has files open"
