"""The attributes of Kafka's bean `raft-metrics`, read when somebody looks."""

from odradek.metrics.registry import Read, Registry
from odradek.raft.core.roles import Leader
from odradek.raft.driver.replica import Replica

GROUP, TYPE = "kafka.server", "raft-metrics"
NOBODY = -1


def register(registry: Registry, replica: Replica) -> None:
    for name, read in _attributes(replica).items():
        registry.attribute(GROUP, TYPE, name, _while_running(replica, read))


def _while_running(replica: Replica, read: Read) -> Read:
    return lambda: read() if replica.is_running else None


def _attributes(replica: Replica) -> dict[str, Read]:
    return {
        "current-leader": lambda: NOBODY if replica.core.leader_id is None else replica.core.leader_id,
        "current-vote": lambda: NOBODY if replica.core.role.voted is None else replica.core.role.voted.id,
        "current-epoch": lambda: replica.core.epoch,
        "high-watermark": lambda: replica.core.high_watermark,
        "log-end-offset": lambda: replica.log.log.log_end_offset,
        "log-end-epoch": lambda: replica.log.end.epoch,
        "number-of-voters": lambda: len(replica.core.voters),
        "number-of-observers": lambda: _observers(replica),
        "number-unknown-voter-connections": lambda: 0,
        "uncommitted-voter-change": lambda: 0,
    }


def _observers(replica: Replica) -> int | None:
    role = replica.core.role
    return len(role.observers) if isinstance(role, Leader) else None
