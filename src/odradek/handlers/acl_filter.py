"""Which access control entries a filter means."""

from odradek.metadata.acls import Acl
from odradek.protocol.vocabulary import AclOperation, AclPermissionType, PatternType, ResourceType

_, ANY, MATCH, LITERAL, PREFIXED = map(int, PatternType)
WILDCARD = "*"


class AclFilter:
    """The fields of DescribeAcls and DeleteAcls: ANY and null stand for whatever there is."""

    __slots__ = ("host", "operation", "pattern_type", "permission_type", "principal", "resource_name", "resource_type")

    def __init__(
        self,
        resource_type: int,
        resource_name: str | None,
        pattern_type: int,
        principal: str | None,
        host: str | None,
        operation: int,
        permission_type: int,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type

    @property
    def is_known(self) -> bool:
        """Whether every number stands for something; 0 is what a newer client's number reads as."""
        return (
            0 < self.resource_type < len(ResourceType)
            and 0 < self.pattern_type < len(PatternType)
            and 0 < self.operation < len(AclOperation)
            and 0 < self.permission_type < len(AclPermissionType)
        )

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._matches_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission_type in (ANY, acl.permission_type)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.pattern_type in (LITERAL, PREFIXED) and self.pattern_type != acl.pattern_type:
            return False
        if self.resource_name is None or self.resource_name == acl.resource_name:
            return True
        if self.pattern_type != MATCH:
            return False
        if acl.pattern_type == PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name == WILDCARD
