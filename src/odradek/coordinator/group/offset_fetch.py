"""OffsetFetch: how far a group has read, as far as it may be told."""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.coordinator.core import Decided
from odradek.coordinator.group.offsets import Committed, OffsetStore
from odradek.protocol import errors

WantedTopics = Sequence[tuple[str, Sequence[int]]]


class FetchedOffset(NamedTuple):
    """`committed` is None if the group has committed nothing there, or nothing that may be told."""

    partition: int
    committed: Committed | None
    error_code: int = errors.NONE


FetchedTopic = tuple[str, list[FetchedOffset]]


def fetch_offsets(
    offsets: OffsetStore, group_id: str, wanted: WantedTopics | None, require_stable: bool
) -> Decided[list[FetchedTopic]]:
    if wanted is None:
        wanted = _every_topic(offsets, group_id, require_stable)
    fetched = [
        (topic, [_fetched(offsets, group_id, topic, partition, require_stable) for partition in partitions])
        for topic, partitions in wanted
    ]
    return Decided(response=fetched)


def _every_topic(offsets: OffsetStore, group_id: str, require_stable: bool) -> WantedTopics:
    topics = {topic: dict.fromkeys(partitions) for topic, partitions in offsets.of_group(group_id).items()}
    if require_stable:
        for topic, partition in offsets.pending_places(group_id):
            topics.setdefault(topic, {})[partition] = None
    return [(topic, list(partitions)) for topic, partitions in topics.items()]


def _fetched(offsets: OffsetStore, group_id: str, topic: str, partition: int, require_stable: bool) -> FetchedOffset:
    if require_stable and offsets.is_unstable(group_id, topic, partition):
        return FetchedOffset(partition, None, errors.UnstableOffsetCommit.code)
    return FetchedOffset(partition, offsets.get(group_id, topic, partition))
