"""Which part of the metadata replays which record: one table for the deltas of images and for the controller.

A part is whatever has the rules of its records (`TopicsReplay`, `ConfigsReplay`, ...), so whoever has all parts under
these names can replay the log. The table names every type of record that a Kafka writes but the three of a metadata
transaction: these say when records count (`transaction.py`). Type 6, the access control record without an id, is
declared by a 3.3 and written by nobody.
"""

from collections.abc import Callable
from typing import Any

from odradek.metadata.replay_error import ReplayError
from odradek.protocol.declare import Message
from odradek.protocol.messages import metadata_brokers as brokers
from odradek.protocol.messages import metadata_cluster as cluster
from odradek.protocol.messages import metadata_topics as topics

Replays = dict[type[Message], Callable[[Any, Any], object]]  # mypy cannot tie the key to the type of the record


def _remove_topic(parts: Any, record: topics.RemoveTopicRecord) -> None:
    parts.configs.remove_topic(parts.topics.replay_remove(record))


REPLAYS: Replays = {
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
    cluster.ZkMigrationStateRecord: lambda parts, record: parts.features.replay_zk_migration(record),
    cluster.AccessControlEntryRecord: lambda parts, record: parts.acls.replay_entry(record),
    cluster.RemoveAccessControlEntryRecord: lambda parts, record: parts.acls.replay_remove(record),
    cluster.UserScramCredentialRecord: lambda parts, record: parts.scram.replay_credential(record),
    cluster.RemoveUserScramCredentialRecord: lambda parts, record: parts.scram.replay_remove(record),
    cluster.DelegationTokenRecord: lambda parts, record: parts.delegation_tokens.replay_token(record),
    cluster.RemoveDelegationTokenRecord: lambda parts, record: parts.delegation_tokens.replay_remove(record),
    cluster.NoOpRecord: lambda parts, record: None,
}


def no_place(record: Message) -> ReplayError:
    """What is raised for a record that the table does not name."""
    return ReplayError(f"{type(record).__name__} is no record that changes an image")
