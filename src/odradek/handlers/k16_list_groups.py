"""ListGroups, versions 0-5: the groups that a broker coordinates, for admins, who ask every broker.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  same fields in the flexible encoding
     4  filter by state; state in the response
     5  filter by type; type in the response

Who may: DESCRIBE on the cluster for all groups, else those are listed that the caller may DESCRIBE.
Errors: COORDINATOR_LOAD_IN_PROGRESS while a partition of the offsets topic is being loaded.
"""

from odradek.coordinator.group.listing import GroupFilter
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol.messages.k16_list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from odradek.security.acl import CLUSTER, CLUSTER_NAME, DESCRIBE, GROUP


@serves(ListGroupsRequest, versions="0-5")
async def list_groups(call: BrokerCall, request: ListGroupsRequest) -> ListGroupsResponse:
    wanted = GroupFilter(tuple(request.states_filter), tuple(request.types_filter))
    groups: list[ListedGroup] = []
    for pending in call.services.groups.list_groups(wanted):
        groups += await pending
    if not call.authorize(DESCRIBE, CLUSTER, CLUSTER_NAME):
        groups = [group for group in groups if call.authorize(DESCRIBE, GROUP, group.group_id)]
    return ListGroupsResponse(groups=groups)
