"""What some records change in an image. Replaying costs per record, applying per change, never per size of the image.

A part's delta says in `changed` what is new, by key: None or an empty value is what is gone. The table at the end
names every type of record that a Kafka writes, and who replays it.
"""

from collections.abc import Callable, Generator
from typing import Any

from odradek.metadata.acls import AclsDelta
from odradek.metadata.client_quotas import ClientQuotasDelta
from odradek.metadata.cluster import ClusterDelta
from odradek.metadata.configs import ConfigsDelta
from odradek.metadata.delegation_tokens import DelegationTokensDelta
from odradek.metadata.features import FeaturesDelta
from odradek.metadata.image import MetadataImage
from odradek.metadata.producer_ids import ProducerIdsDelta
from odradek.metadata.replay_error import ReplayError
from odradek.metadata.scram import ScramDelta
from odradek.metadata.steps import finished
from odradek.metadata.topics import TopicsDelta
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_topics import RemoveTopicRecord


class MetadataDelta:
    __slots__ = (
        "acls",
        "client_quotas",
        "cluster",
        "configs",
        "delegation_tokens",
        "features",
        "image",
        "producer_ids",
        "scram",
        "topics",
    )

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.features = FeaturesDelta(image.features)
        self.cluster = ClusterDelta(image.cluster)
        self.topics = TopicsDelta(image.topics)
        self.configs = ConfigsDelta(image.configs)
        self.client_quotas = ClientQuotasDelta(image.client_quotas)
        self.producer_ids = ProducerIdsDelta(image.producer_ids)
        self.acls = AclsDelta(image.acls)
        self.scram = ScramDelta(image.scram)
        self.delegation_tokens = DelegationTokensDelta(image.delegation_tokens)

    def replay(self, record: Message) -> None:
        """ReplayError for a record that does not fit, or that is none of this log."""
        replay = _REPLAYS.get(record.api_key)
        if replay is None:
            raise ReplayError(f"{type(record).__name__} is no record that changes an image")
        replay(self, record)

    def apply(self, offset: int, epoch: int, append_ms: int = -1) -> MetadataImage:
        """The image after the record at this offset. Parts that did not change are the same objects as before."""
        return finished(self.apply_in_steps(offset, epoch, append_ms))

    def apply_in_steps(self, offset: int, epoch: int, append_ms: int = -1) -> Generator[None, None, MetadataImage]:
        """The same for whoever must not be long about it: between two steps the loop may turn."""
        topics = yield from self.topics.apply_in_steps()
        return MetadataImage(
            offset,
            epoch,
            append_ms,
            self.features.apply(),
            self.cluster.apply(),
            topics,
            self.configs.apply(),
            self.client_quotas.apply(),
            self.producer_ids.apply(),
            self.acls.apply(),
            self.scram.apply(),
            self.delegation_tokens.apply(),
        )

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        self.configs.remove_topic(self.topics.replay_remove(record))


# By type of record. 6, the access control record without an id, is declared by a 3.3 and written by nobody. 23-25
# begin, end and abort a transaction: they say when a delta counts, and are the loader's.
_REPLAYS: dict[int | None, Callable[[MetadataDelta, Any], object]] = {
    0: lambda delta, record: delta.cluster.replay_register(record),
    1: lambda delta, record: delta.cluster.replay_unregister(record),
    2: lambda delta, record: delta.topics.replay_topic(record),
    3: lambda delta, record: delta.topics.replay_partition(record),
    4: lambda delta, record: delta.configs.replay(record),
    5: lambda delta, record: delta.topics.replay_partition_change(record),
    7: lambda delta, record: delta.cluster.replay_fence(record),
    8: lambda delta, record: delta.cluster.replay_unfence(record),
    9: MetadataDelta._remove_topic,
    10: lambda delta, record: delta.delegation_tokens.replay_token(record),
    11: lambda delta, record: delta.scram.replay_credential(record),
    12: lambda delta, record: delta.features.replay_level(record),
    14: lambda delta, record: delta.client_quotas.replay(record),
    15: lambda delta, record: delta.producer_ids.replay(record),
    17: lambda delta, record: delta.cluster.replay_change(record),
    18: lambda delta, record: delta.acls.replay_entry(record),
    19: lambda delta, record: delta.acls.replay_remove(record),
    20: lambda delta, record: None,  # NoOpRecord
    21: lambda delta, record: delta.features.replay_zk_migration(record),
    22: lambda delta, record: delta.scram.replay_remove(record),
    26: lambda delta, record: delta.delegation_tokens.replay_remove(record),
    27: lambda delta, record: delta.cluster.replay_controller(record),
    28: lambda delta, record: delta.topics.replay_clear_elr(record),
}
