"""What some records change in an image. Replaying costs per record, applying per change, never per size of the image.

A part's delta says in `changed` what is new, by key: None or an empty value is what is gone. Which part replays which
record is in `replay.py`.
"""

from collections.abc import Generator

from odradek.metadata.acls import AclsDelta
from odradek.metadata.client_quotas import ClientQuotasDelta
from odradek.metadata.cluster import ClusterDelta
from odradek.metadata.configs import ConfigsDelta
from odradek.metadata.delegation_tokens import DelegationTokensDelta
from odradek.metadata.features import FeaturesDelta
from odradek.metadata.image import MetadataImage
from odradek.metadata.producer_ids import ProducerIdsDelta
from odradek.metadata.replay import REPLAYS, no_place
from odradek.metadata.scram import ScramDelta
from odradek.metadata.steps import finished
from odradek.metadata.topics import TopicsDelta
from odradek.protocol.declare import Message


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
        replay = REPLAYS.get(type(record))
        if replay is None:
            raise no_place(record)
        replay(self, record)

    def apply(self, offset: int, epoch: int, append_ms: int = -1) -> MetadataImage:
        """The image after the record at this offset. Parts that did not change are the same objects as before."""
        return finished(self.apply_in_steps(offset, epoch, append_ms))

    def apply_in_steps(self, offset: int, epoch: int, append_ms: int = -1) -> Generator[None, None, MetadataImage]:
        """Makes the image as `apply` does, with breaks: between two steps the loop may turn."""
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
