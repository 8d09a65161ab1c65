"""Access control entries: described, created, deleted."""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.channel.core import ANY_BROKER
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.results import Results
from odradek.client.admin.routing import CONTROLLER_PASSING
from odradek.protocol.errors import KafkaError, raise_for
from odradek.protocol.messages.k29_describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from odradek.protocol.messages.k30_create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from odradek.protocol.messages.k31_delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from odradek.protocol.vocabulary import AclOperation, AclPermissionType, PatternType, ResourceType


class AclBinding(NamedTuple):
    """Who (`User:alice`) may do what on which resource, or may not."""

    resource_type: ResourceType
    resource_name: str
    principal: str
    operation: AclOperation
    permission_type: AclPermissionType = AclPermissionType.ALLOW
    host: str = "*"
    pattern_type: PatternType = PatternType.LITERAL

    @property
    def filter(self) -> "AclBindingFilter":
        """What matches this one alone."""
        return AclBindingFilter(*self)


class AclBindingFilter(NamedTuple):
    """Whatever is not given may be anything."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    principal: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY
    host: str | None = None
    pattern_type: PatternType = PatternType.ANY


async def describe_acls(
    asker: Asker,
    filter: AclBindingFilter = AclBindingFilter(),  # noqa: A002, B008 - Kafka's word; a tuple does not change
    *,
    timeout: float | None = None,
) -> list[AclBinding]:
    """Those that match, all of them without a filter. SecurityDisabled if the brokers have no authorizer."""
    request = DescribeAclsRequest(
        resource_type_filter=filter.resource_type,
        resource_name_filter=filter.resource_name,
        pattern_type_filter=filter.pattern_type,
        principal_filter=filter.principal,
        host_filter=filter.host,
        operation=filter.operation,
        permission_type=filter.permission_type,
    )

    async def attempt(timeout_ms: int) -> list[AclBinding]:
        response = await asker.send(ANY_BROKER, request, DescribeAclsResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        return [_described(resource, acl) for resource in response.resources for acl in resource.acls]

    return await asker.one(attempt, timeout=timeout)


async def create_acls(
    asker: Asker, acls: Iterable[AclBinding], *, timeout: float | None = None
) -> Results[AclBinding, None]:
    """One that is there already is no error."""

    async def attempt(some: list[AclBinding], timeout_ms: int) -> dict[AclBinding, KafkaError | None]:
        request = CreateAclsRequest(creations=[_creation(acl) for acl in some])
        response = await asker.send(ANY_BROKER, request, CreateAclsResponse, timeout_ms)
        return {
            acl: outcome(done.error_code, done.error_message, None)
            for acl, done in zip(some, response.results, strict=False)
        }

    return await asker.each(acls, attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def delete_acls(
    asker: Asker, filters: Iterable[AclBindingFilter], *, timeout: float | None = None
) -> Results[AclBindingFilter, Results[AclBinding, None]]:
    """By filter what it has matched, each with what became of it."""

    async def attempt(
        some: list[AclBindingFilter], timeout_ms: int
    ) -> dict[AclBindingFilter, Results[AclBinding, None] | KafkaError]:
        request = DeleteAclsRequest(filters=[_wanted(each) for each in some])
        response = await asker.send(ANY_BROKER, request, DeleteAclsResponse, timeout_ms)
        return {
            each: outcome(done.error_code, done.error_message, _deleted(done))
            for each, done in zip(some, response.filter_results, strict=False)
        }

    return await asker.each(filters, attempt, timeout=timeout, passing=CONTROLLER_PASSING)


def _described(resource: DescribeAclsResource, acl: AclDescription) -> AclBinding:
    return AclBinding(
        ResourceType(resource.resource_type),
        resource.resource_name,
        acl.principal,
        AclOperation(acl.operation),
        AclPermissionType(acl.permission_type),
        acl.host,
        PatternType(resource.pattern_type),
    )


def _creation(acl: AclBinding) -> AclCreation:
    return AclCreation(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        resource_pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _wanted(wanted: AclBindingFilter) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=wanted.resource_type,
        resource_name_filter=wanted.resource_name,
        pattern_type_filter=wanted.pattern_type,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission_type,
    )


def _deleted(result: DeleteAclsFilterResult) -> Results[AclBinding, None]:
    return Results(
        {_matched(each): outcome(each.error_code, each.error_message, None) for each in result.matching_acls}
    )


def _matched(acl: DeleteAclsMatchingAcl) -> AclBinding:
    return AclBinding(
        ResourceType(acl.resource_type),
        acl.resource_name,
        acl.principal,
        AclOperation(acl.operation),
        AclPermissionType(acl.permission_type),
        acl.host,
        PatternType(acl.pattern_type),
    )
