"""The delta between two images that no records connect: a snapshot that was loaded over an older image.

It costs as much as the images are large, which a snapshot does anyway.
"""

from typing import TypeVar

from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage
from odradek.metadata.persistent_map import Map
from odradek.metadata.topics import TopicDelta, TopicsDelta, TopicsImage

K = TypeVar("K")
V = TypeVar("V")


def difference(old: MetadataImage, new: MetadataImage) -> MetadataDelta:
    """What makes `new` out of `old`, as if records had said it."""
    delta = MetadataDelta(old)
    delta.features.restore(new.features)
    delta.cluster.changed = _changes(old.cluster.brokers, new.cluster.brokers)
    delta.cluster.changed_controllers = _changes(old.cluster.controllers, new.cluster.controllers)
    _topics(delta.topics, old.topics, new.topics)
    for resource, configs in _changes(old.configs.by_resource, new.configs.by_resource).items():
        delta.configs.put(resource, configs)
    for entity, quotas in _changes(old.client_quotas.by_entity, new.client_quotas.by_entity).items():
        delta.client_quotas.put(entity, quotas)
    delta.producer_ids.changed = None if new.producer_ids == old.producer_ids else new.producer_ids
    delta.acls.changed = _changes(old.acls.by_id, new.acls.by_id)
    delta.scram.changed = _changes(old.scram.by_mechanism_and_user, new.scram.by_mechanism_and_user)
    delta.delegation_tokens.changed = _changes(old.delegation_tokens.by_id, new.delegation_tokens.by_id)
    return delta


def _changes(old: Map[K, V], new: Map[K, V]) -> dict[K, V | None]:
    changes: dict[K, V | None] = {key: value for key, value in new.items() if old.get(key) != value}
    changes.update((key, None) for key in old if key not in new)
    return changes


def _topics(delta: TopicsDelta, old: TopicsImage, new: TopicsImage) -> None:
    delta.deleted = {topic_id: topic for topic_id, topic in old.by_id.items() if topic_id not in new.by_id}
    for topic_id, topic in new.by_id.items():
        before = old.by_id.get(topic_id)
        if before is None:
            delta.created.add(topic_id)
            before = topic._replace(partitions=Map())
        elif before == topic:
            continue
        delta.changed[topic_id] = changed = TopicDelta(before)
        changed.changed = {index: p for index, p in topic.partitions.items() if before.partitions.get(index) != p}
