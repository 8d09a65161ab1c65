"""Which APIs are served, on which listener, by which file. A file is imported when its API is first asked for.

`b` is a broker's listener, answered by `handlers/kNN_name.py`; `c` the controller's, answered by
`handlers/controller/kNN_name.py`; `s` both, by the one file in `handlers/`. A test holds this table against the files
and against what they register. ApiVersions tells what stands here and in the release profile; `docs/gaps.md` the rest.
"""

from importlib import import_module

from odradek.broken_rule import present
from odradek.handlers.serves import Served, served_by
from odradek.protocol import apis, releases

_SERVED: dict[int, str] = {
    0: "b",  # Produce
    1: "bc",  # Fetch
    2: "b",  # ListOffsets
    3: "b",  # Metadata
    8: "b",  # OffsetCommit
    9: "b",  # OffsetFetch
    10: "b",  # FindCoordinator
    11: "b",  # JoinGroup
    12: "b",  # Heartbeat
    13: "b",  # LeaveGroup
    14: "b",  # SyncGroup
    15: "b",  # DescribeGroups
    16: "b",  # ListGroups
    17: "s",  # SaslHandshake
    18: "s",  # ApiVersions
    19: "bc",  # CreateTopics
    20: "bc",  # DeleteTopics
    21: "b",  # DeleteRecords
    22: "b",  # InitProducerId
    23: "b",  # OffsetForLeaderEpoch
    24: "b",  # AddPartitionsToTxn
    25: "b",  # AddOffsetsToTxn
    26: "b",  # EndTxn
    27: "b",  # WriteTxnMarkers
    28: "b",  # TxnOffsetCommit
    29: "s",  # DescribeAcls
    30: "bc",  # CreateAcls
    31: "bc",  # DeleteAcls
    32: "s",  # DescribeConfigs
    33: "bc",  # AlterConfigs
    34: "b",  # AlterReplicaLogDirs
    35: "b",  # DescribeLogDirs
    36: "s",  # SaslAuthenticate
    37: "bc",  # CreatePartitions
    38: "bc",  # CreateDelegationToken
    39: "bc",  # RenewDelegationToken
    40: "bc",  # ExpireDelegationToken
    41: "b",  # DescribeDelegationToken
    42: "b",  # DeleteGroups
    43: "bc",  # ElectLeaders
    44: "bc",  # IncrementalAlterConfigs
    45: "bc",  # AlterPartitionReassignments
    46: "bc",  # ListPartitionReassignments
    47: "b",  # OffsetDelete
    48: "b",  # DescribeClientQuotas
    49: "bc",  # AlterClientQuotas
    50: "b",  # DescribeUserScramCredentials
    51: "bc",  # AlterUserScramCredentials
    52: "c",  # Vote
    53: "c",  # BeginQuorumEpoch
    54: "c",  # EndQuorumEpoch
    55: "bc",  # DescribeQuorum
    56: "c",  # AlterPartition
    57: "bc",  # UpdateFeatures
    58: "c",  # Envelope
    59: "c",  # FetchSnapshot
    60: "s",  # DescribeCluster
    61: "b",  # DescribeProducers
    62: "c",  # BrokerRegistration
    63: "c",  # BrokerHeartbeat
    64: "bc",  # UnregisterBroker
    65: "b",  # DescribeTransactions
    66: "b",  # ListTransactions
    67: "c",  # AllocateProducerIds
    68: "b",  # ConsumerGroupHeartbeat
    69: "b",  # ConsumerGroupDescribe
    70: "c",  # ControllerRegistration
    71: "b",  # GetTelemetrySubscriptions
    72: "b",  # PushTelemetry
    73: "c",  # AssignReplicasToDirs
    74: "b",  # ListConfigResources
    75: "b",  # DescribeTopicPartitions
    76: "b",  # ShareGroupHeartbeat
    77: "b",  # ShareGroupDescribe
    78: "b",  # ShareFetch
    79: "b",  # ShareAcknowledge
    80: "bc",  # AddRaftVoter
    81: "bc",  # RemoveRaftVoter
    82: "c",  # UpdateRaftVoter
    88: "b",  # StreamsGroupHeartbeat
    89: "b",  # StreamsGroupDescribe
    83: "b",  # InitializeShareGroupState
    84: "b",  # ReadShareGroupState
    85: "b",  # WriteShareGroupState
    86: "b",  # DeleteShareGroupState
    87: "b",  # ReadShareGroupStateSummary
    90: "b",  # DescribeShareGroupOffsets
    91: "b",  # AlterShareGroupOffsets
    92: "b",  # DeleteShareGroupOffsets
}

_LETTERS = {releases.BROKER: "bs", releases.CONTROLLER: "cs"}

# A 4.3 lists Produce from 0 for the sake of old librdkafka, and reads it from 3.
_READ_FROM = {("4.3", 0): 3}


def keys(kind: str) -> list[int]:
    """The APIs that are served on such a listener."""
    return [key for key, letters in _SERVED.items() if _letter(kind, letters)]


def advertised(release: releases.Release, kind: str, *, has_telemetry: bool) -> dict[int, releases.Versions]:
    """What ApiVersions tells: what a broker of the release would, less what is not served here."""
    served = frozenset(keys(kind))
    told = release.api_versions(kind, has_telemetry=has_telemetry)
    return {key: versions for key, versions in told.items() if key in served}


def accepted(release: releases.Release, kind: str, key: int) -> range:
    """The versions of an API that are read on such a listener; empty: the connection closes."""
    if key not in keys(kind):
        return range(0)
    # telemetry is answered, with an error, even if nobody receives it
    low, high = release.api_versions(kind, has_telemetry=True).get(key, (0, -1))
    return range(_READ_FROM.get((release.name, key), low), high + 1)


def find(kind: str, key: int) -> Served:
    """The handler of an API that `keys` lists; imports its file if need be."""
    found = served_by(kind, key)
    if found is None:
        import_module(module_of(kind, key))
        found = present(served_by(kind, key), f"{module_of(kind, key)} registers the handler of API {key}")
    return found


def module_of(kind: str, key: int) -> str:
    """The file that serves an API, as a module's name."""
    package = "odradek.handlers.controller" if _letter(kind, _SERVED[key]) == "c" else "odradek.handlers"
    return f"{package}.k{key:02d}_{apis.by_key(key).name.lower()}"


def _letter(kind: str, letters: str) -> str | None:
    return next((letter for letter in letters if letter in _LETTERS[kind]), None)
