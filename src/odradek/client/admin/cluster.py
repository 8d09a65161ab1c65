"""The cluster as a whole: who is in it, and who leads it."""

from typing import NamedTuple

from odradek.channel.core import ANY_BROKER
from odradek.channel.node import Node
from odradek.client.admin.asking import Asker
from odradek.client.admin.by_version import from_version
from odradek.protocol.errors import raise_for
from odradek.protocol.messages.k60_describe_cluster import DescribeClusterRequest, DescribeClusterResponse

_FENCED_FROM = 2  # the version that tells of brokers that take no requests
NOT_TOLD = -(2**31)  # in the place of authorized operations that were not asked for


class ClusterDescription(NamedTuple):
    """`controller` is a broker that takes what is meant for the controller; None if there is none right now.
    `authorized_operations`: the numbers of the operations that the caller may do; None if they were not asked for.
    """

    cluster_id: str
    controller: Node | None
    nodes: tuple[Node, ...]
    fenced: frozenset[int]
    authorized_operations: frozenset[int] | None


async def describe_cluster(
    asker: Asker,
    *,
    include_authorized_operations: bool = False,
    include_fenced_brokers: bool = False,
    timeout: float | None = None,
) -> ClusterDescription:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=include_authorized_operations,
        include_fenced_brokers=include_fenced_brokers,
    )
    asked = from_version(_FENCED_FROM if include_fenced_brokers else 0, request, "listing fenced brokers")

    async def attempt(timeout_ms: int) -> ClusterDescription:
        response = await asker.send(ANY_BROKER, asked, DescribeClusterResponse, timeout_ms)
        raise_for(response.error_code, response.error_message)
        return _description(response)

    return await asker.one(attempt, timeout=timeout)


def operations(bits: int) -> frozenset[int] | None:
    """The numbers of the operations whose bits are set."""
    return None if bits == NOT_TOLD else frozenset(number for number in range(31) if bits >> number & 1)


def _description(response: DescribeClusterResponse) -> ClusterDescription:
    nodes = {each.broker_id: Node(each.broker_id, each.host, each.port, each.rack) for each in response.brokers}
    return ClusterDescription(
        response.cluster_id,
        nodes.get(response.controller_id),
        tuple(sorted(nodes.values())),
        frozenset(each.broker_id for each in response.brokers if each.is_fenced),
        operations(response.cluster_authorized_operations),
    )
