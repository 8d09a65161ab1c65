"""DescribeAcls, versions 0-3: the access control entries that match a filter, by resource.

     1  pattern type: literal or prefixed (KIP-290)
     2  same fields in the flexible encoding
     3  same fields; the resource type USER (KIP-373)

Who may: DESCRIBE on the cluster. Errors: SECURITY_DISABLED where no authorizer is configured;
UNSUPPORTED_VERSION where version 0 would have to tell of a prefix. A filter with numbers that stand for nothing closes
the connection.
"""

from odradek.handlers.acl_filter import LITERAL, AclFilter
from odradek.handlers.call import AnyCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.metadata.acls import Acl
from odradek.protocol import errors
from odradek.protocol.messages.k29_describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from odradek.security.acl import DESCRIBE


@serves(DescribeAclsRequest, versions="0-3", on="both", allow=on_cluster(DESCRIBE))
def describe_acls(call: AnyCall, request: DescribeAclsRequest) -> DescribeAclsResponse:
    wanted = _filter(request)
    if not call.services.configs.current.config["authorizer.class.name"]:
        raise errors.SecurityDisabled("No Authorizer is configured on the broker")
    found = [acl for acl in call.services.metadata.image.acls.by_id.values() if wanted.matches(acl)]
    if call.version == 0 and any(acl.pattern_type != LITERAL for acl in found):
        raise errors.UnsupportedVersion("Version 0 only knows literal resource names.")
    return DescribeAclsResponse(resources=_by_resource(found))


def _filter(request: DescribeAclsRequest) -> AclFilter:
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    if not wanted.is_known:
        raise errors.PeerProtocolError("the filter of DescribeAcls has numbers that stand for nothing", 0)
    return wanted


def _by_resource(found: list[Acl]) -> list[DescribeAclsResource]:
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in sorted(found):
        resource = resources.setdefault(
            acl[:3],
            DescribeAclsResource(
                resource_type=acl.resource_type, resource_name=acl.resource_name, pattern_type=acl.pattern_type
            ),
        )
        resource.acls.append(
            AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
        )
    return list(resources.values())
