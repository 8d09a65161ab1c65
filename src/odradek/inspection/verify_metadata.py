"""Checks what only the metadata log has: the quorum's vote, and snapshots of the cluster's state."""

from typing import TYPE_CHECKING

from odradek.inspection import file_forms
from odradek.inspection.batch_walk import BatchWalk
from odradek.inspection.findings import Report
from odradek.protocol import errors, json_form
from odradek.protocol.messages.quorum_state import QuorumStateData
from odradek.reactor.ports import Disk, JobOf
from odradek.records import control

if TYPE_CHECKING:
    from odradek.inspection.verify_partition import PartitionCheck


def check_quorum_state(partition: "PartitionCheck") -> None:
    """C2: the epoch of the vote is at least that of the log."""
    name = "quorum-state"
    file = partition.shown(name)
    if not partition.disk.exists(partition.path(name)):
        partition.report.error("C2", file, None, "the file is missing")
        return
    try:
        form = file_forms.json_object(partition.disk.read(partition.path(name)))
        version = form.pop("data_version", None)
        if version not in QuorumStateData.versions:
            raise file_forms.MalformedFile(f"data_version {version} is not known", 1)
        state = json_form.from_json(QuorumStateData, form, version)
    except (file_forms.MalformedFile, errors.EncodeError) as error:
        partition.report.error("C2", file, 1, str(error))
        return
    newest = partition.epochs.entries[-1][0] if partition.epochs.entries else -1
    if state.leader_epoch < newest:
        message = f"leader epoch {state.leader_epoch}, the log has epoch {newest}"
        partition.report.error("C2", file, 1, message)


def check_snapshot(disk: Disk, path: str, file: str, report: Report) -> JobOf[None]:
    """Sound batches, offsets that count from 0, a header record first and a footer record last."""
    opened = disk.open(path, writable=False)
    try:
        walk = BatchWalk(opened)
        types: list[int] = []
        end_offset = 0
        for position, batch in walk:
            try:
                batch.ensure_valid()
                for record in batch.records():
                    if record.offset != end_offset:
                        raise errors.InvalidRecord(f"a record has offset {record.offset}, expected {end_offset}")
                    end_offset += 1
                    types = [*types[:1], control.control_type(record.key) if batch.is_control else control.UNKNOWN]
            except errors.KafkaError as error:
                report.error("snapshot", file, position, str(error))
                return
            yield batch.size
        if walk.tail.size:
            report.error("snapshot", file, walk.tail.position, walk.tail.reason)
        elif (types[:1], types[-1:]) != ([control.SNAPSHOT_HEADER], [control.SNAPSHOT_FOOTER]):
            report.error("snapshot", file, None, "it does not begin with a header record and end with a footer record")
    finally:
        opened.close()
