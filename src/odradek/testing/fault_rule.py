"""One fault as it travels to the broker: which requests it concerns, and what becomes of them."""

from typing import NamedTuple


class FaultRule(NamedTuple):
    api_key: int
    topic: str | None = None  # None: of any topic, or of none
    partition: int | None = None
    client_id: str | None = None
    times: int | None = None  # None: until it is cleared
    delay_ms: int = 0
    error_code: int = 0
    disconnect: bool = False
    drop_response: bool = False
    hang_ms: int | None = 0  # None: until the client gives up

    @property
    def is_selective(self) -> bool:
        """It is about some topics or partitions, and not about a request as such."""
        return self.topic is not None or self.partition is not None

    def shown(self) -> str:
        """As a test asked for it: `Produce topic=orders error=NOT_LEADER_OR_FOLLOWER times=3`."""
        from odradek.protocol import apis, errors

        said: list[str] = [apis.by_key(self.api_key).message]
        which = {"topic": self.topic, "partition": self.partition, "client_id": self.client_id}
        said += [f"{name}={value}" for name, value in which.items() if value is not None]
        if self.error_code:
            said.append(f"error={errors.by_code(self.error_code).name}")
        said += [name for name in ("disconnect", "drop_response") if getattr(self, name)]
        said += [f"{name}={getattr(self, name)}" for name in ("delay_ms", "hang_ms") if getattr(self, name)]
        return " ".join(said if self.times is None else [*said, f"times={self.times}"])

    def concerns(self, topic: str | None, partition: int | None = None) -> bool:
        """Whether it is about this partition; without a partition, about the topic as such."""
        return self.topic in (None, topic) and self.partition in (None, partition)
