"""Where Kafka's releases disagree under one name and version number. 4.3 wins; this is what it wins over.

`odradek protocol verify` reads older golden files with this table: a different layout is counted and not compared, a
renamed field or message is compared under its new name.
"""

# (message, version) -> the releases that wrote another layout, and why it is safe to take 4.3's.
LAYOUTS: dict[tuple[str, int], tuple[tuple[str, ...], str]] = {
    ("ReadShareGroupStateSummaryResponse", 0): (("3.9",), "early access in 3.9; the leader epoch came later"),
    ("ShareGroupMetadataValue", 0): (("3.9",), "early access in 3.9; the metadata hash came later"),
    ("UserScramCredentialRecord", 0): (("3.3",), "3.3 declares it and never writes it: SCRAM came to KRaft in 3.5"),
    ("DelegationTokenRecord", 0): (("3.3",), "3.3 declares it and never writes it: tokens came to KRaft in 3.6"),
    ("RemoteLogSegmentMetadataRecord", 0): (("3.3",), "tiered storage was unfinished before 3.6"),
    ("RemoteLogSegmentMetadataSnapshotRecord", 0): (("3.3",), "tiered storage was unfinished before 3.6"),
    ("RemoteLogSegmentMetadataUpdateRecord", 0): (("3.3",), "tiered storage was unfinished before 3.6"),
}

# A message that has another name in older releases: KIP-1142 made one API list every kind of config resource.
RENAMED_MESSAGES = {
    "ListClientMetricsResourcesRequest": "ListConfigResourcesRequest",
    "ListClientMetricsResourcesResponse": "ListConfigResourcesResponse",
}

# Fields that have another name in older releases, by message: the old path and the new last part of it.
RENAMED_FIELDS: dict[str, dict[str, str]] = {
    "AddPartitionsToTxnRequest": {
        "transactionalId": "v3AndBelowTransactionalId",
        "producerId": "v3AndBelowProducerId",
        "producerEpoch": "v3AndBelowProducerEpoch",
        "topics": "v3AndBelowTopics",
    },
    "AddPartitionsToTxnResponse": {
        "results": "resultsByTopicV3AndBelow",
        "results.results": "resultsByPartition",
        "results.results.errorCode": "partitionErrorCode",
    },
    "ListConfigResourcesResponse": {
        "clientMetricsResources": "configResources",
        "clientMetricsResources.name": "resourceName",
    },
    "OffsetCommitRequest": {"generationId": "generationIdOrMemberEpoch"},
    "VoteRequest": {
        "topics.partitions.candidateEpoch": "replicaEpoch",
        "topics.partitions.candidateId": "replicaId",
        "topics.partitions.candidateDirectoryId": "replicaDirectoryId",
    },
}
