"""CreateAcls and DeleteAcls: entries by value, and entries that match a filter."""

from odradek.controller.state import ControllerState
from odradek.metadata.acls import Acl
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.errors import InvalidRequest, KafkaError, SecurityDisabled, UnknownServerError
from odradek.protocol.messages.k30_create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from odradek.protocol.messages.k31_delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from odradek.protocol.messages.metadata_cluster import RemoveAccessControlEntryRecord
from odradek.protocol.vocabulary import AclOperation, AclPermissionType, PatternType, ResourceType
from odradek.replicated.decision import Decision
from odradek.security.acl import CLUSTER, CLUSTER_NAME

UNKNOWN, ANY, MATCH, LITERAL, PREFIXED = map(int, PatternType)
WILDCARD = "*"


def create_acls(state: ControllerState, request: CreateAclsRequest) -> Decision[CreateAclsResponse]:
    _check_enabled(state)
    records: list[Message] = []
    results = []
    new: set[Acl] = set()
    for creation in request.creations:
        try:
            acl = _checked(state, creation)
        except KafkaError as error:
            message = None if isinstance(error, UnknownServerError) else error.message
            results.append(AclCreationResult(error_code=error.code, error_message=message))
            continue
        results.append(AclCreationResult())
        if not state.acls.has(acl) and acl not in new:
            new.add(acl)
            records.append(acl.record(state.new_id()))
    return Decision(state.versioned(records), CreateAclsResponse(results=results))


def delete_acls(state: ControllerState, request: DeleteAclsRequest) -> Decision[DeleteAclsResponse]:
    _check_enabled(state)
    removed: dict[bytes, RemoveAccessControlEntryRecord] = {}
    results = []
    for wanted in request.filters:
        matching = []
        for acl_id, acl in state.acls.by_key.items():
            if _matches(wanted, acl):
                removed[acl_id] = RemoveAccessControlEntryRecord(id=Uuid(acl_id))
                matching.append(DeleteAclsMatchingAcl(error_message=None, **acl._asdict()))
        results.append(DeleteAclsFilterResult(error_message=None, matching_acls=matching))
    return Decision(state.versioned(list(removed.values())), DeleteAclsResponse(filter_results=results))


def is_readable(creation: AclCreation) -> bool:
    """Whether every code is one that exists: Kafka does not even read a request with another one."""
    return (
        UNKNOWN < creation.resource_type < len(ResourceType)
        and UNKNOWN < creation.resource_pattern_type < len(PatternType)
        and UNKNOWN < creation.operation < len(AclOperation)
        and UNKNOWN < creation.permission_type < len(AclPermissionType)
    )


def is_readable_filter(wanted: DeleteAclsFilter) -> bool:
    return (
        UNKNOWN < wanted.resource_type_filter < len(ResourceType)
        and UNKNOWN < wanted.pattern_type_filter < len(PatternType)
        and UNKNOWN < wanted.operation < len(AclOperation)
        and UNKNOWN < wanted.permission_type < len(AclPermissionType)
    )


def _check_enabled(state: ControllerState) -> None:
    if not state.configs.layers.config.get("authorizer.class.name"):
        raise SecurityDisabled("No Authorizer is configured.")


def _checked(state: ControllerState, creation: AclCreation) -> Acl:
    if creation.resource_type == CLUSTER and creation.resource_name != CLUSTER_NAME:
        raise InvalidRequest(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not creation.resource_name:
        raise InvalidRequest("Invalid empty resource name")
    if ANY in (creation.resource_type, creation.operation, creation.permission_type):
        raise UnknownServerError()  # so does Kafka: an entry, unlike a filter, names one thing
    if creation.resource_pattern_type not in (LITERAL, PREFIXED):
        raise UnknownServerError()
    if state.release.behaviour.requires_principal_type and ":" not in creation.principal:
        raise InvalidRequest(
            f"Could not parse principal from `{creation.principal}` (no colon is present separating the principal type"
            " from the principal name)"
        )
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _matches(wanted: DeleteAclsFilter, acl: Acl) -> bool:
    return (
        wanted.resource_type_filter in (ANY, acl.resource_type)
        and wanted.operation in (ANY, acl.operation)
        and wanted.permission_type in (ANY, acl.permission_type)
        and wanted.principal_filter in (None, acl.principal)
        and wanted.host_filter in (None, acl.host)
        and _matches_name(wanted.pattern_type_filter, wanted.resource_name_filter, acl)
    )


def _matches_name(pattern_type: int, name: str | None, acl: Acl) -> bool:
    """MATCH finds every entry that would apply to a resource of this name."""
    if pattern_type not in (ANY, MATCH, acl.pattern_type):
        return False
    if name is None:
        return True
    if pattern_type != MATCH:
        return name == acl.resource_name
    if acl.pattern_type == PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, WILDCARD)
