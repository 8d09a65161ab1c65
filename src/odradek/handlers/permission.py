"""What a whole request needs before its handler is called; the dispatcher asks for it."""

from typing import NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.security.acl import CLUSTER, CLUSTER_NAME, REFUSALS


class Permission(NamedTuple):
    operation: int
    resource_type: int
    name: str

    @property
    def refusal(self) -> type[KafkaError]:
        """The error of a request whose caller lacks this permission."""
        return REFUSALS[self.resource_type]


def on_cluster(operation: int) -> Permission:
    return Permission(operation, CLUSTER, CLUSTER_NAME)
