"""Kinds that the protocol has numbers for, by Kafka's names for them. 0 is what a number reads as that is not known."""

from enum import IntEnum
from typing import Self


class _Known(IntEnum):
    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        """A newer peer's number stands for something, and nobody here knows for what."""
        return cls(0) if isinstance(value, int) and value else None


class AclOperation(_Known):
    UNKNOWN, ANY, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(9)
    CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = range(9, 13)
    CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = range(13, 16)


class AclPermissionType(_Known):
    UNKNOWN, ANY, DENY, ALLOW = range(4)


class ResourceType(_Known):
    UNKNOWN, ANY, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(8)


class PatternType(_Known):
    """How an access control entry names resources. ANY and MATCH are for filters: MATCH is every entry that applies to
    a resource of the name.
    """

    UNKNOWN, ANY, MATCH, LITERAL, PREFIXED = range(5)


class ScramMechanism(_Known):
    UNKNOWN, SCRAM_SHA_256, SCRAM_SHA_512 = range(3)

    @property
    def hash_name(self) -> str:
        """As `hashlib` calls it."""
        return self.name.removeprefix("SCRAM_").replace("_", "").lower()


class UpgradeType(_Known):
    """How the level of a feature may be changed."""

    UNKNOWN, UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = range(4)


class ElectionType(IntEnum):
    PREFERRED, UNCLEAN = range(2)


class QuotaMatch(IntEnum):
    """How a filter names the entities of a type: one by its name, the default, or any."""

    EXACT, DEFAULT, SPECIFIED = range(3)
