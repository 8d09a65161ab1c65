"""What may be done on which resources, and what is said to who may not."""

from odradek.protocol import errors
from odradek.protocol.vocabulary import AclOperation, ResourceType

_OPERATIONS = tuple(map(int, AclOperation))  # plain numbers: every request looks some of them up
UNKNOWN, ANY, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = _OPERATIONS[:9]
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = _OPERATIONS[9:13]
CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = _OPERATIONS[13:]

_, _, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = map(int, ResourceType)
CLUSTER_NAME = "kafka-cluster"  # the cluster as a resource has always this name

# The operations that make sense on each type of resource: what an ACL may name, and what ALL amounts to.
OPERATIONS_OF: dict[int, tuple[int, ...]] = {
    TOPIC: (READ, WRITE, CREATE, DESCRIBE, DELETE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    CLUSTER: (CREATE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, ALTER, DESCRIBE),
    TRANSACTIONAL_ID: (DESCRIBE, WRITE, TWO_PHASE_COMMIT),
    DELEGATION_TOKEN: (DESCRIBE,),
    USER: (CREATE_TOKENS, DESCRIBE_TOKENS),
}

# The error that a caller gets who may not do something on a resource of this type.
REFUSALS: dict[int, type[errors.KafkaError]] = {
    TOPIC: errors.TopicAuthorizationFailed,
    GROUP: errors.GroupAuthorizationFailed,
    CLUSTER: errors.ClusterAuthorizationFailed,
    TRANSACTIONAL_ID: errors.TransactionalIdAuthorizationFailed,
    DELEGATION_TOKEN: errors.DelegationTokenAuthorizationFailed,
    USER: errors.DelegationTokenAuthorizationFailed,
}

# A response tells the operations that its caller may do on a resource as an int32 with bit n for operation n.
NOT_ASKED = -(2**31)  # stands there when the request did not ask for them
