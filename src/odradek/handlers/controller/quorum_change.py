"""What every change of the quorum's voters is checked for first, and how voters are named in what is refused."""

from collections.abc import Iterable

from odradek.handlers.call import ControllerCall
from odradek.protocol.errors import InconsistentClusterId, InvalidRequest, NotController, UnsupportedVersion
from odradek.protocol.uuids import format_uuid
from odradek.raft.keys import NO_DIRECTORY, ReplicaKey


def check_quorum_change(call: ControllerCall, cluster_id: str | None, voter: ReplicaKey, verb: str) -> None:
    """`verb` is what is done to the voter: add or remove."""
    services = call.services
    if cluster_id is not None and cluster_id != services.cluster_id:
        raise InconsistentClusterId(
            f'The given id "{cluster_id}" doesn\'t match the cluster id "{services.cluster_id}"'
        )
    if not services.raft.is_leader:
        raise NotController()
    if voter.id < 0 or voter.directory_id == NO_DIRECTORY:
        raise InvalidRequest(f"{verb.capitalize()} voter request didn't include a valid voter")
    if services.raft.kraft_version < 1:
        doing = {"add": "adding", "remove": "removing"}[verb]
        raise UnsupportedVersion(
            f"Cluster doesn't support {doing} voter because the kraft.version feature is {services.raft.kraft_version}"
        )


def named(voter: ReplicaKey) -> str:
    return f"ReplicaKey(id={voter.id}, directoryId={format_uuid(voter.directory_id)})"


def all_named(voters: Iterable[ReplicaKey]) -> str:
    return f"[{', '.join(map(named, voters))}]"
