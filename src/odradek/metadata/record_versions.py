"""In which version each metadata record is written at a level of metadata.version, and whether it is at all.

The level is what every controller and broker of the cluster can read, so a record must not be newer. Records that are
not named here have version 0 alone.
"""

from collections.abc import Callable

from odradek.metadata import versions
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_brokers import BrokerRegistrationChangeRecord

Versioned = tuple[Message, int]  # a record, and the version in which it is written

_REGISTER_BROKER = (
    (versions.CORDONED_LOG_DIRS, 4),
    (versions.DIRECTORY_ASSIGNMENT, 3),
    (versions.ZK_MIGRATION, 2),
    (versions.CONTROLLED_SHUTDOWN, 1),
)
_PARTITION = ((versions.ELIGIBLE_LEADER_REPLICAS, 2), (versions.DIRECTORY_ASSIGNMENT, 1))


def register_broker(metadata_version: int) -> int:
    return _at(metadata_version, _REGISTER_BROKER)


def partition(metadata_version: int) -> int:
    """The version of a PartitionRecord, and of a PartitionChangeRecord."""
    return _at(metadata_version, _PARTITION)


def registration_change(record: BrokerRegistrationChangeRecord) -> int:
    """The lowest version that carries what has changed, whatever the level: so do a 3.3 and a 4.3."""
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0


_BY_NAME: dict[str, Callable[[int], int]] = {
    "RegisterBrokerRecord": register_broker,
    "PartitionRecord": partition,
    "PartitionChangeRecord": partition,
}
_LOWEST_LEVEL = {
    "FeatureLevelRecord": versions.FEATURE_RECORDS,
    "NoOpRecord": versions.NO_OP_RECORDS,
    "BrokerRegistrationChangeRecord": versions.REGISTRATION_CHANGES,
    "ZkMigrationStateRecord": versions.ZK_MIGRATION,
    "UserScramCredentialRecord": versions.SCRAM,
    "RemoveUserScramCredentialRecord": versions.SCRAM,
    "BeginTransactionRecord": versions.TRANSACTIONS,
    "EndTransactionRecord": versions.TRANSACTIONS,
    "AbortTransactionRecord": versions.TRANSACTIONS,
    "DelegationTokenRecord": versions.DELEGATION_TOKENS,
    "RemoveDelegationTokenRecord": versions.DELEGATION_TOKENS,
    "RegisterControllerRecord": versions.CONTROLLER_REGISTRATIONS,
    "ClearElrRecord": versions.ELIGIBLE_LEADER_REPLICAS,
}


def version_of(record: Message, metadata_version: int) -> int:
    """The version in which a record is written at this level."""
    if isinstance(record, BrokerRegistrationChangeRecord):
        return registration_change(record)
    by_level = _BY_NAME.get(type(record).__name__)
    return 0 if by_level is None else by_level(metadata_version)


def is_known_at(record: type[Message], metadata_version: int) -> bool:
    """Whether nodes at this level can read such a record at all."""
    return metadata_version >= _LOWEST_LEVEL.get(record.__name__, versions.LOWEST)


def _at(metadata_version: int, steps: tuple[tuple[int, int], ...]) -> int:
    for level, version in steps:
        if metadata_version >= level:
            return version
    return 0
