"""A message whose fields are calls, and a partition that can carry an offset and an error."""

from functools import total_ordering
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.compat.confluent.errors import KafkaError

OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED, OFFSET_INVALID = -2, -1, -1000, -1001
TIMESTAMP_NOT_AVAILABLE, TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME = 0, 1, 2


@total_ordering
class TopicPartition:
    def __init__(
        self,
        topic: str,
        partition: int = OFFSET_INVALID,
        offset: int = OFFSET_INVALID,
        metadata: str | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
        self.leader_epoch = leader_epoch
        self.error: KafkaError | None = None

    def _place(self) -> tuple[str, int]:
        return self.topic, self.partition

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TopicPartition) and self._place() == other._place()

    def __lt__(self, other: "TopicPartition") -> bool:
        return self._place() < other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def __repr__(self) -> str:
        return (
            f"TopicPartition{{topic={self.topic},partition={self.partition},offset={self.offset},error={self.error}}}"
        )


class Message:
    """What was read or sent; or an error, then `error()` is one and the rest is of no meaning."""

    # Any: key, value and headers are bytes and pairs until a program sets what it has made of them.

    def __init__(
        self,
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        key: Any = None,
        value: Any = None,
        headers: Any = None,
        timestamp: tuple[int, int] = (TIMESTAMP_NOT_AVAILABLE, 0),
        error: "KafkaError | None" = None,
        leader_epoch: int | None = None,
    ) -> None:
        self._topic, self._partition, self._offset = topic, partition, offset
        self._key, self._value, self._headers = key, value, headers
        self._timestamp, self._error, self._leader_epoch = timestamp, error, leader_epoch

    def topic(self) -> str | None:
        return self._topic

    def partition(self) -> int | None:
        return self._partition

    def offset(self) -> int | None:
        return self._offset

    def key(self) -> Any:
        return self._key

    def value(self, payload: object = None) -> Any:
        return self._value

    def headers(self) -> Any:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return self._timestamp

    def error(self) -> "KafkaError | None":
        return self._error

    def leader_epoch(self) -> int | None:
        return self._leader_epoch

    def set_key(self, key: Any) -> None:
        self._key = key

    def set_value(self, value: Any) -> None:
        self._value = value

    def set_headers(self, headers: Any) -> None:
        self._headers = headers

    def __len__(self) -> int:
        return len(self._value) if self._value is not None else 0
