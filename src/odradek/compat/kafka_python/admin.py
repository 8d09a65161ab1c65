"""The part of kafka-python's KafkaAdminClient that programs use beside their producers and consumers: topics."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from odradek.client.admin import topics as _topics
from odradek.client.admin.admin_client import AdminClient
from odradek.compat.kafka_python import configs


class NewTopic(NamedTuple):
    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replica_assignments: Mapping[int, list[int]] | None = None
    topic_configs: Mapping[str, object] | None = None


class NewPartitions(NamedTuple):
    total_count: int
    new_assignments: list[list[int]] | None = None


class KafkaAdminClient:
    """`admin` is ours, which has all the other operations."""

    def __init__(self, **given: object) -> None:
        self.config = {"api_version": None, **given}
        self.admin = AdminClient(**configs.adapted(given))

    def create_topics(
        self, new_topics: Iterable[NewTopic | str], timeout_ms: float | None = None, validate_only: bool = False
    ) -> None:
        wanted = [_new_topic(each) for each in new_topics]
        made = self.admin.create_topics(wanted, timeout=configs.seconds(timeout_ms), validate_only=validate_only)
        made.raise_any()

    def delete_topics(self, topics: Iterable[str], timeout_ms: float | None = None) -> None:
        self.admin.delete_topics(list(topics), timeout=configs.seconds(timeout_ms)).raise_any()

    def create_partitions(self, topic_partitions: Mapping[str, NewPartitions], timeout_ms: float | None = None) -> None:
        counts = {name: each.total_count for name, each in topic_partitions.items()}
        self.admin.create_partitions(counts, timeout=configs.seconds(timeout_ms)).raise_any()

    def list_topics(self) -> list[str]:
        return list(self.admin.list_topics())

    def close(self) -> None:
        self.admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _new_topic(given: NewTopic | str) -> _topics.NewTopic | str:
    if isinstance(given, str):
        return given
    settings = {name: str(value) for name, value in (given.topic_configs or {}).items()}
    return _topics.NewTopic(given.name, given.num_partitions, given.replication_factor, settings)
