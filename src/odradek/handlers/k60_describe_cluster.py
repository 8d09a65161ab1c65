"""DescribeCluster, versions 0-2: the nodes of the cluster, as reached by the listener of the connection.

     1  endpoint type: a controller tells of controllers (KIP-919)
     2  fenced brokers as well, if asked for (KIP-1073)

Who may: everybody; the authorized operations are those that the caller has. Errors: UNSUPPORTED_ENDPOINT_TYPE for an
unknown type, MISMATCHED_ENDPOINT_TYPE for that of the other kind of node (INVALID_REQUEST in version 0).
"""

from odradek.handlers.call import AnyCall, BrokerCall, ControllerCall
from odradek.handlers.cluster_nodes import brokers_on, controller_for_clients
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k60_describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.security.acl import CLUSTER, CLUSTER_NAME, NOT_ASKED

_BROKERS, _CONTROLLERS = 1, 2
_TYPE_NAMES = {_BROKERS: "BROKER", _CONTROLLERS: "CONTROLLER"}


@serves(DescribeClusterRequest, versions="0-2")
def describe_brokers(call: BrokerCall, request: DescribeClusterRequest) -> DescribeClusterResponse:
    _check_type(call, request, _BROKERS)
    brokers = [
        DescribeClusterBroker(
            broker_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack, is_fenced=broker.fenced
        )
        for broker, endpoint in brokers_on(call, include_fenced=request.include_fenced_brokers)
    ]
    return _described(call, request, _BROKERS, controller_for_clients(call), brokers)


@serves(DescribeClusterRequest, versions="0-2", on="controller")
def describe_controllers(call: ControllerCall, request: DescribeClusterRequest) -> DescribeClusterResponse:
    _check_type(call, request, _CONTROLLERS)
    found = [
        (controller.id, endpoint)
        for controller in call.services.metadata.image.cluster.controllers.values()
        for endpoint in controller.endpoints
        if endpoint.listener == call.listener
    ]
    nodes = [DescribeClusterBroker(broker_id=id_, host=endpoint.host, port=endpoint.port) for id_, endpoint in found]
    leader_id, _ = call.services.raft.leader_and_epoch
    return _described(call, request, _CONTROLLERS, -1 if leader_id is None else leader_id, nodes)


def _check_type(call: AnyCall, request: DescribeClusterRequest, own: int) -> None:
    wanted = request.endpoint_type
    if wanted not in _TYPE_NAMES:
        raise errors.UnsupportedEndpointType(f"Unsupported endpoint type {wanted}")
    if wanted != own:
        mismatch = errors.InvalidRequest if call.version == 0 else errors.MismatchedEndpointType
        raise mismatch(
            f"The request was sent to an endpoint of type {_TYPE_NAMES[own]}, "
            f"but we wanted an endpoint of type {_TYPE_NAMES[wanted]}"
        )


def _described(
    call: AnyCall, request: DescribeClusterRequest, kind: int, controller_id: int, nodes: list[DescribeClusterBroker]
) -> DescribeClusterResponse:
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        endpoint_type=kind,
        cluster_id=call.services.cluster_id,
        controller_id=controller_id,
        brokers=nodes,
        cluster_authorized_operations=call.authorized_operations(CLUSTER, CLUSTER_NAME) if asked else NOT_ASKED,
    )
