"""`odradek log repair`: the way back for a damaged partition of a log dir whose broker is stopped.

`mend` takes what `diagnosis.py` has found. First it makes a copy of every file that it changes or removes, durably:
`<name>.<number>.damaged`, in the same directory. Neither this broker nor Apache Kafka takes such a file for one of
theirs; it goes with its partition. Then it writes the checkpoints that have to say less, and last the files, each at
once or not at all: wherever a crash ends it, the same command goes on. The indexes of a changed segment are removed,
and without its clean-shutdown marker the dir is recovered by the next start, which builds them again and the state of
the producers with them.
"""

from odradek.inspection import file_names
from odradek.inspection.diagnosis import Diagnosis
from odradek.inspection.log_dir_state import LogDirState
from odradek.reactor.ports import Disk, JobOf

KEPT = ".damaged"


def mend(disk: Disk, state: LogDirState, found: Diagnosis) -> JobOf[list[str]]:
    """Returns the names of the copies."""
    if found.is_gone:
        _forget(disk, state, found)
        return []
    copies = []
    for name in sorted(found.contents):
        if disk.exists(f"{found.directory}/{name}"):
            copies.append(_keep_copy(disk, found.directory, name))
            yield 0
    disk.fsync_dir(found.directory)
    marker = f"{state.path}/{file_names.CLEAN_SHUTDOWN}"
    if disk.exists(marker):
        disk.unlink(marker)
    disk.fsync_dir(state.path)
    if found.lost:
        _lower_checkpoints(disk, state, found)
    # The logs last: as long as one is as it was, the next run finds its damage and goes on.
    for name, data in sorted(found.contents.items(), key=lambda each: each[0].endswith(f".{file_names.LOG}")):
        if data is None:
            disk.unlink(f"{found.directory}/{name}")
        else:
            disk.write_atomically(f"{found.directory}/{name}", data)
        yield len(data or b"")
    disk.fsync_dir(found.directory)
    return copies


def _keep_copy(disk: Disk, directory: str, name: str) -> str:
    number = 1
    while disk.exists(f"{directory}/{name}.{number}{KEPT}"):
        number += 1
    copy = f"{name}.{number}{KEPT}"
    disk.write_atomically(f"{directory}/{copy}", disk.read(f"{directory}/{name}"))
    return copy


def _forget(disk: Disk, state: LogDirState, found: Diagnosis) -> None:
    """Without its entries the next start makes an empty log, if the metadata still knows the partition.

    The recovery point goes last: as long as it is there, the next run goes on.
    """
    for name in (*file_names.CHECKPOINTS[1:], file_names.RECOVERY_POINT):
        if state.offsets.get(name, {}).pop(found.topic_partition, None) is not None:
            state.write_offsets(disk, name)


def _lower_checkpoints(disk: Disk, state: LogDirState, found: Diagnosis) -> None:
    """None may say more than the log has: its end would read as lost records, its start as all of them deleted."""
    for name, offsets in state.offsets.items():
        offset = offsets.get(found.topic_partition)
        if offset is not None and offset > found.end_offset:
            offsets[found.topic_partition] = found.end_offset
            state.write_offsets(disk, name)
