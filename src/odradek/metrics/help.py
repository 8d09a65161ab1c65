"""What each metric tells, in one sentence: the `# HELP` lines of /metrics. Loaded when somebody first looks."""

from odradek.metrics.registry import MetricName

# By type and name of Kafka's bean, or by type and attribute where a bean has no name.
_SENTENCES = {
    "Partition": {
        "AtMinIsr": "Whether the partition has exactly as many replicas in sync as min.insync.replicas asks for",
        "InSyncReplicasCount": "Replicas of the partition that are in sync",
        "LastStableOffsetLag": "Records of the partition that open transactions keep from readers of committed ones",
        "ReplicasCount": "Replicas that the partition should have",
        "UnderMinIsr": "Whether the partition has fewer replicas in sync than min.insync.replicas asks for",
        "UnderReplicated": "Whether the partition has fewer replicas in sync than it should have",
    },
    "KafkaController": {
        "ActiveBrokerCount": "Brokers that are registered and serve",
        "ActiveControllerCount": "1 on the controller that leads, 0 on the others",
        "FencedBrokerCount": "Brokers that are registered and do not serve",
        "GlobalPartitionCount": "Partitions of the cluster",
        "GlobalTopicCount": "Topics of the cluster",
        "LastAppliedRecordLagMs": "Milliseconds since the metadata record was written that was applied last",
        "LastAppliedRecordOffset": "Offset of the metadata record that was applied last",
        "LastAppliedRecordTimestamp": "When the metadata record was written that was applied last",
        "LastCommittedRecordOffset": "Offset of the metadata record that was committed last",
        "OfflinePartitionsCount": "Partitions without a leader",
        "PreferredReplicaImbalanceCount": "Partitions that are led by another replica than their first one",
    },
    "GroupMetadataManager": {
        "NumGroups": "Groups of the classic protocol",
        "NumGroupsCompletingRebalance": "Groups of the classic protocol that wait for their leader's assignment",
        "NumGroupsDead": "Groups of the classic protocol that are being removed",
        "NumGroupsEmpty": "Groups of the classic protocol without members",
        "NumGroupsPreparingRebalance": "Groups of the classic protocol that wait for their members to join",
        "NumGroupsStable": "Groups of the classic protocol whose members have their assignment",
        "NumOffsets": "Committed offsets of all groups",
    },
    "TransactionMarkerChannelManager": {
        "LogAppendRetryQueueSize": "Completed transactions that wait to be written again to the transaction log",
        "UnknownDestinationQueueSize": "Transactions whose markers wait for a leader",
    },
    "Log": {
        "LogEndOffset": "Offset that the partition's next record gets",
        "LogStartOffset": "Offset of the partition's first record",
        "NumLogSegments": "Segments of the partition's log",
        "RetentionSizeInPercent": "Size of the partition's log, in percent of retention.bytes",
        "Size": "Bytes of the partition's log",
    },
    "LogCleanerManager": {"uncleanable-partitions-count": "Partitions whose compaction has failed, by log dir"},
    "LogManager": {
        "CordonedLogDirectoryCount": "Log dirs that take no new partitions",
        "LogDirectoryCordoned": "Whether the log dir takes no new partitions",
        "LogDirectoryOffline": "Whether the log dir has failed",
        "OfflineLogDirectoryCount": "Log dirs that have failed",
    },
    "Acceptor": {"AcceptorBlockedPercent": "Share of the time in which a listener could not accept connections"},
    "Processor": {"IdlePercent": "Share of the time in which a network processor had nothing to do"},
    "RequestChannel": {
        "RequestQueueSize": "Requests that wait to be handled",
        "ResponseQueueSize": "Responses that wait to be sent",
    },
    "RequestMetrics": {
        "ErrorsPerSec": "Error codes in responses, NONE among them, by API",
        "LocalTimeMs": "Milliseconds that a request was handled",
        "RemoteTimeMs": "Milliseconds that a request waited for others: replicas, data, the controller",
        "RequestBytes": "Bytes of a request",
        "RequestQueueTimeMs": "Milliseconds that a request waited to be handled",
        "RequestsPerSec": "Requests, by API and version",
        "ResponseQueueTimeMs": "Milliseconds that a response waited to be sent",
        "ResponseSendTimeMs": "Milliseconds that it took to send a response",
        "ThrottleTimeMs": "Milliseconds by which a quota has delayed a response",
        "TotalTimeMs": "Milliseconds from the arrival of a request to the end of its response",
    },
    "SocketServer": {
        "ExpiredConnectionsKilledCount": "Connections that were closed because their authentication had run out",
        "MemoryPoolAvailable": "Bytes that are left for requests being received",
        "MemoryPoolUsed": "Bytes that are taken by requests being received",
        "NetworkProcessorAvgIdlePercent": "Share of the time in which the network processors had nothing to do",
    },
    "AddPartitionsToTxnManager": {
        "VerificationFailureRate": "Partitions of which the coordinator said that they are in no such transaction",
        "VerificationTimeMs": "Milliseconds that a leader waited for the coordinator's word about a transaction",
    },
    "BrokerTopicMetrics": {
        "BytesInPerSec": "Bytes that producers have written",
        "BytesOutPerSec": "Bytes that consumers have fetched",
        "BytesRejectedPerSec": "Bytes of batches that were refused as too large",
        "FailedFetchRequestsPerSec": "Fetches of a partition that failed",
        "FailedProduceRequestsPerSec": "Writes to a partition that failed",
        "FetchMessageConversionsPerSec": "Batches that were converted for consumers of an older format",
        "InvalidMagicNumberRecordsPerSec": "Batches that were refused for their magic",
        "InvalidMessageCrcRecordsPerSec": "Batches that were refused for their checksum",
        "InvalidOffsetOrSequenceRecordsPerSec": "Batches that were refused for their offsets or sequence numbers",
        "MessagesInPerSec": "Records that producers have written",
        "NoKeyCompactedTopicRecordsPerSec": "Records without a key that a compacted topic has refused",
        "ProduceMessageConversionsPerSec": "Batches of producers that were converted to the topic's format",
        "ReassignmentBytesInPerSec": "Bytes that were fetched from leaders for replicas that are being moved here",
        "ReassignmentBytesOutPerSec": "Bytes that were fetched by replicas that are being moved elsewhere",
        "ReplicationBytesInPerSec": "Bytes that were fetched from leaders",
        "ReplicationBytesOutPerSec": "Bytes that followers have fetched",
        "TotalFetchRequestsPerSec": "Fetches of a partition",
        "TotalProduceRequestsPerSec": "Writes to a partition",
    },
    "DelayedFetchMetrics": {"ExpiresPerSec": "Fetches that were answered because their wait was over"},
    "DelayedOperationPurgatory": {
        "NumDelayedOperations": "Requests that wait for something, such as data or replicas",
        "PurgatorySize": "Requests that are watched, each as often as there are things that may end its wait",
    },
    "FetchSessionCache": {
        "IncrementalFetchSessionEvictionsPerSec": "Fetch sessions that had to make room for others",
        "NumIncrementalFetchPartitionsCached": "Partitions of all fetch sessions",
        "NumIncrementalFetchSessions": "Fetch sessions",
    },
    "KafkaRequestHandlerPool": {
        "RequestHandlerAvgIdlePercent": "Share of the time in which there was no request to handle",
    },
    "KafkaServer": {"BrokerState": "0 not running, 1 starting, 2 recovering, 3 running, 6 stopping, 7 shutting down"},
    "MetadataLoader": {
        "CurrentControllerId": "Node id of the controller that leads, -1 if there is none",
        "CurrentMetadataVersion": "Level of metadata.version that the cluster is at",
    },
    "ReplicaFetcherManager": {
        "DeadThreadCount": "Fetchers of replicas that have ended",
        "FailedPartitionsCount": "Partitions whose replica here cannot follow its leader",
        "MaxLag": "Most records by which a replica here is behind its leader",
        "MinFetchRate": "Rate of the slowest fetcher of replicas",
    },
    "ReplicaManager": {
        "AtMinIsrPartitionCount": "Partitions led here with exactly min.insync.replicas replicas in sync",
        "FailedIsrUpdatesPerSec": "Changes of a set of replicas in sync that the controller has refused",
        "IsrExpandsPerSec": "Replicas that came back into a set of replicas in sync",
        "IsrShrinksPerSec": "Replicas that fell out of a set of replicas in sync",
        "LeaderCount": "Partitions led here",
        "OfflineReplicaCount": "Replicas here whose log dir has failed",
        "PartitionCount": "Replicas here",
        "PartitionsWithLateTransactionsCount": "Partitions led here with a transaction open for longer than it may be",
        "ProducerIdCount": "Producer ids that the partitions here remember",
        "ReassigningPartitions": "Partitions led here that are being moved",
        "UnderMinIsrPartitionCount": "Partitions led here with fewer than min.insync.replicas replicas in sync",
        "UnderReplicatedPartitions": "Partitions led here with fewer replicas in sync than they should have",
    },
    "broker-metadata-metrics": {
        "last-applied-record-lag-ms": "Milliseconds since the metadata record was written that the broker applied last",
        "last-applied-record-offset": "Offset of the metadata record that the broker has applied last",
        "last-applied-record-timestamp": "When the metadata record was written that the broker has applied last",
    },
    "group-coordinator-metrics": {
        "consumer-group-count": "Consumer groups by state",
        "consumer-group-rebalance-count": "New epochs of consumer groups",
        "consumer-group-rebalance-rate": "New epochs of consumer groups a second",
        "group-completed-rebalance-count": "Completed rebalances of groups of the classic protocol",
        "group-completed-rebalance-rate": "Completed rebalances of groups of the classic protocol a second",
        "group-count": "Groups by protocol",
        "num-partitions": "Partitions of the offsets topic that are coordinated here, by state",
        "offset-commit-count": "Offsets that were committed",
        "offset-commit-rate": "Offsets that were committed a second",
        "offset-deletion-count": "Committed offsets that were deleted on request",
        "offset-deletion-rate": "Committed offsets that were deleted on request a second",
        "offset-expiration-count": "Committed offsets that were deleted for their age",
        "offset-expiration-rate": "Committed offsets that were deleted for their age a second",
        "partition-load-time-avg": "Milliseconds that loading a partition of the offsets topic took on average",
        "partition-load-time-max": "Milliseconds that loading a partition of the offsets topic took at most",
        "streams-group-count": "Streams groups by state",
        "streams-group-rebalance-count": "New epochs of streams groups",
        "streams-group-rebalance-rate": "New epochs of streams groups a second",
    },
    "transaction-coordinator-metrics": {
        "partition-load-time-avg": "Milliseconds that loading a partition of the transaction log took on average",
        "partition-load-time-max": "Milliseconds that loading a partition of the transaction log took at most",
    },
    "raft-metrics": {
        "current-epoch": "Epoch of the metadata quorum",
        "current-leader": "Node id of the quorum's leader, -1 if it is not known",
        "current-vote": "Node id that this one has voted for, -1 if for none",
        "high-watermark": "Offset up to which the metadata log is committed",
        "log-end-epoch": "Epoch of the last record in the metadata log",
        "log-end-offset": "Offset that the next record of the metadata log gets",
        "number-of-observers": "Nodes that follow the metadata log without a vote",
        "number-of-voters": "Voters of the quorum",
        "number-unknown-voter-connections": "Voters whose address is not known",
        "uncommitted-voter-change": "Whether a change of the voters is not committed yet",
    },
    "socket-server-metrics": {
        "broker-connection-accept-rate": "Connections that the broker has accepted a second",
        "connection-accept-rate": "Connections that a listener has accepted a second",
        "connection-accept-throttle-time": "Milliseconds by which a limit has delayed a new connection on average",
        "connection-close-rate": "Connections that were closed a second",
        "connection-close-total": "Connections that were closed",
        "connection-count": "Connections that are open",
        "connection-creation-rate": "Connections that were opened a second",
        "connection-creation-total": "Connections that were opened",
        "connections": "Connections that are open, by the client's software and its version",
        "expired-connections-killed-count": "Connections that were closed because their authentication had run out",
        "failed-authentication-rate": "Authentications that failed a second",
        "failed-authentication-total": "Authentications that failed",
        "failed-reauthentication-rate": "Renewed authentications that failed a second",
        "failed-reauthentication-total": "Renewed authentications that failed",
        "incoming-byte-rate": "Bytes that were received a second",
        "incoming-byte-total": "Bytes that were received",
        "io-ratio": "Share of the time in which a processor received and sent",
        "io-wait-ratio": "Share of the time in which a processor waited for something to receive or send",
        "outgoing-byte-rate": "Bytes that were sent a second",
        "outgoing-byte-total": "Bytes that were sent",
        "successful-authentication-no-reauth-total": "Authentications of clients that cannot renew them",
        "successful-authentication-rate": "Authentications that succeeded a second",
        "successful-authentication-total": "Authentications that succeeded",
        "successful-reauthentication-rate": "Renewed authentications that succeeded a second",
        "successful-reauthentication-total": "Renewed authentications that succeeded",
    },
}

_ATTRIBUTES = {
    "Value": "",
    "Count": "how many so far",
    "MeanRate": "a second since the start",
    "OneMinuteRate": "a second over the last minute",
    "FiveMinuteRate": "a second over the last five minutes",
    "FifteenMinuteRate": "a second over the last fifteen minutes",
    "Percentile": "quantiles of the last minutes",
    "Mean": "mean since the start",
    "Min": "least since the start",
    "Max": "greatest since the start",
    "StdDev": "standard deviation since the start",
}


def sentence_of(name: MetricName) -> str | None:
    return _SENTENCES.get(name.type, {}).get(name.name or name.attribute)


def help_text(name: MetricName, attribute: str) -> str:
    """What the metric tells and, after the dash, by which name Kafka's documentation has it."""
    bean = f"{name.group}:type={name.type}" + (f",name={name.name}" if name.name else "")
    told = ": ".join(part for part in (sentence_of(name), _ATTRIBUTES[attribute]) if part)
    return _escaped(f"{told} - {bean} {name.attribute or attribute}" if told else f"Kafka's {bean} {attribute}")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
