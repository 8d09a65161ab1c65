"""The API table: one row per key, over every release from 3.3 to 4.3.

`versions` is what we can encode and decode, the union of the releases; what a broker tells its clients is less,
and is the release profile's business (`releases.py`). Where releases disagree on the rest of a row, 4.3 wins,
then 3.9; an API that 4.3 keeps as a bare name without versions (the ZooKeeper controller's requests, keys 4-7)
has its row from 3.9.

A version that is *unstable* was declared but never released as stable: it decodes, and nobody advertises it.
"""

from odradek.protocol import errors

_LISTENERS = {"Z": "ZK_BROKER", "B": "BROKER", "C": "CONTROLLER"}

# What takes long grows with the number of things that a request names, not with the records that it carries: only
# those that carry something may be as long as the listener allows (docs/decisions/0010).
REQUEST_BYTES_MAX = 8 * 1024 * 1024
_CARRIERS = frozenset((0, 11, 14, 58, 72))  # of records, subscriptions, assignments, other requests, metrics
_FRAME_BYTES_MAX = 2**31 - 1

_CONTROLLED_SHUTDOWN = 7
API_VERSIONS = 18


class Api:
    """A row of the table. `flexible_since` is the first version with tagged fields, None if there is none."""

    __slots__ = (
        "cluster_action",
        "flexible_since",
        "forwardable",
        "key",
        "listeners",
        "message",
        "name",
        "unstable",
        "versions",
    )

    def __init__(
        self,
        key: int,
        message: str,
        versions: tuple[int, int],
        flexible_since: int | None,
        listeners: str,
        *,
        unstable: tuple[int, int] = (0, -1),
        cluster_action: bool = False,
        forwardable: bool = False,
    ) -> None:
        self.key = key
        self.name = errors.constant_name(message)
        self.message = message
        self.versions = range(versions[0], versions[1] + 1)
        self.unstable = range(unstable[0], unstable[1] + 1)
        self.flexible_since = flexible_since
        self.listeners = frozenset(_LISTENERS[letter] for letter in listeners)
        self.cluster_action = cluster_action
        self.forwardable = forwardable

    def __repr__(self) -> str:
        return f"<Api {self.key} {self.name} {self.versions.start}-{self.versions.stop - 1}>"

    def is_flexible(self, version: int) -> bool:
        """Whether the version has compact lengths and tagged fields."""
        return self.flexible_since is not None and version >= self.flexible_since

    # Both header versions are defined beyond `versions` too: a client that asks for ApiVersions in a version of
    # the future is answered, which takes reading its header first.

    def request_header_version(self, version: int) -> int:
        """The version of the header before a request of that version."""
        if self.key == _CONTROLLED_SHUTDOWN and version == 0:
            return 0  # the one request that predates the client id
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """The version of the header before the response to a request of that version."""
        if self.key == API_VERSIONS:
            return 0  # its reader does not know yet whether the server writes flexible headers
        return 1 if self.is_flexible(version) else 0


# key, message, versions, first flexible version, listeners (Z = ZK_BROKER, B = BROKER, C = CONTROLLER)
ALL: tuple[Api, ...] = (
    Api(0, "Produce", (0, 13), 9, "B"),
    Api(1, "Fetch", (0, 18), 12, "BC"),
    Api(2, "ListOffsets", (0, 11), 6, "B"),
    Api(3, "Metadata", (0, 13), 9, "B"),
    Api(4, "LeaderAndIsr", (0, 7), 4, "Z", cluster_action=True),
    Api(5, "StopReplica", (0, 4), 2, "Z", cluster_action=True),
    Api(6, "UpdateMetadata", (0, 8), 6, "Z", cluster_action=True),
    Api(7, "ControlledShutdown", (0, 3), 3, "ZC", cluster_action=True),
    Api(8, "OffsetCommit", (0, 10), 8, "B"),
    Api(9, "OffsetFetch", (0, 10), 6, "B"),
    Api(10, "FindCoordinator", (0, 6), 3, "B"),
    Api(11, "JoinGroup", (0, 9), 6, "B"),
    Api(12, "Heartbeat", (0, 4), 4, "B"),
    Api(13, "LeaveGroup", (0, 5), 4, "B"),
    Api(14, "SyncGroup", (0, 5), 4, "B"),
    Api(15, "DescribeGroups", (0, 6), 5, "B"),
    Api(16, "ListGroups", (0, 5), 3, "B"),
    Api(17, "SaslHandshake", (0, 1), None, "BC"),
    Api(18, "ApiVersions", (0, 4), 3, "BC"),
    Api(19, "CreateTopics", (0, 7), 5, "BC", forwardable=True),
    Api(20, "DeleteTopics", (0, 6), 4, "BC", forwardable=True),
    Api(21, "DeleteRecords", (0, 2), 2, "B"),
    Api(22, "InitProducerId", (0, 6), 2, "B", unstable=(6, 6)),
    Api(23, "OffsetForLeaderEpoch", (0, 4), 4, "B"),
    Api(24, "AddPartitionsToTxn", (0, 5), 3, "B"),
    Api(25, "AddOffsetsToTxn", (0, 4), 3, "B"),
    Api(26, "EndTxn", (0, 5), 3, "B"),
    Api(27, "WriteTxnMarkers", (0, 2), 1, "B", cluster_action=True),
    Api(28, "TxnOffsetCommit", (0, 5), 3, "B"),
    Api(29, "DescribeAcls", (0, 3), 2, "BC"),
    Api(30, "CreateAcls", (0, 3), 2, "BC", forwardable=True),
    Api(31, "DeleteAcls", (0, 3), 2, "BC", forwardable=True),
    Api(32, "DescribeConfigs", (0, 4), 4, "BC"),
    Api(33, "AlterConfigs", (0, 2), 2, "BC", forwardable=True),
    Api(34, "AlterReplicaLogDirs", (0, 2), 2, "B"),
    Api(35, "DescribeLogDirs", (0, 5), 2, "B"),
    Api(36, "SaslAuthenticate", (0, 2), 2, "BC"),
    Api(37, "CreatePartitions", (0, 3), 2, "BC", forwardable=True),
    Api(38, "CreateDelegationToken", (0, 3), 2, "BC", forwardable=True),
    Api(39, "RenewDelegationToken", (0, 2), 2, "BC", forwardable=True),
    Api(40, "ExpireDelegationToken", (0, 2), 2, "BC", forwardable=True),
    Api(41, "DescribeDelegationToken", (0, 3), 2, "BC"),
    Api(42, "DeleteGroups", (0, 2), 2, "B"),
    Api(43, "ElectLeaders", (0, 2), 2, "BC", forwardable=True),
    Api(44, "IncrementalAlterConfigs", (0, 1), 1, "BC", forwardable=True),
    Api(45, "AlterPartitionReassignments", (0, 1), 0, "BC", forwardable=True),
    Api(46, "ListPartitionReassignments", (0, 0), 0, "BC", forwardable=True),
    Api(47, "OffsetDelete", (0, 0), None, "B"),
    Api(48, "DescribeClientQuotas", (0, 1), 1, "B"),
    Api(49, "AlterClientQuotas", (0, 1), 1, "BC", forwardable=True),
    Api(50, "DescribeUserScramCredentials", (0, 0), 0, "BC"),
    Api(51, "AlterUserScramCredentials", (0, 0), 0, "BC", forwardable=True),
    Api(52, "Vote", (0, 2), 0, "C", cluster_action=True),
    Api(53, "BeginQuorumEpoch", (0, 1), 1, "C", cluster_action=True),
    Api(54, "EndQuorumEpoch", (0, 1), 1, "C", cluster_action=True),
    Api(55, "DescribeQuorum", (0, 2), 0, "BC", cluster_action=True, forwardable=True),
    Api(56, "AlterPartition", (0, 3), 0, "C", cluster_action=True),
    Api(57, "UpdateFeatures", (0, 2), 0, "BC", cluster_action=True, forwardable=True),
    Api(58, "Envelope", (0, 0), 0, "C", cluster_action=True),
    Api(59, "FetchSnapshot", (0, 1), 0, "C"),
    Api(60, "DescribeCluster", (0, 2), 0, "BC"),
    Api(61, "DescribeProducers", (0, 0), 0, "B"),
    Api(62, "BrokerRegistration", (0, 4), 0, "C", cluster_action=True),
    Api(63, "BrokerHeartbeat", (0, 2), 0, "C", cluster_action=True),
    Api(64, "UnregisterBroker", (0, 0), 0, "BC", forwardable=True),
    Api(65, "DescribeTransactions", (0, 0), 0, "B"),
    Api(66, "ListTransactions", (0, 2), 0, "B"),
    Api(67, "AllocateProducerIds", (0, 0), 0, "C", cluster_action=True, forwardable=True),
    Api(68, "ConsumerGroupHeartbeat", (0, 1), 0, "B"),
    Api(69, "ConsumerGroupDescribe", (0, 1), 0, "B"),
    Api(70, "ControllerRegistration", (0, 0), 0, "C"),
    Api(71, "GetTelemetrySubscriptions", (0, 0), 0, "B"),
    Api(72, "PushTelemetry", (0, 0), 0, "B"),
    Api(73, "AssignReplicasToDirs", (0, 0), 0, "C"),
    Api(74, "ListConfigResources", (0, 1), 0, "B"),
    Api(75, "DescribeTopicPartitions", (0, 0), 0, "B"),
    Api(76, "ShareGroupHeartbeat", (0, 1), 0, "B", unstable=(0, 0)),
    Api(77, "ShareGroupDescribe", (0, 1), 0, "B", unstable=(0, 0)),
    Api(78, "ShareFetch", (0, 2), 0, "B", unstable=(0, 0)),
    Api(79, "ShareAcknowledge", (0, 2), 0, "B", unstable=(0, 0)),
    Api(80, "AddRaftVoter", (0, 1), 0, "BC", forwardable=True),
    Api(81, "RemoveRaftVoter", (0, 0), 0, "BC", forwardable=True),
    Api(82, "UpdateRaftVoter", (0, 0), 0, "C"),
    Api(83, "InitializeShareGroupState", (0, 0), 0, "B", cluster_action=True),
    Api(84, "ReadShareGroupState", (0, 0), 0, "B", cluster_action=True),
    Api(85, "WriteShareGroupState", (0, 1), 0, "B", cluster_action=True),
    Api(86, "DeleteShareGroupState", (0, 0), 0, "B", cluster_action=True),
    Api(87, "ReadShareGroupStateSummary", (0, 1), 0, "B", cluster_action=True),
    Api(88, "StreamsGroupHeartbeat", (0, 0), 0, "B"),
    Api(89, "StreamsGroupDescribe", (0, 0), 0, "B"),
    Api(90, "DescribeShareGroupOffsets", (0, 1), 0, "B"),
    Api(91, "AlterShareGroupOffsets", (0, 0), 0, "B"),
    Api(92, "DeleteShareGroupOffsets", (0, 0), 0, "B"),
)

_BY_KEY = {api.key: api for api in ALL}
_BY_NAME = {name: api for api in ALL for name in (api.name, api.message)}


def request_bytes_max(key: int) -> int:
    """The largest frame with a request of this API; the listener has a limit of its own."""
    return _FRAME_BYTES_MAX if key in _CARRIERS else REQUEST_BYTES_MAX


def by_key(key: int) -> Api:
    """The API of a request's key; a key that no release declares is the sender's mistake."""
    try:
        return _BY_KEY[key]
    except KeyError:
        raise errors.InvalidRequest(f"There is no API with key {key}.") from None


def by_name(name: str) -> Api:
    """The API of that name, in either spelling: "DESCRIBE_ACLS" or "DescribeAcls"."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise LookupError(f"There is no API named {name!r}; names look like FETCH or Fetch.") from None
