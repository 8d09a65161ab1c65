"""Replicas that an admin has chosen by hand."""

from collections.abc import Sequence

from odradek.controller.cluster import Cluster
from odradek.protocol.errors import InvalidReplicaAssignment


def check_replicas(cluster: Cluster, replicas: Sequence[int], replication_factor: int | None = None) -> None:
    """At least one, none twice, all registered; and as many as the other partitions have, if that is given."""
    if not replicas:
        raise InvalidReplicaAssignment("The manual partition assignment includes an empty replica list.")
    previous = None
    for replica in sorted(replicas):
        if replica == previous:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes the broker {replica} more than once."
            )
        previous = replica
        if replica not in cluster.brokers:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {replica}, but no such broker is registered."
            )
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not"
            f" consistent with previous partitions, which have {replication_factor} replica(s)."
        )
