"""What the operations of an admin client take and give: `from odradek.admin import ConfigResource, NewTopic`.

The client itself is `odradek.AdminClient`, and `odradek.aio.AdminClient` for asyncio; docs/admin.md lists what it does.
"""

from odradek.client.admin.acls import AclBinding, AclBindingFilter
from odradek.client.admin.cluster import ClusterDescription
from odradek.client.admin.configs import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSynonym,
)
from odradek.client.admin.credentials import (
    ScramCredentialInfo,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from odradek.client.admin.delegation_tokens import DelegationToken
from odradek.client.admin.features import FeatureMetadata, FeatureUpdate, VersionRange
from odradek.client.admin.groups import GroupDescription, GroupListing, MemberDescription, MemberToRemove
from odradek.client.admin.log_dirs import LogDirDescription, ReplicaInfo, ReplicaLogDirInfo, TopicPartitionReplica
from odradek.client.admin.quorum import QuorumInfo, RaftVoterEndpoint, ReplicaState
from odradek.client.admin.quotas import (
    CLIENT_ID,
    IP,
    USER,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClientQuotaFilterComponent,
)
from odradek.client.admin.reassignments import PartitionReassignment
from odradek.client.admin.results import Results
from odradek.client.admin.share_groups import ShareGroupDescription, ShareMemberDescription, SharePartitionOffset
from odradek.client.admin.streams_groups import StreamsGroupDescription, StreamsMemberDescription
from odradek.client.admin.topics import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    NewTopic,
    OffsetInfo,
    PartitionDescription,
    TopicDescription,
    TopicInfo,
    TopicListing,
)
from odradek.client.admin.transactions import (
    AbortTransactionSpec,
    ProducerIdAndEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
)
from odradek.client.offsets import OffsetAndMetadata
from odradek.client.producer.prepared_transaction import PreparedTransaction
from odradek.protocol.vocabulary import (
    AclOperation,
    AclPermissionType,
    ElectionType,
    PatternType,
    QuotaMatch,
    ResourceType,
    ScramMechanism,
    UpgradeType,
)

__all__ = [
    "APPEND",
    "CLIENT_ID",
    "DELETE",
    "EARLIEST",
    "IP",
    "LATEST",
    "MAX_TIMESTAMP",
    "SET",
    "SUBTRACT",
    "USER",
    "AbortTransactionSpec",
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "ClientQuotaEntity",
    "ClientQuotaFilter",
    "ClientQuotaFilterComponent",
    "ClusterDescription",
    "ConfigChange",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSynonym",
    "DelegationToken",
    "ElectionType",
    "FeatureMetadata",
    "FeatureUpdate",
    "GroupDescription",
    "GroupListing",
    "LogDirDescription",
    "MemberDescription",
    "MemberToRemove",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetInfo",
    "PartitionDescription",
    "PartitionReassignment",
    "PatternType",
    "PreparedTransaction",
    "ProducerIdAndEpoch",
    "ProducerState",
    "QuorumInfo",
    "QuotaMatch",
    "RaftVoterEndpoint",
    "ReplicaInfo",
    "ReplicaLogDirInfo",
    "ReplicaState",
    "ResourceType",
    "Results",
    "ScramCredentialInfo",
    "ScramMechanism",
    "ShareGroupDescription",
    "ShareMemberDescription",
    "SharePartitionOffset",
    "StreamsGroupDescription",
    "StreamsMemberDescription",
    "TopicDescription",
    "TopicInfo",
    "TopicListing",
    "TopicPartitionReplica",
    "TransactionDescription",
    "TransactionListing",
    "UpgradeType",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "VersionRange",
]
