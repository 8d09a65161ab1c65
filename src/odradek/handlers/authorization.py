"""What a principal may be allowed: operations on resources, in the numbers that the protocol gives them.

Until an authorizer is set everything is allowed, and the *authorized operations* that Metadata and its kin tell are all
those that make sense for the kind of resource.
"""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.protocol import errors

if TYPE_CHECKING:
    from odradek.handlers.call import Call

UNKNOWN, ANY, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(9)
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = range(9, 13)
CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = range(13, 16)

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(2, 8)
CLUSTER_NAME = "kafka-cluster"  # the cluster as a resource has always this name

# The operations that make sense on a resource: what an ACL may name, and what "all" amounts to.
OPERATIONS_OF: dict[int, tuple[int, ...]] = {
    TOPIC: (READ, WRITE, CREATE, DESCRIBE, DELETE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    CLUSTER: (CREATE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, ALTER, DESCRIBE),
    TRANSACTIONAL_ID: (DESCRIBE, WRITE, TWO_PHASE_COMMIT),
    DELEGATION_TOKEN: (DESCRIBE,),
    USER: (CREATE_TOKENS, DESCRIBE_TOKENS),
}

NOT_ASKED = -(2**31)  # what a response says where nobody asked for the authorized operations

REFUSALS: dict[int, type[errors.KafkaError]] = {
    TOPIC: errors.TopicAuthorizationFailed,
    GROUP: errors.GroupAuthorizationFailed,
    CLUSTER: errors.ClusterAuthorizationFailed,
    TRANSACTIONAL_ID: errors.TransactionalIdAuthorizationFailed,
    DELEGATION_TOKEN: errors.DelegationTokenAuthorizationFailed,
    USER: errors.DelegationTokenAuthorizationFailed,
}


class Authorizer(Protocol):
    def authorize(self, call: "Call", operation: int, resource_type: int, name: str) -> bool: ...


class Permission(NamedTuple):
    """What a whole request needs before its handler is asked; `refusal` is its answer without."""

    operation: int
    resource_type: int
    name: str

    @property
    def refusal(self) -> type[errors.KafkaError]:
        return REFUSALS[self.resource_type]


def on_cluster(operation: int) -> Permission:
    return Permission(operation, CLUSTER, CLUSTER_NAME)


def authorized_operations(call: "Call", resource_type: int, name: str) -> int:
    """The operations that the caller may do there, bit n for the operation n."""
    bits = 0
    for operation in OPERATIONS_OF[resource_type]:
        if call.authorize(operation, resource_type, name):
            bits |= 1 << operation
    return bits
