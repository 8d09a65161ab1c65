"""Errors as Kafka's tools show them: by the name of the Java exception, in Kafka's words where the broker sends none.

Programs look for these names and words in what a script prints.
"""

from odradek.protocol.errors import KafkaError

_PACKAGE = "org.apache.kafka.common.errors"
# Those whose exception is not named after the error.
_NAMES = {
    "UNKNOWN_SERVER_ERROR": "UnknownServerException",
    "CORRUPT_MESSAGE": "CorruptRecordException",
    "REQUEST_TIMED_OUT": "TimeoutException",
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorizationException",
    "GROUP_AUTHORIZATION_FAILED": "GroupAuthorizationException",
    "CLUSTER_AUTHORIZATION_FAILED": "ClusterAuthorizationException",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "TransactionalIdAuthorizationException",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": "DelegationTokenAuthorizationException",
    "TOPIC_ALREADY_EXISTS": "TopicExistsException",
    "INVALID_CONFIG": "InvalidConfigurationException",
    "INVALID_PRODUCER_ID_MAPPING": "InvalidPidMappingException",
    "INVALID_TRANSACTION_TIMEOUT": "InvalidTxnTimeoutException",
    "KAFKA_STORAGE_ERROR": "KafkaStorageException",
    "SASL_AUTHENTICATION_FAILED": "SaslAuthenticationException",
    "DELEGATION_TOKEN_AUTH_DISABLED": "DelegationTokenDisabledException",
    "NON_EMPTY_GROUP": "GroupNotEmptyException",
}
_WORDS = {
    "OFFSET_OUT_OF_RANGE": "The requested offset is not within the range of offsets maintained by the server.",
    "UNKNOWN_TOPIC_OR_PARTITION": "This server does not host this topic-partition.",
    "UNSUPPORTED_VERSION": "The version of API is not supported.",
    "CLUSTER_AUTHORIZATION_FAILED": "Cluster authorization failed.",
    "GROUP_AUTHORIZATION_FAILED": "Group authorization failed.",
    "TOPIC_AUTHORIZATION_FAILED": "Topic authorization failed.",
    "SECURITY_DISABLED": "Security features are disabled.",
    "LOG_DIR_NOT_FOUND": "The user-specified log directory is not found in the broker config.",
    "NON_EMPTY_GROUP": "The group is not empty.",
    "GROUP_ID_NOT_FOUND": "The group id does not exist.",
    "ELECTION_NOT_NEEDED": "Leader election not needed for topic partition.",
    "NO_REASSIGNMENT_IN_PROGRESS": "No partition reassignment is in progress.",
    "GROUP_SUBSCRIBED_TO_TOPIC": (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
    "BROKER_ID_NOT_REGISTERED": "The given broker ID was not registered.",
    "TRANSACTIONAL_ID_NOT_FOUND": "The transactionalId could not be found.",
}


def words(error: KafkaError) -> str:
    """What the broker said, else Kafka's sentence for the error, else ours."""
    if error.message != type(error).message:
        return error.message
    return _WORDS.get(error.name, error.message)


def exception_name(error: KafkaError) -> str:
    name = _NAMES.get(error.name) or "".join(map(str.capitalize, error.name.split("_")))
    return f"{_PACKAGE}.{name if name.endswith('Exception') else f'{name}Exception'}"


def as_java(error: KafkaError) -> str:
    """The first line of a stack trace."""
    return f"{exception_name(error)}: {words(error)}"
