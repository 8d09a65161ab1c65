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
    hang_ms: int = 0

    @property
    def is_selective(self) -> bool:
        """It is about some topics or partitions, and not about a request as such."""
        return self.topic is not None or self.partition is not None

    def concerns(self, topic: str | None, partition: int | None = None) -> bool:
        """Whether it is about this partition; without a partition, about the topic as such."""
        return self.topic in (None, topic) and self.partition in (None, partition)
