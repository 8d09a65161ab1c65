"""The release profiles: what a Kafka 3.3 or 4.3 tells its clients, and in which versions it writes.

A cluster is formatted at one profile, and the profile alone decides what is advertised, which features are on
and which versions the internal records have; the version of a request decides only the shape of its answer.
Level 7 is the one metadata.version that both releases open.

What is not obvious:

- A 4.3 advertises Produce from 0 although it reads only 3 and up: older librdkafka looks for version 0 before
  it dares to compress.
- Telemetry (71, 72) is advertised only by a broker that has a receiver for it.
- Feature level 0 means "not finalized": no record is written for it and ApiVersions does not name it.
- ApiVersions below version 4 leaves out supported features whose minimum is 0: its readers reject such a range.
- On ZooKeeper there are no features, and a 3.3 controller does not tell the finalized ones.
- The quorum-state file follows kraft.version: at 0 it lists the voters, at 1 these are in the log and the vote
  has a directory id.
"""

from odradek.protocol.behaviour import OF_3_3, OF_4_3, Behaviour

Versions = tuple[int, int]

BROKER = "BROKER"
CONTROLLER = "CONTROLLER"
ZK_BROKER = "ZK_BROKER"

_TELEMETRY = frozenset({71, 72})
_API_VERSION_WITH_MINIMUM_0 = 4


class Release:
    """One profile.

    `finalized_at_format` has the level of every feature in a newly formatted cluster, 0 for one that is off;
    `record_versions` the version in which each internal record is written; `behaviour` what it does otherwise than the
    other release with the same request.
    """

    __slots__ = (
        "_api_versions",
        "_supported_features",
        "_tells_finalized_on",
        "behaviour",
        "finalized_at_format",
        "has_directory_id",
        "name",
        "quorum_state_version",
        "record_versions",
    )

    def __init__(
        self,
        name: str,
        *,
        api_versions: dict[str, dict[int, Versions]],
        supported_features: dict[str, Versions],
        finalized_at_format: dict[str, int],
        tells_finalized_on: frozenset[str],
        record_versions: dict[str, int],
        quorum_state_version: int,
        has_directory_id: bool,
        behaviour: Behaviour,
    ) -> None:
        self.name = name
        self.behaviour = behaviour
        self.finalized_at_format = finalized_at_format
        self.record_versions = record_versions
        self.quorum_state_version = quorum_state_version
        self.has_directory_id = has_directory_id
        self._api_versions = api_versions
        self._supported_features = supported_features
        self._tells_finalized_on = tells_finalized_on

    def __repr__(self) -> str:
        return f"<Release {self.name}>"

    def api_versions(self, listener: str, *, has_telemetry: bool = False) -> dict[int, Versions]:
        """What ApiVersions lists on such a listener: key -> (lowest, highest version), in the order of keys."""
        versions = self._on(listener)
        return {key: versions[key] for key in versions if has_telemetry or key not in _TELEMETRY}

    def supported_features(self, api_version: int, listener: str = BROKER) -> dict[str, Versions]:
        """The features that an ApiVersions answer of that version names: name -> (lowest, highest level)."""
        self._on(listener)
        if listener == ZK_BROKER:
            return {}
        every = api_version >= _API_VERSION_WITH_MINIMUM_0
        return {name: levels for name, levels in self._supported_features.items() if every or levels[0] > 0}

    def tells_finalized_features(self, listener: str) -> bool:
        """Whether ApiVersions names the finalized features and their epoch on such a listener."""
        self._on(listener)
        return listener in self._tells_finalized_on

    def _on(self, listener: str) -> dict[int, Versions]:
        try:
            return self._api_versions[listener]
        except KeyError:
            known = ", ".join(self._api_versions)
            raise LookupError(f"Release {self.name} has no {listener!r} listener, only {known}.") from None


# key: (3.3 versions, its listeners, 4.3 versions, its listeners); Z = ZK_BROKER, B = BROKER, C = CONTROLLER
_ADVERTISED: dict[int, tuple[Versions | None, str, Versions | None, str]] = {
    0: ((0, 9), "ZB", (0, 13), "B"),  # Produce
    1: ((0, 13), "ZBC", (4, 18), "BC"),  # Fetch
    2: ((0, 7), "ZB", (1, 11), "B"),  # ListOffsets
    3: ((0, 12), "ZB", (0, 13), "B"),  # Metadata
    4: ((0, 6), "Z", None, ""),  # LeaderAndIsr
    5: ((0, 3), "Z", None, ""),  # StopReplica
    6: ((0, 7), "Z", None, ""),  # UpdateMetadata
    7: ((0, 3), "ZC", None, ""),  # ControlledShutdown
    8: ((0, 8), "ZB", (2, 10), "B"),  # OffsetCommit
    9: ((0, 8), "ZB", (1, 10), "B"),  # OffsetFetch
    10: ((0, 4), "ZB", (0, 6), "B"),  # FindCoordinator
    11: ((0, 9), "ZB", (0, 9), "B"),  # JoinGroup
    12: ((0, 4), "ZB", (0, 4), "B"),  # Heartbeat
    13: ((0, 5), "ZB", (0, 5), "B"),  # LeaveGroup
    14: ((0, 5), "ZB", (0, 5), "B"),  # SyncGroup
    15: ((0, 5), "ZB", (0, 6), "B"),  # DescribeGroups
    16: ((0, 4), "ZB", (0, 5), "B"),  # ListGroups
    17: ((0, 1), "ZBC", (0, 1), "BC"),  # SaslHandshake
    18: ((0, 3), "ZBC", (0, 4), "BC"),  # ApiVersions
    19: ((0, 7), "ZBC", (2, 7), "BC"),  # CreateTopics
    20: ((0, 6), "ZBC", (1, 6), "BC"),  # DeleteTopics
    21: ((0, 2), "ZB", (0, 2), "B"),  # DeleteRecords
    22: ((0, 4), "ZB", (0, 5), "B"),  # InitProducerId
    23: ((0, 4), "ZB", (2, 4), "B"),  # OffsetForLeaderEpoch
    24: ((0, 3), "ZB", (0, 5), "B"),  # AddPartitionsToTxn
    25: ((0, 3), "ZB", (0, 4), "B"),  # AddOffsetsToTxn
    26: ((0, 3), "ZB", (0, 5), "B"),  # EndTxn
    27: ((0, 1), "ZB", (1, 2), "B"),  # WriteTxnMarkers
    28: ((0, 3), "ZB", (0, 5), "B"),  # TxnOffsetCommit
    29: ((0, 3), "ZBC", (1, 3), "BC"),  # DescribeAcls
    30: ((0, 3), "ZBC", (1, 3), "BC"),  # CreateAcls
    31: ((0, 3), "ZBC", (1, 3), "BC"),  # DeleteAcls
    32: ((0, 4), "ZB", (1, 4), "BC"),  # DescribeConfigs
    33: ((0, 2), "ZBC", (0, 2), "BC"),  # AlterConfigs
    34: ((0, 2), "ZB", (1, 2), "B"),  # AlterReplicaLogDirs
    35: ((0, 4), "ZB", (1, 5), "B"),  # DescribeLogDirs
    36: ((0, 2), "ZBC", (0, 2), "BC"),  # SaslAuthenticate
    37: ((0, 3), "ZBC", (0, 3), "BC"),  # CreatePartitions
    38: ((0, 3), "Z", (1, 3), "BC"),  # CreateDelegationToken
    39: ((0, 2), "Z", (1, 2), "BC"),  # RenewDelegationToken
    40: ((0, 2), "Z", (1, 2), "BC"),  # ExpireDelegationToken
    41: ((0, 3), "Z", (1, 3), "BC"),  # DescribeDelegationToken
    42: ((0, 2), "ZB", (0, 2), "B"),  # DeleteGroups
    43: ((0, 2), "ZBC", (0, 2), "BC"),  # ElectLeaders
    44: ((0, 1), "ZBC", (0, 1), "BC"),  # IncrementalAlterConfigs
    45: ((0, 0), "ZBC", (0, 1), "BC"),  # AlterPartitionReassignments
    46: ((0, 0), "ZBC", (0, 0), "BC"),  # ListPartitionReassignments
    47: ((0, 0), "ZB", (0, 0), "B"),  # OffsetDelete
    48: ((0, 1), "ZB", (0, 1), "B"),  # DescribeClientQuotas
    49: ((0, 1), "ZBC", (0, 1), "BC"),  # AlterClientQuotas
    50: ((0, 0), "Z", (0, 0), "BC"),  # DescribeUserScramCredentials
    51: ((0, 0), "Z", (0, 0), "BC"),  # AlterUserScramCredentials
    52: ((0, 0), "C", (0, 2), "C"),  # Vote
    53: ((0, 0), "C", (0, 1), "C"),  # BeginQuorumEpoch
    54: ((0, 0), "C", (0, 1), "C"),  # EndQuorumEpoch
    55: ((0, 1), "BC", (0, 2), "BC"),  # DescribeQuorum
    56: ((0, 2), "ZC", (2, 3), "C"),  # AlterPartition
    57: ((0, 1), "ZBC", (0, 2), "BC"),  # UpdateFeatures
    58: ((0, 0), "C", (0, 0), "C"),  # Envelope
    59: ((0, 0), "C", (0, 1), "C"),  # FetchSnapshot
    60: ((0, 0), "ZB", (0, 2), "BC"),  # DescribeCluster
    61: ((0, 0), "ZB", (0, 0), "B"),  # DescribeProducers
    62: ((0, 0), "C", (0, 4), "C"),  # BrokerRegistration
    63: ((0, 0), "C", (0, 2), "C"),  # BrokerHeartbeat
    64: ((0, 0), "BC", (0, 0), "BC"),  # UnregisterBroker
    65: ((0, 0), "ZB", (0, 0), "B"),  # DescribeTransactions
    66: ((0, 0), "ZB", (0, 2), "B"),  # ListTransactions
    67: ((0, 0), "ZC", (0, 0), "C"),  # AllocateProducerIds
    68: (None, "", (0, 1), "B"),  # ConsumerGroupHeartbeat
    69: (None, "", (0, 1), "B"),  # ConsumerGroupDescribe
    70: (None, "", (0, 0), "C"),  # ControllerRegistration
    71: (None, "", (0, 0), "B"),  # GetTelemetrySubscriptions
    72: (None, "", (0, 0), "B"),  # PushTelemetry
    73: (None, "", (0, 0), "C"),  # AssignReplicasToDirs
    74: (None, "", (0, 1), "B"),  # ListConfigResources
    75: (None, "", (0, 0), "B"),  # DescribeTopicPartitions
    76: (None, "", (1, 1), "B"),  # ShareGroupHeartbeat
    77: (None, "", (1, 1), "B"),  # ShareGroupDescribe
    78: (None, "", (1, 2), "B"),  # ShareFetch
    79: (None, "", (1, 2), "B"),  # ShareAcknowledge
    80: (None, "", (0, 1), "BC"),  # AddRaftVoter
    81: (None, "", (0, 0), "BC"),  # RemoveRaftVoter
    82: (None, "", (0, 0), "C"),  # UpdateRaftVoter
    83: (None, "", (0, 0), "B"),  # InitializeShareGroupState
    84: (None, "", (0, 0), "B"),  # ReadShareGroupState
    85: (None, "", (0, 1), "B"),  # WriteShareGroupState
    86: (None, "", (0, 0), "B"),  # DeleteShareGroupState
    87: (None, "", (0, 1), "B"),  # ReadShareGroupStateSummary
    88: (None, "", (0, 0), "B"),  # StreamsGroupHeartbeat
    89: (None, "", (0, 0), "B"),  # StreamsGroupDescribe
    90: (None, "", (0, 1), "B"),  # DescribeShareGroupOffsets
    91: (None, "", (0, 0), "B"),  # AlterShareGroupOffsets
    92: (None, "", (0, 0), "B"),  # DeleteShareGroupOffsets
}

_ON_3_3 = [(key, row[0], row[1]) for key, row in _ADVERTISED.items()]
_ON_4_3 = [(key, row[2], row[3]) for key, row in _ADVERTISED.items()]


def _advertised(column: list[tuple[int, Versions | None, str]], letter: str) -> dict[int, Versions]:
    return {key: versions for key, versions, letters in column if versions is not None and letter in letters}


RELEASE_3_3 = Release(
    "3.3",
    api_versions={
        BROKER: _advertised(_ON_3_3, "B"),
        CONTROLLER: _advertised(_ON_3_3, "C"),
        ZK_BROKER: _advertised(_ON_3_3, "Z"),
    },
    supported_features={"metadata.version": (1, 7)},
    finalized_at_format={"metadata.version": 7},
    tells_finalized_on=frozenset({BROKER}),
    record_versions={"OffsetCommitValue": 3, "GroupMetadataValue": 3, "TransactionLogValue": 0},
    quorum_state_version=0,
    has_directory_id=False,
    behaviour=OF_3_3,
)

RELEASE_4_3 = Release(
    "4.3",
    api_versions={
        BROKER: _advertised(_ON_4_3, "B"),
        CONTROLLER: _advertised(_ON_4_3, "C"),
    },
    # In the order in which a 4.3 lists them.
    supported_features={
        "group.version": (0, 1),
        "kraft.version": (0, 1),
        "metadata.version": (7, 30),
        "share.version": (0, 1),
        "streams.version": (0, 1),
        "transaction.version": (0, 2),
        "eligible.leader.replicas.version": (0, 1),
    },
    # A 4.3 of Apache's also turns on share groups and eligible leader replicas; here a feature is finalized once it
    # is served.
    finalized_at_format={
        "group.version": 1,
        "kraft.version": 1,
        "metadata.version": 30,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
        "eligible.leader.replicas.version": 0,
    },
    tells_finalized_on=frozenset({BROKER, CONTROLLER}),
    record_versions={"OffsetCommitValue": 4, "GroupMetadataValue": 3, "TransactionLogValue": 1},
    quorum_state_version=1,
    has_directory_id=True,
    behaviour=OF_4_3,
)

ALL = (RELEASE_3_3, RELEASE_4_3)
DEFAULT = RELEASE_4_3


def by_name(name: str) -> Release:
    """The profile that `--release-version` names."""
    for release in ALL:
        if release.name == name:
            return release
    known = " or ".join(release.name for release in ALL)
    raise LookupError(f"There is no release profile {name!r}; choose {known}.")
