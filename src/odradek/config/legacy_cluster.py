"""A server.properties from the time of ZooKeeper: found early, for a missing process.roles says too little."""

from collections.abc import Mapping

from odradek.config.errors import ConfigError
from odradek.config.whole_node import lacking


def refuse_legacy_cluster(values: Mapping[str, object], path: str | None = None) -> None:
    """ConfigError for a file that names a ZooKeeper and no roles."""
    if values.get("process.roles") or "zookeeper.connect" not in values:
        return
    raise ConfigError(
        f"{'this config' if path is None else path} is that of a cluster on ZooKeeper: it has zookeeper.connect and no "
        "process.roles. Brokers here are their own controllers: take zookeeper.connect out and set "
        f"{' and '.join(lacking(values))}; or start without --config"
    )
