"""Which part of the metadata replays which record: one table for the deltas of images and for the controller.

A part is whatever has the rules of its records (`TopicsReplay`, `ConfigsReplay`, ...), so whoever has all parts under
these names can replay the log. The table of the images names every type of record that a Kafka writes but the three of
a metadata transaction: these say when records count (`transaction.py`). `SHARED_REPLAYS` are those of it that the
controller needs too. Type 6, the access control record without an id, is declared by a 3.3 and written by nobody.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from odradek.metadata.replay_error import ReplayError
from odradek.protocol.declare import Message
from odradek.protocol.messages import metadata_brokers as brokers
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.protocol.messages import metadata_topics as topics

if TYPE_CHECKING:
    from odradek.metadata.acls import AclsReplay
    from odradek.metadata.client_quotas import ClientQuotasReplay
    from odradek.metadata.cluster import ClusterReplay
    from odradek.metadata.configs import ConfigsReplay
    from odradek.metadata.delegation_tokens import DelegationTokensDelta
    from odradek.metadata.features import FeaturesDelta
    from odradek.metadata.scram import ScramReplay
    from odradek.metadata.topics import TopicsReplay


class Features(Protocol):
    def replay_level(self, record: cluster.FeatureLevelRecord) -> None: ...


class ProducerIds(Protocol):
    def replay(self, record: cluster.ProducerIdsRecord) -> None: ...


class Parts(Protocol):
    """What an image and the controller have in common."""

    @property
    def acls(self) -> "AclsReplay": ...
    @property
    def client_quotas(self) -> "ClientQuotasReplay": ...
    @property
    def cluster(self) -> "ClusterReplay": ...
    @property
    def configs(self) -> "ConfigsReplay": ...
    @property
    def features(self) -> Features: ...
    @property
    def producer_ids(self) -> ProducerIds: ...
    @property
    def scram(self) -> "ScramReplay": ...
    @property
    def topics(self) -> "TopicsReplay[Any]": ...  # Any: what a topic is while records change it


class ImageParts(Parts, Protocol):
    @property
    def delegation_tokens(self) -> "DelegationTokensDelta": ...
    @property
    def features(self) -> "FeaturesDelta": ...


P = TypeVar("P", bound=Parts)

# Any: a record of the type that it stands under, which mypy cannot tie to the key.
Replays = dict[type[Message], Callable[[P, Any], object]]


def _remove_topic(parts: Parts, record: topics.RemoveTopicRecord) -> None:
    parts.configs.remove_topic(parts.topics.replay_remove(record))


SHARED_REPLAYS: Replays[Parts] = {
    brokers.RegisterBrokerRecord: lambda parts, record: parts.cluster.replay_register(record),
    brokers.UnregisterBrokerRecord: lambda parts, record: parts.cluster.replay_unregister(record),
    brokers.FenceBrokerRecord: lambda parts, record: parts.cluster.replay_fence(record),
    brokers.UnfenceBrokerRecord: lambda parts, record: parts.cluster.replay_unfence(record),
    brokers.BrokerRegistrationChangeRecord: lambda parts, record: parts.cluster.replay_change(record),
    brokers.RegisterControllerRecord: lambda parts, record: parts.cluster.replay_controller(record),
    topics.TopicRecord: lambda parts, record: parts.topics.replay_topic(record),
    topics.PartitionRecord: lambda parts, record: parts.topics.replay_partition(record),
    topics.PartitionChangeRecord: lambda parts, record: parts.topics.replay_partition_change(record),
    topics.RemoveTopicRecord: _remove_topic,
    topics.ClearElrRecord: lambda parts, record: parts.topics.replay_clear_elr(record),
    topics.ConfigRecord: lambda parts, record: parts.configs.replay(record),
    cluster.ClientQuotaRecord: lambda parts, record: parts.client_quotas.replay(record),
    cluster.ProducerIdsRecord: lambda parts, record: parts.producer_ids.replay(record),
    cluster.FeatureLevelRecord: lambda parts, record: parts.features.replay_level(record),
    cluster.AccessControlEntryRecord: lambda parts, record: parts.acls.replay_entry(record),
    cluster.RemoveAccessControlEntryRecord: lambda parts, record: parts.acls.replay_remove(record),
    cluster.UserScramCredentialRecord: lambda parts, record: parts.scram.replay_credential(record),
    cluster.RemoveUserScramCredentialRecord: lambda parts, record: parts.scram.replay_remove(record),
    cluster.NoOpRecord: lambda parts, record: None,
}

REPLAYS: Replays[ImageParts] = {
    **SHARED_REPLAYS,
    cluster.ZkMigrationStateRecord: lambda parts, record: parts.features.replay_zk_migration(record),
    cluster.DelegationTokenRecord: lambda parts, record: parts.delegation_tokens.replay_token(record),
    cluster.RemoveDelegationTokenRecord: lambda parts, record: parts.delegation_tokens.replay_remove(record),
}


def no_place(record: Message) -> ReplayError:
    """What is raised for a record that the table does not name."""
    return ReplayError(f"{type(record).__name__} is no record that changes an image")
