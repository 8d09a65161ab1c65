"""What every change of the quorum's voters is checked for first."""

from odradek.handlers.call import ControllerCall
from odradek.protocol.errors import InconsistentClusterId, NotController, UnsupportedVersion


def check_quorum_change(call: ControllerCall, cluster_id: str | None, verb: str) -> None:
    services = call.services
    if cluster_id is not None and cluster_id != services.cluster_id:
        raise InconsistentClusterId(
            f'The given id "{cluster_id}" doesn\'t match the cluster id "{services.cluster_id}"'
        )
    if not services.raft.is_leader:
        raise NotController()
    if services.raft.kraft_version < 1:
        raise UnsupportedVersion(
            f"Cluster doesn't support {verb} voter because the kraft.version feature is {services.raft.kraft_version}"
        )
