"""The attributes of Kafka's bean `raft-metrics`, read when somebody looks."""

from typing import TYPE_CHECKING

from odradek.metrics.registry import Read, Registry
from odradek.raft.roles import Leader

if TYPE_CHECKING:
    from odradek.raft.client import RaftClient

GROUP, TYPE = "kafka.server", "raft-metrics"
NOBODY = -1


def register(registry: Registry, client: "RaftClient") -> None:
    for name, read in _attributes(client).items():
        registry.attribute(GROUP, TYPE, name, _while_running(client, read))


def _while_running(client: "RaftClient", read: Read) -> Read:
    return lambda: read() if client.is_running else None


def _attributes(client: "RaftClient") -> dict[str, Read]:
    return {
        "current-leader": lambda: NOBODY if client.core.leader_id is None else client.core.leader_id,
        "current-vote": lambda: NOBODY if client.core.role.voted is None else client.core.role.voted.id,
        "current-epoch": lambda: client.epoch,
        "high-watermark": lambda: client.high_watermark,
        "log-end-offset": lambda: client.log_end_offset,
        "log-end-epoch": lambda: client.log.end.epoch,
        "number-of-voters": lambda: len(client.voters),
        "number-of-observers": lambda: _observers(client),
        "number-unknown-voter-connections": lambda: 0,
        "uncommitted-voter-change": lambda: 0,
    }


def _observers(client: "RaftClient") -> int | None:
    role = client.core.role
    return len(role.observers) if isinstance(role, Leader) else None
