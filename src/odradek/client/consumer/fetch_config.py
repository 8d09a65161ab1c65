"""What the configs of a consumer say of its fetches."""

from typing import NamedTuple

from odradek.client.core import Backoff
from odradek.config.parsed import Config


class FetchConfig(NamedTuple):
    min_bytes: int = 1
    max_bytes: int = 52_428_800
    max_wait_ms: int = 500
    partition_max_bytes: int = 1_048_576
    buffer_bytes: int = 67_108_864
    is_read_committed: bool = False
    rack: str = ""
    preferred_replica_ms: int = 300_000  # metadata.max.age.ms
    backoff: Backoff = Backoff()

    @classmethod
    def from_config(cls, config: Config) -> "FetchConfig":
        return cls(
            config["fetch.min.bytes"],
            config["fetch.max.bytes"],
            config["fetch.max.wait.ms"],
            config["max.partition.fetch.bytes"],
            config["fetch.buffer.bytes"],
            config["isolation.level"] == "read_committed",
            config["client.rack"] or "",
            config["metadata.max.age.ms"],
            Backoff(config["retry.backoff.ms"], config["retry.backoff.max.ms"]),
        )
