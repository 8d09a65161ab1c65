"""The metadata of the cluster at one offset of its log. It never changes: a delta makes the next one.

Each part has a file of its own, with its values, what records do to them, its image and its delta: features, cluster
(`registration.py`), topics (`partition.py`), configs, client_quotas, producer_ids, acls, scram, delegation_tokens.
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.metadata import acls, client_quotas, cluster, configs, delegation_tokens, producer_ids, scram, topics
from odradek.metadata import record_versions as by_level
from odradek.metadata.acls import AclsImage
from odradek.metadata.client_quotas import ClientQuotasImage
from odradek.metadata.cluster import ClusterImage
from odradek.metadata.configs import ConfigsImage
from odradek.metadata.delegation_tokens import DelegationTokensImage
from odradek.metadata.features import FeaturesImage
from odradek.metadata.producer_ids import ProducerIdsImage
from odradek.metadata.scram import ScramImage
from odradek.metadata.topics import TopicsImage
from odradek.metadata.versions import ELIGIBLE_LEADER_REPLICAS_VERSION
from odradek.protocol import releases
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import DelegationTokenRecord, UserScramCredentialRecord
from odradek.protocol.releases import Release


class MetadataImage(NamedTuple):
    """`offset` and `epoch` are those of the last record in it."""

    offset: int
    epoch: int
    append_ms: int  # when that record was appended, as its leader's clock had it
    features: FeaturesImage
    cluster: ClusterImage
    topics: TopicsImage
    configs: ConfigsImage
    client_quotas: ClientQuotasImage
    producer_ids: ProducerIdsImage
    acls: AclsImage
    scram: ScramImage
    delegation_tokens: DelegationTokensImage

    @property
    def metadata_version(self) -> int:
        return self.features.metadata_version

    def records(self, release: Release = releases.DEFAULT) -> Iterator[tuple[Message, int]]:
        """The image as a snapshot: each record with its version. Part by part in Kafka's order, sorted within."""
        level = self.metadata_version
        for record in self._messages(release, level):
            yield record, by_level.version_of(record, level)

    def _messages(self, release: Release, level: int) -> Iterator[Message]:
        yield from self.features.records()
        yield from self.cluster.records(level)
        yield from self.topics.records(level, has_elr=self.features.level(ELIGIBLE_LEADER_REPLICAS_VERSION) > 0)
        yield from self.configs.records()
        yield from self.client_quotas.records()
        yield from self.producer_ids.records(release)
        yield from self.acls.records()
        if by_level.is_known_at(UserScramCredentialRecord, level):
            yield from self.scram.records()
        if by_level.is_known_at(DelegationTokenRecord, level):
            yield from self.delegation_tokens.records()


EMPTY = MetadataImage(
    -1,
    -1,
    -1,
    FeaturesImage(),
    cluster.EMPTY,
    topics.EMPTY,
    configs.EMPTY,
    client_quotas.EMPTY,
    producer_ids.EMPTY,
    acls.EMPTY,
    scram.EMPTY,
    delegation_tokens.EMPTY,
)
