"""Which module serves which script, by the names of the scripts and of the Java classes that they run."""

_PACKAGE = "odradek.cli.kafka"

# The script, its module here, the Java classes that harnesses call it by: several moved between 3.3 and 4.3.
SCRIPTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "kafka-acls.sh": ("acls", ("org.apache.kafka.tools.AclCommand", "kafka.admin.AclCommand")),
    "kafka-broker-api-versions.sh": (
        "broker_api_versions",
        ("org.apache.kafka.tools.BrokerApiVersionsCommand", "kafka.admin.BrokerApiVersionsCommand"),
    ),
    "kafka-cluster.sh": ("cluster", ("org.apache.kafka.tools.ClusterTool", "kafka.tools.ClusterTool")),
    "kafka-configs.sh": ("configs", ("kafka.admin.ConfigCommand", "org.apache.kafka.tools.ConfigCommand")),
    "kafka-console-consumer.sh": (
        "console_consumer",
        ("org.apache.kafka.tools.consumer.ConsoleConsumer", "kafka.tools.ConsoleConsumer"),
    ),
    "kafka-console-producer.sh": (
        "console_producer",
        ("org.apache.kafka.tools.ConsoleProducer", "kafka.tools.ConsoleProducer"),
    ),
    "kafka-consumer-groups.sh": (
        "consumer_groups",
        ("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "kafka.admin.ConsumerGroupCommand"),
    ),
    "kafka-consumer-perf-test.sh": (
        "consumer_perf_test",
        ("org.apache.kafka.tools.ConsumerPerformance", "kafka.tools.ConsumerPerformance"),
    ),
    "kafka-delete-records.sh": (
        "delete_records",
        ("org.apache.kafka.tools.DeleteRecordsCommand", "kafka.admin.DeleteRecordsCommand"),
    ),
    "kafka-dump-log.sh": ("dump_log", ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments")),
    "kafka-features.sh": ("features", ("org.apache.kafka.tools.FeatureCommand", "kafka.admin.FeatureCommand")),
    "kafka-get-offsets.sh": ("get_offsets", ("org.apache.kafka.tools.GetOffsetShell", "kafka.tools.GetOffsetShell")),
    "kafka-groups.sh": ("groups", ("org.apache.kafka.tools.GroupsCommand",)),
    "kafka-leader-election.sh": (
        "leader_election",
        ("org.apache.kafka.tools.LeaderElectionCommand", "kafka.admin.LeaderElectionCommand"),
    ),
    "kafka-log-dirs.sh": ("log_dirs", ("org.apache.kafka.tools.LogDirsCommand", "kafka.admin.LogDirsCommand")),
    "kafka-metadata-quorum.sh": (
        "metadata_quorum",
        ("org.apache.kafka.tools.MetadataQuorumCommand", "kafka.admin.MetadataQuorumCommand"),
    ),
    "kafka-producer-perf-test.sh": ("producer_perf_test", ("org.apache.kafka.tools.ProducerPerformance",)),
    "kafka-reassign-partitions.sh": (
        "reassign_partitions",
        ("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "kafka.admin.ReassignPartitionsCommand"),
    ),
    "kafka-share-groups.sh": ("share_groups", ("org.apache.kafka.tools.consumer.group.ShareGroupCommand",)),
    "kafka-verifiable-consumer.sh": ("verifiable_consumer", ("org.apache.kafka.tools.VerifiableConsumer",)),
    "kafka-verifiable-producer.sh": ("verifiable_producer", ("org.apache.kafka.tools.VerifiableProducer",)),
    "kafka-topics.sh": ("topics", ("org.apache.kafka.tools.TopicCommand", "kafka.admin.TopicCommand")),
    "kafka-transactions.sh": ("transactions", ("org.apache.kafka.tools.TransactionsCommand",)),
}


def by_class() -> dict[str, str]:
    """Where `kafka-run-class.sh` finds the tool of a Java class."""
    return {name: f"{_PACKAGE}.{module}:main" for module, names in SCRIPTS.values() for name in names}
