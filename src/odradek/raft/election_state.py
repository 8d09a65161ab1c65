"""The file quorum-state: the epoch, its leader and this replica's vote, as JSON (C2).

Version 0 of the data belongs to kraft.version 0, version 1 to kraft.version 1; either is read. The file is replaced
durably before any message leaves that depends on it: a replica that forgot its vote could vote twice in one epoch.
"""

import json
from typing import NamedTuple

from odradek.log.failure import LogDirFailure
from odradek.protocol.uuids import format_uuid, parse_uuid
from odradek.raft.keys import NO_DIRECTORY, ReplicaKey
from odradek.reactor.ports import Disk, JobOf

FILE_NAME = "quorum-state"
NOBODY = -1


class ElectionState(NamedTuple):
    epoch: int
    leader_id: int | None = None
    voted: ReplicaKey | None = None


def encode(state: ElectionState, data_version: int, voter_ids: list[int]) -> bytes:
    leader_id = NOBODY if state.leader_id is None else state.leader_id
    voted = state.voted or ReplicaKey(NOBODY)
    fields: dict[str, object] = {"leaderId": leader_id, "leaderEpoch": state.epoch, "votedId": voted.id}
    if data_version == 0:
        voters = [{"voterId": voter_id} for voter_id in voter_ids]
        fields = {"clusterId": "", **fields, "appliedOffset": 0, "currentVoters": voters}
    else:
        fields["votedDirectoryId"] = format_uuid(voted.directory_id)
    fields["data_version"] = data_version
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(data: bytes) -> ElectionState:
    """ValueError if it is not what a quorum-state file holds."""
    fields = json.loads(data)
    if not isinstance(fields, dict):
        raise ValueError("it is no JSON object")
    version = _whole(fields, "data_version")
    if version not in (0, 1):
        raise ValueError(f"data_version {version} is not known")
    leader_id, voted_id = _whole(fields, "leaderId"), _whole(fields, "votedId")
    directory_id = parse_uuid(str(fields["votedDirectoryId"])) if version == 1 else NO_DIRECTORY
    return ElectionState(
        _whole(fields, "leaderEpoch"),
        None if leader_id == NOBODY else leader_id,
        None if voted_id == NOBODY else ReplicaKey(voted_id, directory_id),
    )


def _whole(fields: dict[str, object], name: str) -> int:
    value = fields.get(name)
    if type(value) is not int or value < NOBODY:
        raise ValueError(f"{name} is {value!r}")
    return value


def read(disk: Disk, directory: str) -> ElectionState | None:
    """Blocks. None if there was no election yet; a damaged file is no reason to vote again."""
    path = f"{directory}/{FILE_NAME}"
    try:
        return decode(disk.read(path))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError) as error:
        raise LogDirFailure(f"the state of the quorum is damaged: {error}", path) from error


def write_job(disk: Disk, directory: str, data: bytes) -> JobOf[None]:
    path = f"{directory}/{FILE_NAME}"
    try:
        disk.write_atomically(path, data)
    except OSError as error:
        raise LogDirFailure(f"writing the state of the quorum failed: {error}", path) from error
    yield 0
