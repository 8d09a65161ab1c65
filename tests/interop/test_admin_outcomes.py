"""What becomes of each thing that an admin asks for, in whole brokers: ours at both releases, and Apache Kafka of the
same two. Most of it is tables: what is asked for, the error that it gets, and words of its message.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import clusters
import pytest
from test_admin_client import until

from odradek import AdminClient, KafkaProducer, TopicPartition, errors
from odradek.admin import (
    APPEND,
    DELETE,
    EARLIEST,
    IP,
    LATEST,
    SUBTRACT,
    USER,
    AbortTransactionSpec,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClientQuotaFilterComponent,
    ConfigChange,
    ConfigResource,
    ElectionType,
    FeatureUpdate,
    MemberToRemove,
    NewTopic,
    OffsetAndMetadata,
    PatternType,
    QuotaMatch,
    RaftVoterEndpoint,
    ResourceType,
    Results,
    ScramCredentialInfo,
    ScramMechanism,
    TopicPartitionReplica,
    UpgradeType,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

SECONDS_MAX = 30
PROPERTIES = {
    "allow.everyone.if.no.acl.found": "true",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "2",
    "super.users": "User:ANONYMOUS",
    "transaction.state.log.num.partitions": "2",
}
OF_SHARE_GROUPS = {  # 4.3 has them: one broker keeps their state
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "1",
}
TOPIC, COMPACTED, COLLIDED, GROUP = "the-topic", "the-compacted-topic", "a.name_with.both", "the-group"
HERE = TopicPartition(TOPIC, 0)
REPLICA = TopicPartitionReplica(TOPIC, 0, 1)
VOTER = "AAAAAAAAAAAAAAAAAAAAAQ"
CONTROLLER = RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 9)
SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


@pytest.fixture(scope="module", params=clusters.KINDS)
def asked(request, tmp_path_factory):
    """An admin client of a broker that has two topics, and a group that has committed an offset."""
    path, release = tmp_path_factory.mktemp("outcomes") / "dir", request.param.split()[1]
    properties = PROPERTIES | (OF_SHARE_GROUPS if release == "4.3" else {})
    with (
        clusters.cluster_of(request.param, path, properties) as bootstrap,
        AdminClient(bootstrap_servers=bootstrap, default_api_timeout_ms=20_000) as admin,
    ):
        compacted = NewTopic(COMPACTED, 1, 1, {"cleanup.policy": "compact"})
        admin.create_topics(
            [NewTopic(TOPIC, 3, 1), NewTopic(COLLIDED, 1, 1), compacted], timeout=SECONDS_MAX
        ).raise_any()
        until(lambda: len(admin.describe_topics([TOPIC, COMPACTED]).values_ok) == 2)
        admin.alter_group_offsets(GROUP, {HERE: 0}, timeout=SECONDS_MAX).raise_any()
        yield SimpleNamespace(admin=admin, bootstrap=bootstrap, release=release)


@pytest.fixture
def admin(asked):
    return asked.admin


@pytest.fixture
def is_newer(asked):
    return asked.release == "4.3"


def error_of(call, *arguments):
    """The error of the only thing that was asked for; None if there is none."""
    try:
        found = call(*arguments)
    except errors.KafkaError as error:
        return error
    return next(iter(found.errors.values()), None) if isinstance(found, Results) else None


def new(*topic, **more):
    return lambda admin: admin.create_topics([NewTopic(*topic, **more)])


def configured(**configs):
    named = {name.replace("_", "."): value for name, value in configs.items()}
    return lambda admin: admin.create_topics([NewTopic("configured", 1, 1, named)])


def grown(count, placed=None):
    return lambda admin: admin.create_partitions({TOPIC: count}, assignments=placed and {TOPIC: placed})


def changed(resource, *change):
    return lambda admin: admin.incremental_alter_configs({resource: [ConfigChange(*change)]})


def described(resource):
    return lambda admin: admin.describe_configs([resource])


def limited(entity, **quotas):
    return lambda admin: admin.alter_client_quotas({ClientQuotaEntity(entity): quotas})


def quotas_of(*components):
    return lambda admin: admin.describe_client_quotas(ClientQuotaFilter(components))


def with_password(*credential):
    return lambda admin: admin.alter_user_scram_credentials([UserScramCredentialUpsertion(*credential)])


def allowed(*acl, **more):
    return lambda admin: admin.create_acls([AclBinding(*acl, **more)])


def moved(place, brokers):
    return lambda admin: admin.alter_partition_reassignments({place: brokers})


def elected(place, kind=ElectionType.PREFERRED):
    return lambda admin: admin.elect_leaders(kind, [place])


def at_level(level, kind=UpgradeType.UPGRADE, feature="metadata.version"):
    return lambda admin: admin.update_features({feature: FeatureUpdate(level, kind)})


TOPICS = {
    "an empty name": (new("", 1, 1), errors.InvalidTopicException, "empty string"),
    "a dot as name": (new(".", 1, 1), errors.InvalidTopicException, "'.' is not allowed"),
    "two dots as name": (new("..", 1, 1), errors.InvalidTopicException, "'..' is not allowed"),
    "a slash in a name": (new("a/b", 1, 1), errors.InvalidTopicException, "other than ASCII alphanumerics"),
    "letters beyond ASCII": (new("grüße", 1, 1), errors.InvalidTopicException, "other than ASCII alphanumerics"),
    "a name that is too long": (new("x" * 250, 1, 1), errors.InvalidTopicException, "longer than the max allowed"),
    "a name that collides": (new("a_name.with_both", 1, 1), errors.InvalidTopicException, "collides"),
    "a name that is taken": (new(TOPIC, 1, 1), errors.TopicAlreadyExists, "already exists"),
    "no partitions": (new("wrong", 0, 1), errors.InvalidPartitions, "non-positive"),
    "less than no partitions": (new("wrong", -2, 1), errors.InvalidPartitions, "non-positive"),
    "no replicas": (new("wrong", 1, 0), errors.InvalidReplicationFactor, "larger than 0"),
    "more replicas than brokers": (new("wrong", 1, 2), errors.InvalidReplicationFactor, "only 1 broker(s) are"),
    "an unknown broker": (new("wrong", assignments={0: [9]}), errors.InvalidReplicaAssignment, "broker 9"),
    "a broker twice": (new("wrong", assignments={0: [1, 1]}), errors.InvalidReplicaAssignment, "more than once"),
    "no partition 0": (new("wrong", assignments={1: [1]}), errors.InvalidReplicaAssignment, "consecutive 0-based"),
    "a partition without brokers": (
        new("wrong", assignments={0: []}),
        errors.InvalidReplicaAssignment,
        "empty replica",
    ),
    "brokers and a count": (new("wrong", 2, 1, assignments={0: [1]}), errors.InvalidRequest, "not set to -1"),
    "an unknown config": (configured(no_such=1), errors.InvalidConfig, "Unknown topic config name: no.such"),
    "a number that is too low": (configured(max_message_bytes=-1), errors.InvalidConfig, "must be at least 0"),
    "a share that is too high": (configured(min_cleanable_dirty_ratio=2), errors.InvalidConfig, "no more than 1"),
    "a word that is not one of a few": (configured(cleanup_policy="keep"), errors.InvalidConfig, "compact, delete"),
    "a word in the place of a number": (configured(segment_bytes="many"), errors.InvalidConfig, "type INT"),
    "neither true nor false": (configured(preallocate="maybe"), errors.InvalidConfig, "either true or false"),
    "a config without a value": (configured(retention_ms=None), errors.InvalidConfig, "Null value not supported"),
    "configs that contradict each other": (
        configured(min_compaction_lag_ms=10, max_compaction_lag_ms=5),
        errors.InvalidConfig,
        "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
    ),
    "as many partitions as before": (grown(3), errors.InvalidPartitions, "Topic already has 3 partition(s)."),
    "fewer partitions": (grown(1), errors.InvalidPartitions, "would not be an increase"),
    "too few places of partitions": (grown(5, [[1]]), errors.InvalidReplicaAssignment, "only 1 assignment(s)"),
    "an unknown broker for a partition": (grown(4, [[9]]), errors.InvalidReplicaAssignment, "broker 9"),
    "a broker twice for a partition": (grown(4, [[1, 1]]), errors.InvalidReplicaAssignment, "more than once"),
    "no broker for a partition": (grown(4, [[]]), errors.InvalidReplicaAssignment, "empty replica list"),
    "deletion of a name that cannot be": (
        lambda admin: admin.delete_topics(["no good"]),
        errors.UnknownTopicOrPartition,
        "",
    ),
    "description of a name that cannot be": (
        lambda admin: admin.describe_topics(["no good"]),
        errors.InvalidTopicException,
        "",
    ),
    "records before a negative offset": (
        lambda admin: admin.delete_records({HERE: -2}),
        errors.OffsetOutOfRange,
        "",
    ),
    "records of a compacted topic": (
        lambda admin: admin.delete_records({TopicPartition(COMPACTED, 0): 0}),
        errors.PolicyViolation,
        "",
    ),
}
CONFIGS = {
    "of a topic whose name cannot be": (
        described(ConfigResource.topic("no good")),
        errors.InvalidTopicException,
        "'no good'",
    ),
    "of a topic without a name": (described(ConfigResource.topic("")), errors.InvalidTopicException, "empty string"),
    "of a broker whose number is a word": (described(ConfigResource(4, "one")), errors.InvalidRequest, "an integer"),
    "of an unknown kind": (described(ConfigResource(99, "one")), errors.InvalidRequest, ""),
    "of loggers of a broker that is a word": (described(ConfigResource(8, "x")), errors.InvalidRequest, "an integer"),
    "a topic that is not there": (
        changed(ConfigResource.topic("nobody-knows-it"), "retention.ms", 5),
        errors.UnknownTopicOrPartition,
        "does not exist",
    ),
    "a topic whose name cannot be": (
        changed(ConfigResource.topic("no good"), "retention.ms", 5),
        errors.InvalidTopicException,
        "'no good'",
    ),
    "all topics": (changed(ConfigResource.topic(""), "retention.ms", 5), errors.InvalidRequest, "Default topic"),
    "an unknown name": (changed(ConfigResource.topic(TOPIC), "no.such", 1), errors.InvalidConfig, "no.such"),
    "no value": (changed(ConfigResource.topic(TOPIC), "retention.ms"), errors.InvalidRequest, "Null value"),
    "a value of another type": (
        changed(ConfigResource.topic(TOPIC), "retention.ms", "long"),
        errors.InvalidConfig,
        "Not a number of type LONG",
    ),
    "an addition to what is no list": (
        changed(ConfigResource.topic(TOPIC), "retention.ms", 5, APPEND),
        errors.InvalidConfig,
        "Can't APPEND to key retention.ms",
    ),
    "a subtraction from what is no list": (
        changed(ConfigResource.topic(TOPIC), "retention.ms", 5, SUBTRACT),
        errors.InvalidConfig,
        "Can't SUBTRACT to key retention.ms",
    ),
    "an addition that the list may not have": (
        changed(ConfigResource.topic(TOPIC), "cleanup.policy", "keep", APPEND),
        errors.InvalidConfig,
        "compact, delete",
    ),
    "an addition of nothing": (
        changed(ConfigResource.topic(TOPIC), "cleanup.policy", None, APPEND),
        errors.InvalidRequest,
        "Null value",
    ),
    "the same config twice": (
        lambda admin: admin.incremental_alter_configs(
            {ConfigResource.topic(TOPIC): [ConfigChange("retention.ms", 5), ConfigChange("retention.ms", 6)]}
        ),
        errors.InvalidRequest,
        "duplicate config keys",
    ),
    "a broker whose number is a word": (
        changed(ConfigResource(4, "one"), "log.cleaner.threads", 1),
        errors.InvalidRequest,
        "Node id must be an integer",
    ),
    "what takes a new start of the broker": (
        changed(ConfigResource.broker(1), "num.partitions", 5),
        errors.InvalidRequest,
        "Cannot update these configs dynamically",
    ),
    "for all brokers what is one broker's": (
        changed(ConfigResource.broker(), "listeners", "PLAINTEXT://127.0.0.1:0"),
        errors.InvalidRequest,
        "broker id must be specified",
    ),
    "a broker's value of another type": (
        changed(ConfigResource.broker(1), "log.cleaner.threads", "x"),
        errors.InvalidRequest,
        "Not a number of type INT",
    ),
    "a logger that is not there": (
        changed(ConfigResource.broker_logger(1), "no.such.logger", "INFO"),
        errors.InvalidConfig,
        "Logger no.such.logger does not exist!",
    ),
    "an addition to a logger": (
        changed(ConfigResource.broker_logger(1), "root", "INFO", APPEND),
        errors.InvalidRequest,
        "APPEND operation is not allowed",
    ),
    "an unknown kind": (changed(ConfigResource(1, "x"), "a", 1), errors.InvalidRequest, "Unknown resource type 1"),
}
GROUPS = {
    "deletion of one without a name": (lambda admin: admin.delete_groups([""]), errors.GroupIdNotFound, ""),
    "an offset of an unknown topic": (
        lambda admin: admin.alter_group_offsets(GROUP, {TopicPartition("nobody-knows-it", 0): 1}),
        errors.UnknownTopicOrPartition,
        "",
    ),
    "an offset of an unknown partition": (
        lambda admin: admin.alter_group_offsets(GROUP, {TopicPartition(TOPIC, 9): 1}),
        errors.UnknownTopicOrPartition,
        "",
    ),
    "an offset with a text that is too long": (
        lambda admin: admin.alter_group_offsets(GROUP, {HERE: OffsetAndMetadata(1, "x" * 5000)}),
        errors.OffsetMetadataTooLarge,
        "",
    ),
    "deleted offsets of an unknown group": (
        lambda admin: admin.delete_group_offsets("nobody", [HERE]),
        errors.GroupIdNotFound,
        "",
    ),
    "deleted offsets without a group": (
        lambda admin: admin.delete_group_offsets("", [HERE]),
        errors.InvalidGroupId,
        "",
    ),
    "deleted offsets of an unknown topic": (
        lambda admin: admin.delete_group_offsets(GROUP, [TopicPartition("nobody-knows-it", 0)]),
        errors.UnknownTopicOrPartition,
        "",
    ),
    "a member of an unknown group": (
        lambda admin: admin.remove_members_from_group("nobody", [MemberToRemove("x")]),
        errors.UnknownMemberId,
        "",
    ),
    "an unknown member": (
        lambda admin: admin.remove_members_from_group(GROUP, [MemberToRemove(member_id="x")]),
        errors.UnknownMemberId,
        "",
    ),
    "a member without a group": (
        lambda admin: admin.remove_members_from_group("", [MemberToRemove("x")]),
        errors.InvalidGroupId,
        "",
    ),
    "all members of an unknown group": (
        lambda admin: admin.remove_members_from_group("nobody"),
        errors.GroupIdNotFound,
        "not found",
    ),
}
QUOTAS = {
    "an unknown kind of entity": (limited({"planet": "x"}, producer_byte_rate=1), "entity type: planet"),
    "an unknown quota": (limited({USER: "x"}, no_such=1), "Invalid configuration key no_such"),
    "an address with a user": (limited({USER: "x", IP: "1.1.1.1"}, producer_byte_rate=1), "combination"),
    "a quota of users for an address": (limited({IP: "1.1.1.1"}, producer_byte_rate=1), "Invalid configuration key"),
    "a quota of addresses for a user": (limited({USER: "x"}, connection_creation_rate=1), "Invalid configuration key"),
    "an address that is none": (limited({IP: "not an ip"}, connection_creation_rate=1), "not a valid IP"),
    "less than nothing": (limited({USER: "x"}, producer_byte_rate=-1), "producer_byte_rate"),
    "a part of a byte": (limited({USER: "x"}, producer_byte_rate=1.5), "producer_byte_rate"),
    "nobody": (limited({}, producer_byte_rate=1), "empty client quota entity"),
    "a user without a name": (limited({USER: ""}, producer_byte_rate=1), "Empty user not supported"),
    "a question without a kind": (quotas_of(ClientQuotaFilterComponent("")), "empty entity type"),
    "a question with a kind twice": (
        quotas_of(ClientQuotaFilterComponent(USER), ClientQuotaFilterComponent(USER)),
        "more than once",
    ),
    "a question for users at addresses": (
        quotas_of(ClientQuotaFilterComponent(USER), ClientQuotaFilterComponent(IP)),
        "should not be used",
    ),
    "a question for exactly nobody": (quotas_of(ClientQuotaFilterComponent(USER, QuotaMatch.EXACT)), "EXACT"),
}
SCRAM = {
    "too few iterations": (with_password("alice", SHA_256, "secret", 100), errors.UnacceptableCredential),
    "too many iterations": (with_password("alice", SHA_256, "secret", 100_000), errors.UnacceptableCredential),
    "deletion of what is not there": (
        lambda admin: admin.alter_user_scram_credentials([UserScramCredentialDeletion("nobody", SHA_256)]),
        errors.ResourceNotFound,
    ),
    "two passwords at once": (
        lambda admin: admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion("alice", SHA_256, each) for each in ("one", "two")]
        ),
        errors.DuplicateResource,
    ),
    "two mechanisms at once": (
        lambda admin: admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion("alice", each, "one") for each in (SHA_256, SHA_512)]
        ),
        errors.DuplicateResource,
    ),
    "a user who has none": (
        lambda admin: admin.describe_user_scram_credentials(["nobody"]),
        errors.ResourceNotFound,
    ),
}
REFUSED_BEFORE_ANYBODY_IS_ASKED = {
    "a password for nobody": (with_password("", SHA_256, "secret"), errors.UnacceptableCredential),
    "an empty password": (with_password("alice", SHA_256, ""), errors.UnacceptableCredential),
    "an unknown mechanism": (with_password("alice", ScramMechanism.UNKNOWN, "x"), errors.UnsupportedSaslMechanism),
    "a renewer of a token who is none": (
        lambda admin: admin.create_delegation_token(renewers=["alice"]),
        errors.InvalidPrincipalType,
    ),
}
ACLS = {
    "for a resource without a name": (
        allowed(ResourceType.TOPIC, "", "User:a", AclOperation.READ),
        errors.InvalidRequest,
        "Invalid empty resource name",
    ),
    "for a cluster of another name": (
        allowed(ResourceType.CLUSTER, "mine", "User:a", AclOperation.ALTER),
        errors.InvalidRequest,
        "kafka-cluster",
    ),
    "for any operation": (
        allowed(ResourceType.TOPIC, "t", "User:a", AclOperation.ANY),
        errors.UnknownServerError,
        "",
    ),
    "for any kind of resource": (
        allowed(ResourceType.ANY, "t", "User:a", AclOperation.READ),
        errors.UnknownServerError,
        "",
    ),
    "for whatever matches": (
        allowed(ResourceType.TOPIC, "t", "User:a", AclOperation.READ, pattern_type=PatternType.MATCH),
        errors.UnknownServerError,
        "",
    ),
    "neither allowed nor denied": (
        allowed(ResourceType.TOPIC, "t", "User:a", AclOperation.READ, AclPermissionType.ANY),
        errors.UnknownServerError,
        "",
    ),
}
REPLICAS = {
    "a move to an unknown broker": (moved(HERE, [9]), errors.InvalidReplicaAssignment, "broker 9"),
    "a move to a broker twice": (moved(HERE, [1, 1]), errors.InvalidReplicaAssignment, "more than once"),
    "a move to no broker": (moved(HERE, []), errors.InvalidReplicaAssignment, "empty replica list"),
    "a move of an unknown topic": (
        moved(TopicPartition("nobody-knows-it", 0), [1]),
        errors.UnknownTopicOrPartition,
        "topic named nobody-knows-it",
    ),
    "a move of an unknown partition": (
        moved(TopicPartition(TOPIC, 9), [1]),
        errors.UnknownTopicOrPartition,
        f"{TOPIC}:9",
    ),
    "the end of a move that is none": (moved(HERE, None), errors.NoReassignmentInProgress, ""),
    "an election where the leader is right": (elected(HERE), errors.ElectionNotNeeded, "not needed"),
    "an unclean one where there is a leader": (
        elected(HERE, ElectionType.UNCLEAN),
        errors.ElectionNotNeeded,
        "not needed",
    ),
    "an election in an unknown topic": (
        elected(TopicPartition("nobody-knows-it", 0)),
        errors.UnknownTopicOrPartition,
        "No such topic",
    ),
    "an election in an unknown partition": (
        elected(TopicPartition(TOPIC, 9)),
        errors.UnknownTopicOrPartition,
        "No such partition",
    ),
    "another dir that is none of the broker's": (
        lambda admin: admin.alter_replica_log_dirs({REPLICA: "/nowhere"}),
        errors.LogDirNotFound,
        "",
    ),
    "another dir that is no whole path": (
        lambda admin: admin.alter_replica_log_dirs({REPLICA: "nowhere"}),
        errors.LogDirNotFound,
        "",
    ),
    "a broker that was never there": (
        lambda admin: admin.unregister_broker(99),
        errors.BrokerIdNotRegistered,
        "",
    ),
}
FEATURES = {
    "one that nobody knows": (at_level(1, feature="no.such"), "does not support this feature"),
    "a level that is too high": (at_level(99), "Invalid update version 99"),
    "a level below zero": (at_level(-1), "cannot be less than 0"),
    "no level": (at_level(0), "Invalid update version 0"),
    "a lower level as if it were a higher one": (at_level(1), "Invalid update version 1"),
    "a level that is too low to be written": (at_level(1, UpgradeType.SAFE_DOWNGRADE), "1"),
    "a kind of change that is none": (at_level(7, UpgradeType.UNKNOWN), "Invalid update version 7"),
}
TRANSACTIONS = {
    "an unknown id": (lambda admin: admin.describe_transactions(["nobody"]), errors.TransactionalIdNotFound),
    "no id": (lambda admin: admin.describe_transactions([""]), errors.InvalidRequest),
    "the producer of no id": (lambda admin: admin.fence_producers([""]), errors.InvalidRequest),
    "more time than a transaction may have": (
        lambda admin: admin.fence_producers(["slow"], timeout=1e6),
        errors.InvalidTransactionTimeout,
    ),
}
OF_4_3 = {  # what 3.3 says, what 4.3 says
    "a token for who has not logged in": (
        lambda admin: admin.create_delegation_token(),
        errors.UnsupportedVersion,
        errors.DelegationTokenRequestNotAllowed,
    ),
    "tokens of others": (
        lambda admin: admin.describe_delegation_token(),
        errors.UnsupportedVersion,
        errors.DelegationTokenRequestNotAllowed,
    ),
    "more time for a token": (
        lambda admin: admin.renew_delegation_token(b"x"),
        errors.UnsupportedVersion,
        errors.DelegationTokenRequestNotAllowed,
    ),
    "the end of a token": (
        lambda admin: admin.expire_delegation_token(b"x"),
        errors.UnsupportedVersion,
        errors.DelegationTokenRequestNotAllowed,
    ),
    "a voter that is one": (
        lambda admin: admin.add_raft_voter(1, VOTER, [CONTROLLER]),
        errors.UnsupportedVersion,
        errors.DuplicateVoter,
    ),
    "a voter of another cluster": (
        lambda admin: admin.add_raft_voter(7, VOTER, [CONTROLLER], cluster_id="other"),
        errors.UnsupportedVersion,
        errors.InconsistentClusterId,
    ),
    "a voter that listens nowhere": (
        lambda admin: admin.add_raft_voter(7, VOTER, []),
        errors.UnsupportedVersion,
        errors.InvalidRequest,
    ),
    "a vote of who has none": (
        lambda admin: admin.remove_raft_voter(7, VOTER),
        errors.UnsupportedVersion,
        errors.VoterNotFound,
    ),
    "a vote of a voter's other disk": (
        lambda admin: admin.remove_raft_voter(1, VOTER),
        errors.UnsupportedVersion,
        errors.VoterNotFound,
    ),
    "a vote of no disk": (
        lambda admin: admin.remove_raft_voter(1, "AAAAAAAAAAAAAAAAAAAAAA"),
        errors.UnsupportedVersion,
        errors.InvalidRequest,
    ),
    "the only vote": (
        lambda admin: admin.remove_raft_voter(1, admin.describe_metadata_quorum().voters[0].directory_id),
        errors.UnsupportedVersion,
        errors.VoterNotFound,
    ),
    "an unknown share group": (
        lambda admin: admin.describe_share_groups(["nobody"]),
        errors.UnsupportedVersion,
        errors.GroupIdNotFound,
    ),
    "offsets of an unknown share group": (
        lambda admin: admin.delete_share_group_offsets("nobody", [TOPIC]),
        errors.UnsupportedVersion,
        errors.GroupIdNotFound,
    ),
    "an unknown streams group": (
        lambda admin: admin.describe_streams_groups(["nobody"]),
        errors.UnsupportedVersion,
        errors.GroupIdNotFound,
    ),
    "a description of no group": (
        lambda admin: admin.describe_groups([""]),
        errors.GroupIdNotFound,
        errors.InvalidGroupId,
    ),
    "configs of all groups": (
        described(ConfigResource.group("")),
        errors.InvalidRequest,
        errors.InvalidRequest,
    ),
    "an unknown config of a group": (
        changed(ConfigResource.group("g"), "no.such", 1),
        errors.InvalidRequest,
        errors.InvalidConfig,
    ),
    "a config of a group that is too low": (
        changed(ConfigResource.group("g"), "consumer.session.timeout.ms", 1),
        errors.InvalidRequest,
        errors.InvalidConfig,
    ),
    "an unknown config of metrics": (
        changed(ConfigResource.client_metrics("m"), "no.such", 1),
        errors.InvalidRequest,
        errors.InvalidRequest,
    ),
    "metrics that would come too often": (
        changed(ConfigResource.client_metrics("m"), "interval.ms", 5),
        errors.InvalidRequest,
        errors.InvalidRequest,
    ),
    "resources of an unknown kind": (
        lambda admin: admin.list_config_resources([99]),
        errors.UnsupportedVersion,
        errors.UnsupportedVersion,
    ),
    "transactions by a pattern that is none": (
        lambda admin: admin.list_transactions(transactional_id_pattern="("),
        errors.UnsupportedVersion,
        errors.InvalidRegularExpression,
    ),
    "a principal of an entry without its kind": (
        allowed(ResourceType.TOPIC, "t", "alice", AclOperation.READ),
        None,
        errors.InvalidRequest,
    ),
    "a quota of nothing": (limited({USER: "zero"}, producer_byte_rate=0), None, errors.InvalidRequest),
    "offsets at a time that stands for nothing": (
        lambda admin: admin.list_offsets({HERE: -7}),
        None,
        errors.UnsupportedVersion,
    ),
}


class TestRefusals:
    @pytest.mark.parametrize("what", TOPICS)
    def test_of_topics(self, admin, what):
        call, error, words = TOPICS[what]
        assert_refused(error_of(call, admin), error, words)

    @pytest.mark.parametrize("what", CONFIGS)
    def test_of_configs(self, admin, what):
        call, error, words = CONFIGS[what]
        assert_refused(error_of(call, admin), error, words)

    @pytest.mark.parametrize("what", GROUPS)
    def test_of_groups(self, admin, what):
        call, error, words = GROUPS[what]
        assert_refused(error_of(call, admin), error, words)

    @pytest.mark.parametrize("what", QUOTAS)
    def test_of_quotas(self, admin, what):
        call, words = QUOTAS[what]
        assert_refused(error_of(call, admin), errors.InvalidRequest, words)

    @pytest.mark.parametrize("what", SCRAM)
    def test_of_credentials(self, admin, is_newer, what):
        """3.3 has them with ZooKeeper alone."""
        call, error = SCRAM[what]
        assert_refused(error_of(call, admin), error if is_newer else errors.UnsupportedVersion)

    @pytest.mark.parametrize("what", REFUSED_BEFORE_ANYBODY_IS_ASKED)
    def test_of_what_no_broker_need_see(self, admin, what):
        call, error = REFUSED_BEFORE_ANYBODY_IS_ASKED[what]
        assert_refused(error_of(call, admin), error)

    @pytest.mark.parametrize("what", ACLS)
    def test_of_access_control_entries(self, admin, what):
        call, error, words = ACLS[what]
        assert_refused(error_of(call, admin), error, words)

    @pytest.mark.parametrize("what", REPLICAS)
    def test_of_replicas(self, admin, what):
        call, error, words = REPLICAS[what]
        assert_refused(error_of(call, admin), error, words)

    @pytest.mark.parametrize("what", FEATURES)
    def test_of_features(self, admin, what):
        call, words = FEATURES[what]
        assert_refused(error_of(call, admin), errors.InvalidUpdateVersion, words)

    @pytest.mark.parametrize("what", TRANSACTIONS)
    def test_of_transactions(self, admin, what):
        call, error = TRANSACTIONS[what]
        assert_refused(error_of(call, admin), error)

    @pytest.mark.parametrize("what", OF_4_3)
    def test_of_what_the_releases_differ_in(self, admin, is_newer, what):
        call, older, newer = OF_4_3[what]
        wanted = newer if is_newer else older
        if wanted is None:
            assert error_of(call, admin) is None
        else:
            assert_refused(error_of(call, admin), wanted)

    def test_a_time_that_is_up_before_anybody_can_answer(self, asked):
        with AdminClient(bootstrap_servers="127.0.0.1:1") as nobody, pytest.raises(errors.RequestTimedOut):
            nobody.list_topics(timeout=0.2)

    def test_a_closed_client_says_so(self, asked):
        client = AdminClient(bootstrap_servers=asked.bootstrap)
        client.list_topics()
        client.close()
        with pytest.raises(Exception, match="closed"):
            client.list_topics()


def assert_refused(error, wanted, words=""):
    assert type(error) is wanted, repr(error)
    assert words in str(error)


@pytest.fixture
def topic(admin, request):
    """One of two partitions, for a test that changes it."""
    name = f"own-{abs(hash(request.node.nodeid))}"
    admin.create_topic(name, 2, 1)
    until(lambda: name in admin.describe_topics([name]).values_ok)
    return name


def entry(admin, resource, name, **more):
    return admin.describe_configs([resource], names=[name], **more)[resource].get(name)


def change(admin, resource, *changes, **more):
    return admin.incremental_alter_configs({resource: [ConfigChange(*each) for each in changes]}, **more)


def produced(asked, place, count=1, **configs):
    with KafkaProducer(bootstrap_servers=asked.bootstrap, **configs) as producer:
        for number in range(count):
            producer.send(place.topic, b"v", partition=place.partition, timestamp_ms=1000 + number).result(SECONDS_MAX)


class TestTopics:
    def test_without_numbers_the_cluster_decides(self, admin):
        made = admin.create_topics(["by-default"])["by-default"]
        assert (made.partitions, made.replication) == (1, 1)

    def test_one_that_comes_back_has_another_id(self, admin, topic):
        before = admin.describe_topics([topic])[topic].topic_id
        admin.delete_topics([topic]).raise_any()
        until(lambda: topic not in admin.list_topics())
        assert admin.create_topic(topic, 1, 1).topic_id != before

    def test_the_same_name_asked_for_twice_has_one_outcome(self, admin):
        assert list(admin.create_topics(["named-twice", "named-twice"])) == ["named-twice"]

    def test_a_validation_finds_what_is_wrong_with_each(self, admin):
        found = admin.create_topics(["fine", NewTopic(TOPIC, 1, 1), NewTopic("a/b", 1, 1)], validate_only=True)
        assert set(found.values_ok) == {"fine"}
        assert {name: type(error) for name, error in found.errors.items()} == {
            TOPIC: errors.TopicAlreadyExists,
            "a/b": errors.InvalidTopicException,
        }

    def test_a_validation_of_more_partitions_adds_none(self, admin, topic):
        admin.create_partitions({topic: 9}, validate_only=True).raise_any()
        assert len(admin.describe_topics([topic])[topic].partitions) == 2

    def test_more_partitions_on_named_brokers(self, admin, topic):
        admin.create_partitions({topic: 4}, assignments={topic: [[1], [1]]}).raise_any()
        until(lambda: len(admin.describe_topics([topic])[topic].partitions) == 4)

    def test_an_empty_partition_begins_and_ends_at_once(self, admin, topic):
        place = TopicPartition(topic, 0)
        for when in (EARLIEST, LATEST):
            assert admin.list_offsets({place: when})[place].offset == 0
        assert admin.list_offsets({place: 0})[place].offset == -1

    def test_deleted_records_up_to_an_offset_twice(self, asked, topic):
        place = TopicPartition(topic, 1)
        produced(asked, place, 3)
        assert asked.admin.delete_records({place: 2})[place] == 2
        assert asked.admin.delete_records({place: 1})[place] == 2, "nothing comes back"
        assert asked.admin.list_offsets({place: 0})[place][:2] == (2, 1002)

    def test_a_description_without_names_is_empty(self, admin):
        assert dict(admin.describe_topics([])) == {}


class TestConfigs:
    def test_a_list_has_what_was_added_once(self, admin, topic):
        resource = ConfigResource.topic(topic)
        for _ in range(2):
            change(admin, resource, ("cleanup.policy", "compact", APPEND)).raise_any()
        until(lambda: sorted(entry(admin, resource, "cleanup.policy").value.split(",")) == ["compact", "delete"])
        change(admin, resource, ("cleanup.policy", "delete", SUBTRACT)).raise_any()
        until(lambda: entry(admin, resource, "cleanup.policy").value == "compact")

    def test_all_changes_of_a_resource_or_none(self, admin, topic):
        resource = ConfigResource.topic(topic)
        changes = [("retention.ms", 5), ("segment.ms", "soon")]
        assert isinstance(change(admin, resource, *changes).errors[resource], errors.InvalidConfig)
        change(admin, resource, ("segment.ms", 7)).raise_any()
        until(lambda: entry(admin, resource, "segment.ms").value == "7")
        assert entry(admin, resource, "retention.ms").source != "DYNAMIC_TOPIC_CONFIG"

    def test_a_wrong_resource_does_not_stop_the_others(self, admin, topic):
        right, wrong = ConfigResource.topic(topic), ConfigResource.topic("nobody-knows-it")
        done = admin.incremental_alter_configs({each: [ConfigChange("retention.ms", 5)] for each in (right, wrong)})
        assert set(done.values_ok) == {right} and set(done.errors) == {wrong}
        until(lambda: entry(admin, right, "retention.ms").value == "5")

    def test_to_delete_what_was_not_set_is_no_error(self, admin, topic):
        resource = ConfigResource.topic(topic)
        change(admin, resource, ("retention.ms", None, DELETE), ("no.such", None, DELETE)).raise_any()

    def test_no_change_at_all_is_no_error(self, admin, topic):
        change(admin, ConfigResource.topic(topic)).raise_any()

    def test_names_that_nobody_knows_are_not_told(self, admin, topic):
        resource = ConfigResource.topic(topic)
        assert admin.describe_configs([resource], names=["no.such"])[resource] == {}

    def test_without_being_asked_neither_synonyms_nor_documentation(self, admin):
        found = entry(admin, ConfigResource.topic(TOPIC), "segment.bytes")
        assert found.synonyms == () and found.documentation is None

    def test_synonyms_come_in_the_order_in_which_they_count(self, admin):
        everyone, one = ConfigResource.broker(), ConfigResource.broker(1)
        change(admin, everyone, ("log.cleaner.dedupe.buffer.size", 100_000_000)).raise_any()
        change(admin, one, ("log.cleaner.dedupe.buffer.size", 120_000_000)).raise_any()
        found = until(
            lambda: entry(admin, one, "log.cleaner.dedupe.buffer.size", synonyms=True),
            lambda told: told.value == "120000000" and len(told.synonyms) == 3,
        )
        assert [each.source for each in found.synonyms] == [
            "DYNAMIC_BROKER_CONFIG",
            "DYNAMIC_DEFAULT_BROKER_CONFIG",
            "DEFAULT_CONFIG",
        ]
        for resource in (everyone, one):
            change(admin, resource, ("log.cleaner.dedupe.buffer.size", None, DELETE)).raise_any()
        until(lambda: entry(admin, one, "log.cleaner.dedupe.buffer.size").is_default)

    def test_a_topic_follows_what_all_brokers_are_told(self, admin, topic):
        everyone, resource = ConfigResource.broker(), ConfigResource.topic(topic)
        change(admin, everyone, ("log.segment.delete.delay.ms", 54_321)).raise_any()
        found = until(lambda: entry(admin, resource, "file.delete.delay.ms"), lambda told: told.value == "54321")
        assert found.source == "DYNAMIC_DEFAULT_BROKER_CONFIG"
        change(admin, everyone, ("log.segment.delete.delay.ms", None, DELETE)).raise_any()
        until(lambda: entry(admin, resource, "file.delete.delay.ms").value != "54321")

    def test_what_was_given_at_the_start_is_told_as_such(self, admin):
        found = entry(admin, ConfigResource.broker(1), "offsets.topic.num.partitions")
        assert (found.value, found.source, found.is_read_only) == ("2", "STATIC_BROKER_CONFIG", True)

    def test_loggers_have_levels(self, admin):
        loggers = admin.describe_configs([ConfigResource.broker_logger(1)])[ConfigResource.broker_logger(1)]
        assert {each.source for each in loggers.values()} == {"DYNAMIC_BROKER_LOGGER_CONFIG"}
        assert {each.value for each in loggers.values()} <= {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"}

    def test_groups_have_some_in_4_3(self, admin, is_newer):
        resource = ConfigResource.group("configured")
        outcome = error_of(changed(resource, "consumer.session.timeout.ms", 50_000), admin)
        if not is_newer:
            assert_refused(outcome, errors.InvalidRequest)
            return
        told = until(lambda: entry(admin, resource, "consumer.session.timeout.ms"), lambda told: told.value == "50000")
        assert told.source == "DYNAMIC_GROUP_CONFIG"
        assert resource in admin.list_config_resources()

    def test_metrics_subscriptions_in_4_3(self, admin, is_newer):
        resource = ConfigResource.client_metrics("of-the-test")
        outcome = error_of(changed(resource, "interval.ms", 5000), admin)
        if not is_newer:
            assert_refused(outcome, errors.InvalidRequest)
            return
        told = until(lambda: entry(admin, resource, "interval.ms"), lambda told: told.value == "5000")
        assert told.source == "DYNAMIC_CLIENT_METRICS_CONFIG"
        assert resource in until(lambda: admin.list_config_resources([resource.kind]))

    def test_resources_of_one_kind_in_4_3(self, admin, is_newer):
        if not is_newer:
            assert_refused(error_of(admin.list_config_resources), errors.UnsupportedVersion)
            return
        found = admin.list_config_resources([ConfigResource.topic("").kind])
        assert ConfigResource.topic(TOPIC) in found
        assert {each.kind for each in found} == {ConfigResource.topic("").kind}


class TestGroups:
    def test_only_the_partitions_that_were_asked_for(self, admin):
        group = "asked-in-part"
        admin.alter_group_offsets(group, {TopicPartition(TOPIC, number): number for number in range(3)}).raise_any()
        wanted = [TopicPartition(TOPIC, 2), TopicPartition(TOPIC, 9)]
        assert admin.list_group_offsets({group: wanted})[group] == {wanted[0]: OffsetAndMetadata(2)}

    def test_another_offset_leaves_the_rest_alone(self, admin):
        group, other = "changed-in-part", TopicPartition(TOPIC, 1)
        admin.alter_group_offsets(group, {HERE: OffsetAndMetadata(1, "first"), other: 7}).raise_any()
        admin.alter_group_offsets(group, {HERE: OffsetAndMetadata(2, "second")}).raise_any()
        assert admin.list_group_offsets(group)[group] == {
            HERE: OffsetAndMetadata(2, "second"),
            other: OffsetAndMetadata(7),
        }

    def test_each_offset_has_its_own_outcome(self, admin):
        absent = TopicPartition(TOPIC, 9)
        done = admin.alter_group_offsets("in-part", {HERE: 1, absent: 1})
        assert set(done.values_ok) == {HERE} and set(done.errors) == {absent}

    def test_an_epoch_of_a_leader_is_kept(self, admin):
        admin.alter_group_offsets("with-epoch", {HERE: OffsetAndMetadata(1, "", 0)}).raise_any()
        assert admin.list_group_offsets("with-epoch")["with-epoch"] == {HERE: OffsetAndMetadata(1, "", 0)}

    def test_a_group_of_offsets_alone_is_empty(self, admin):
        found = admin.describe_groups([GROUP])[GROUP]
        assert (found.state, found.members, found.coordinator) == ("Empty", (), 1)

    def test_what_may_be_done_with_it_is_told_on_demand(self, admin):
        told = admin.describe_groups([GROUP], include_authorized_operations=True)[GROUP]
        assert {AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE} <= told.authorized_operations
        assert admin.describe_groups([GROUP])[GROUP].authorized_operations is None

    def test_a_deleted_one_has_no_offsets(self, admin):
        admin.alter_group_offsets("short-lived", {HERE: 1}).raise_any()
        assert dict(admin.delete_groups(["short-lived"])) == {"short-lived": None}
        assert admin.list_group_offsets("short-lived")["short-lived"] == {}
        assert isinstance(error_of(admin.delete_groups, ["short-lived"]), errors.GroupIdNotFound)

    def test_several_are_described_each_with_its_outcome(self, admin):
        found = admin.describe_groups([GROUP, "nobody"])
        assert set(found.values_ok) == {GROUP} and set(found.errors) == {"nobody"}

    def test_deleted_offsets_of_what_was_not_committed(self, admin):
        place = TopicPartition(TOPIC, 2)
        assert admin.delete_group_offsets(GROUP, [place])[place] is None

    def test_all_members_of_a_group_without_any(self, admin):
        assert dict(admin.remove_members_from_group(GROUP)) == {}

    def test_of_a_state_that_no_group_is_in(self, admin):
        assert GROUP not in admin.list_groups(states=["PreparingRebalance"])


class TestQuotas:
    def quotas(self, admin, *components, strict=False):
        return admin.describe_client_quotas(ClientQuotaFilter(components, strict))

    def set(self, admin, entity, **quotas):
        admin.alter_client_quotas({ClientQuotaEntity(entity): quotas}).raise_any()

    def test_they_are_set_told_and_removed(self, admin):
        entity = ClientQuotaEntity({USER: "alice"})
        self.set(admin, entity, producer_byte_rate=1000.0, consumer_byte_rate=2000.0)
        one = ClientQuotaFilterComponent(USER, QuotaMatch.EXACT, "alice")
        until(
            lambda: self.quotas(admin, one),
            lambda told: told == {entity: {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0}},
        )
        self.set(admin, entity, producer_byte_rate=None)
        until(lambda: self.quotas(admin, one), lambda told: told == {entity: {"consumer_byte_rate": 2000.0}})
        self.set(admin, entity, consumer_byte_rate=None)
        until(lambda: self.quotas(admin, one) == {})

    def test_those_of_the_default_user(self, admin):
        entity = ClientQuotaEntity({USER: None})
        self.set(admin, entity, request_percentage=12.5)
        default = ClientQuotaFilterComponent(USER, QuotaMatch.DEFAULT)
        until(lambda: self.quotas(admin, default), lambda told: told == {entity: {"request_percentage": 12.5}})
        self.set(admin, entity, request_percentage=None)

    def test_a_user_with_a_client_and_who_is_strict(self, admin):
        alone, both = ClientQuotaEntity({USER: "bob"}), ClientQuotaEntity({USER: "bob", "client-id": "his"})
        for entity in (alone, both):
            self.set(admin, entity, producer_byte_rate=5.0)
        bob = ClientQuotaFilterComponent(USER, QuotaMatch.EXACT, "bob")
        until(lambda: set(self.quotas(admin, bob)) == {alone, both})
        assert set(self.quotas(admin, bob, strict=True)) == {alone}

    def test_addresses_have_their_own(self, admin):
        entity = ClientQuotaEntity({IP: "10.0.0.1"})
        self.set(admin, entity, connection_creation_rate=3.0)
        of_addresses = ClientQuotaFilterComponent(IP)
        until(
            lambda: self.quotas(admin, of_addresses), lambda told: told == {entity: {"connection_creation_rate": 3.0}}
        )

    def test_a_validation_sets_nothing(self, admin):
        entity = ClientQuotaEntity({USER: "only-checked"})
        admin.alter_client_quotas({entity: {"producer_byte_rate": 5.0}}, validate_only=True).raise_any()
        assert entity not in admin.describe_client_quotas()

    def test_each_entity_has_its_own_outcome(self, admin):
        right, wrong = ClientQuotaEntity({USER: "right"}), ClientQuotaEntity({"planet": "x"})
        done = admin.alter_client_quotas({each: {"producer_byte_rate": 5.0} for each in (right, wrong)})
        assert set(done.values_ok) == {right} and set(done.errors) == {wrong}

    def test_to_remove_what_was_not_set_is_no_error(self, admin):
        self.set(admin, {USER: "nobody"}, producer_byte_rate=None)


class TestCredentials:
    def test_they_are_set_told_and_deleted_in_4_3(self, admin, is_newer):
        if not is_newer:
            assert_refused(error_of(admin.describe_user_scram_credentials), errors.UnsupportedVersion)
            return
        for mechanism in (SHA_256, SHA_512):
            wanted = UserScramCredentialUpsertion("carol", mechanism, "secret", 8192)
            admin.alter_user_scram_credentials([wanted]).raise_any()
        both = {ScramCredentialInfo(SHA_256, 8192), ScramCredentialInfo(SHA_512, 8192)}
        until(lambda: set(admin.describe_user_scram_credentials(["carol"]).values_ok.get("carol", ())) == both)
        admin.alter_user_scram_credentials([UserScramCredentialDeletion("carol", SHA_256)]).raise_any()
        until(
            lambda: admin.describe_user_scram_credentials()["carol"],
            lambda told: told == (ScramCredentialInfo(SHA_512, 8192),),
        )

    def test_each_user_has_an_outcome_in_4_3(self, admin, is_newer):
        wanted = [
            UserScramCredentialUpsertion("dave", SHA_256, "secret"),
            UserScramCredentialUpsertion("erin", SHA_256, "secret", 10),
        ]
        if not is_newer:
            assert_refused(error_of(admin.alter_user_scram_credentials, wanted), errors.UnsupportedVersion)
            return
        done = admin.alter_user_scram_credentials(wanted)
        assert set(done.values_ok) == {"dave"} and set(done.errors) == {"erin"}


class TestAccessControl:
    @pytest.fixture
    def principal(self, admin, request):
        """Somebody whose entries are gone afterwards: while there are any, others may be refused."""
        name = f"User:{abs(hash(request.node.nodeid))}"
        yield name
        admin.delete_acls([AclBindingFilter(principal=name)]).raise_any()

    def entries(self, admin, **filters):
        return set(admin.describe_acls(AclBindingFilter(**filters)))

    def test_an_entry_is_made_told_and_deleted(self, admin, principal):
        one = AclBinding(ResourceType.TOPIC, "orders", principal, AclOperation.READ, host="10.0.0.1")
        admin.create_acls([one]).raise_any()
        until(lambda: self.entries(admin, principal=principal) == {one})
        gone = admin.delete_acls([one.filter])[one.filter]
        assert dict(gone) == {one: None}
        until(lambda: self.entries(admin, principal=principal) == set())

    def test_one_that_is_made_twice_is_there_once(self, admin, principal):
        one = AclBinding(ResourceType.GROUP, "billing", principal, AclOperation.READ)
        for _ in range(2):
            admin.create_acls([one]).raise_any()
        until(lambda: self.entries(admin, principal=principal) == {one})

    def test_each_filter_narrows(self, admin, principal):
        read, write, denied = (
            AclBinding(ResourceType.TOPIC, "orders", principal, AclOperation.READ),
            AclBinding(ResourceType.TOPIC, "letters", principal, AclOperation.WRITE),
            AclBinding(ResourceType.GROUP, "billing", principal, AclOperation.READ, AclPermissionType.DENY),
        )
        admin.create_acls([read, write, denied]).raise_any()
        until(lambda: self.entries(admin, principal=principal) == {read, write, denied})
        assert self.entries(admin, principal=principal, operation=AclOperation.READ) == {read, denied}
        assert self.entries(admin, principal=principal, resource_type=ResourceType.TOPIC) == {read, write}
        assert self.entries(admin, principal=principal, permission_type=AclPermissionType.DENY) == {denied}
        assert self.entries(admin, principal=principal, resource_name="letters") == {write}

    def test_what_applies_to_a_name_is_found(self, admin, principal):
        literal, prefixed, every, other = (
            AclBinding(ResourceType.TOPIC, name, principal, AclOperation.READ, pattern_type=kind)
            for name, kind in (
                ("orders", PatternType.LITERAL),
                ("ord", PatternType.PREFIXED),
                ("*", PatternType.LITERAL),
                ("letters", PatternType.LITERAL),
            )
        )
        admin.create_acls([literal, prefixed, every, other]).raise_any()
        until(lambda: len(self.entries(admin, principal=principal)) == 4)
        asked = {"principal": principal, "resource_name": "orders", "resource_type": ResourceType.TOPIC}
        assert self.entries(admin, **asked, pattern_type=PatternType.MATCH) == {literal, prefixed, every}
        assert self.entries(admin, **asked, pattern_type=PatternType.LITERAL) == {literal}
        assert self.entries(admin, **asked, pattern_type=PatternType.PREFIXED) == set()

    def test_a_filter_that_matches_nothing_deletes_nothing(self, admin):
        nobody = AclBindingFilter(principal="User:nobody-at-all")
        assert dict(admin.delete_acls([nobody])[nobody]) == {}


class TestTransactions:
    @pytest.fixture
    def open_one(self, asked, topic):
        """A producer with a transaction that is open in one partition."""
        with KafkaProducer(bootstrap_servers=asked.bootstrap, transactional_id=topic, max_block_ms=20_000) as producer:
            producer.init_transactions(SECONDS_MAX)
            producer.begin_transaction()
            producer.send(topic, b"v", partition=0).result(SECONDS_MAX)
            yield producer

    def test_an_open_one_is_described(self, admin, topic, open_one):
        found = admin.describe_transactions([topic])[topic]
        assert (found.state, found.coordinator, found.partitions) == ("Ongoing", 1, {TopicPartition(topic, 0)})
        assert abs(found.start_time_ms - time.time() * 1000) < 600_000
        open_one.abort_transaction()

    def test_one_that_is_over_is_described(self, admin, topic, open_one):
        open_one.commit_transaction()
        found = until(lambda: admin.describe_transactions([topic])[topic], lambda told: told.state == "CompleteCommit")
        assert found.partitions == frozenset()

    def test_they_are_listed_by_state_and_producer(self, admin, topic, open_one):
        listed = admin.list_transactions(states=["Ongoing"])[topic]
        assert topic in admin.list_transactions(producer_ids=[listed.producer_id])
        assert topic not in admin.list_transactions(states=["Empty"])
        assert topic not in admin.list_transactions(producer_ids=[listed.producer_id + 100_000])
        open_one.abort_transaction()

    def test_states_that_nobody_knows_list_nothing(self, admin, topic, open_one):
        assert admin.list_transactions(states=["NoSuchState"]) == {}
        open_one.abort_transaction()

    def test_by_duration_and_pattern_in_4_3(self, admin, is_newer, topic, open_one):
        if is_newer:
            assert topic in admin.list_transactions(transactional_id_pattern="own-.*", states=["Ongoing"])
            assert admin.list_transactions(transactional_id_pattern="other-.*") == {}
            assert admin.list_transactions(duration_ms=3_600_000) == {}
        else:
            assert_refused(error_of(lambda: admin.list_transactions(duration_ms=1)), errors.UnsupportedVersion)
        open_one.abort_transaction()

    def test_the_producer_in_a_partition_is_described(self, admin, topic, open_one):
        place, idle = TopicPartition(topic, 0), TopicPartition(topic, 1)
        found = admin.describe_producers([place, idle])
        (state,) = found[place]
        assert (state.transaction_start_offset, state.last_sequence) == (0, 0)
        assert state.producer_id == admin.describe_transactions([topic])[topic].producer_id
        assert found[idle] == ()
        open_one.abort_transaction()
        until(lambda: admin.describe_producers([place])[place][0].transaction_start_offset is None)

    def test_at_the_end_of_what_is_committed_an_open_one_holds_up(self, admin, topic, open_one):
        place = TopicPartition(topic, 0)
        assert admin.list_offsets({place: LATEST})[place].offset == 1
        assert admin.list_offsets({place: LATEST}, committed_only=True)[place].offset == 0
        open_one.commit_transaction()
        until(lambda: admin.list_offsets({place: LATEST}, committed_only=True)[place].offset == 2)

    def test_an_admin_aborts_it_in_a_partition(self, admin, topic, open_one):
        place = TopicPartition(topic, 0)
        (state,) = admin.describe_producers([place])[place]
        admin.abort_transaction(AbortTransactionSpec(place, state.producer_id, state.producer_epoch, 0))
        until(lambda: admin.list_offsets({place: LATEST}, committed_only=True)[place].offset == 2)

    def test_a_fenced_producer_cannot_commit(self, admin, topic, open_one):
        before = admin.describe_transactions([topic])[topic]
        after = admin.fence_producers([topic])[topic]
        assert (after.producer_id, after.producer_epoch) > (before.producer_id, before.producer_epoch)
        until(lambda: admin.describe_transactions([topic])[topic].state in ("CompleteAbort", "Empty"))
        with pytest.raises(errors.ProducerFenced):
            open_one.commit_transaction(SECONDS_MAX)

    def test_one_is_ended_by_force(self, admin, topic, open_one):
        admin.force_terminate_transaction(topic)
        place = TopicPartition(topic, 0)
        until(lambda: admin.list_offsets({place: LATEST}, committed_only=True)[place].offset == 2)

    def test_each_id_has_its_own_outcome(self, admin, topic, open_one):
        found = admin.describe_transactions([topic, "nobody"])
        assert set(found.values_ok) == {topic} and set(found.errors) == {"nobody"}
        open_one.abort_transaction()


class TestReplicas:
    def test_a_move_to_where_it_is_is_done_at_once(self, admin):
        assert admin.alter_partition_reassignments({HERE: [1]})[HERE] is None
        until(lambda: admin.list_partition_reassignments() == {})

    def test_nothing_moves(self, admin):
        assert admin.list_partition_reassignments([HERE, TopicPartition("nobody-knows-it", 0)]) == {}

    def test_no_leader_is_wrong(self, admin):
        assert dict(admin.elect_leaders(ElectionType.PREFERRED)) == {}

    def test_each_partition_has_its_own_outcome(self, admin):
        absent = TopicPartition(TOPIC, 9)
        found = admin.elect_leaders(ElectionType.PREFERRED, [HERE, absent]).errors
        assert {place: type(error) for place, error in found.items()} == {
            HERE: errors.ElectionNotNeeded,
            absent: errors.UnknownTopicOrPartition,
        }

    def test_the_dirs_of_a_broker_hold_its_replicas(self, asked, topic):
        place = TopicPartition(topic, 0)
        produced(asked, place, 2)
        ((_, found),) = asked.admin.describe_log_dirs([1])[1].items()
        assert found.error is None and HERE in found.replicas
        assert found.replicas[place].size_bytes > 0
        assert (found.replicas[place].offset_lag, found.replicas[place].is_future) == (0, False)

    def test_the_dir_of_a_replica(self, admin):
        absent = TopicPartitionReplica("nobody-knows-it", 0, 1)
        found = admin.describe_replica_log_dirs([REPLICA, absent])
        (path,) = admin.describe_log_dirs([1])[1]
        assert found[REPLICA] == (path, 0, None, -1)
        assert found[absent] == (None, -1, None, -1)

    def test_a_replica_that_stays_in_its_dir(self, admin):
        (path,) = admin.describe_log_dirs([1])[1]
        assert admin.alter_replica_log_dirs({REPLICA: path})[REPLICA] is None


class TestCluster:
    def test_the_requests_that_a_node_takes(self, admin, is_newer):
        found = admin.describe_api_versions(node_id=1)
        assert found == admin.describe_api_versions()
        assert found[0].high == (13 if is_newer else 9) and found[18].low == 0
        assert (68 in found) == is_newer, "groups of the consumer protocol"

    def test_the_level_that_it_is_at(self, admin, is_newer):
        found = admin.describe_features(node_id=1)
        level = found.finalized["metadata.version"].high
        assert level == (30 if is_newer else 7)
        assert found.supported["metadata.version"].low <= level <= found.supported["metadata.version"].high
        assert found.finalized_epoch >= 0
        admin.update_features({"metadata.version": FeatureUpdate(level)}, validate_only=True).raise_any()

    def test_the_quorum_has_one_voter_who_leads(self, admin):
        found = admin.describe_metadata_quorum()
        assert found.leader_id == 1 and [voter.replica_id for voter in found.voters] == [1]
        assert found.high_watermark > 0 and found.observers == ()

    def test_no_broker_is_fenced_in_4_3(self, admin, is_newer):
        if is_newer:
            assert admin.describe_cluster(include_fenced_brokers=True).fenced == frozenset()
        else:
            assert_refused(
                error_of(lambda: admin.describe_cluster(include_fenced_brokers=True)), errors.UnsupportedVersion
            )

    def test_it_has_one_id_for_all_who_ask(self, asked):
        with AdminClient(bootstrap_servers=asked.bootstrap) as other:
            assert other.describe_cluster().cluster_id == asked.admin.describe_cluster().cluster_id


class TestShareGroups:
    """They came with 4.x: a broker of 3.3 has no such request."""

    def begins(self, admin, group):
        return {
            place: found.start_offset for place, found in admin.list_share_group_offsets({group: None})[group].items()
        }

    def test_where_one_begins_is_set_told_and_deleted(self, admin, is_newer):
        outcome = error_of(admin.alter_share_group_offsets, "shares", {HERE: 0, TopicPartition(TOPIC, 1): 5})
        if not is_newer:
            assert_refused(outcome, errors.UnsupportedVersion)
            return
        assert outcome is None
        assert self.begins(admin, "shares") == {HERE: 0, TopicPartition(TOPIC, 1): 5}
        admin.delete_share_group_offsets("shares", [TOPIC]).raise_any()
        assert self.begins(admin, "shares") == {}

    def test_one_without_members_is_described_and_deleted(self, admin, is_newer):
        if not is_newer:
            assert_refused(error_of(admin.describe_share_groups, ["idle-shares"]), errors.UnsupportedVersion)
            return
        admin.alter_share_group_offsets("idle-shares", {HERE: 0}).raise_any()
        found = admin.describe_share_groups(["idle-shares"])["idle-shares"]
        assert (found.state, found.members, found.coordinator) == ("Empty", (), 1)
        assert admin.list_groups(kinds=["share"])["idle-shares"].state == "Empty"
        admin.delete_groups(["idle-shares"]).raise_any()
        assert_refused(error_of(admin.describe_share_groups, ["idle-shares"]), errors.GroupIdNotFound)

    def test_each_partition_has_its_own_outcome(self, admin, is_newer):
        absent = TopicPartition("nobody-knows-it", 0)
        if not is_newer:
            assert_refused(error_of(admin.alter_share_group_offsets, "shares-2", {HERE: 0}), errors.UnsupportedVersion)
            return
        done = admin.alter_share_group_offsets("shares-2", {HERE: 0, absent: 0})
        assert set(done.values_ok) == {HERE} and type(done.errors[absent]) is errors.UnknownTopicOrPartition

    def test_the_kinds_do_not_mix(self, admin, is_newer):
        if not is_newer:
            assert_refused(error_of(admin.describe_share_groups, [GROUP]), errors.UnsupportedVersion)
            return
        assert_refused(error_of(admin.describe_share_groups, [GROUP]), errors.GroupIdNotFound)
        assert isinstance(error_of(admin.alter_share_group_offsets, GROUP, {HERE: 0}), errors.KafkaError)


class TestThreads:
    def test_many_calls_at_once(self, admin):
        with ThreadPoolExecutor(8) as pool:
            named = list(pool.map(lambda _: set(admin.list_topics()), range(20)))
            told = list(
                pool.map(lambda number: admin.list_offsets({TopicPartition(TOPIC, number % 3): LATEST}), range(20))
            )
        assert all(TOPIC in each for each in named)
        assert not any(each.errors for each in told)
