"""StreamsGroupDescribe, version 0: state, topology, members and tasks of streams groups, for admins (KIP-1071).

Who may: DESCRIBE on each group, and on each topic of its topology.
Errors, per group: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
UNSUPPORTED_VERSION, those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.described_groups import described_groups, failed
from odradek.handlers.k88_streams_group_heartbeat import demand_protocol
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k89_streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

_HIDDEN = "The described group uses topics that the client is not authorized to describe."


def refuse_describe(
    request: StreamsGroupDescribeRequest, error: errors.KafkaError, version: int
) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(
        groups=[failed(DescribedGroup, group_id, error) for group_id in request.group_ids]
    )


@serves(StreamsGroupDescribeRequest, versions="0-0", refuse=refuse_describe)
async def streams_group_describe(
    call: BrokerCall, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse:
    demand_protocol(call)
    describe = call.services.groups.describe_streams
    groups = await described_groups(call, request, DescribedGroup, describe, _topics, _HIDDEN)
    return StreamsGroupDescribeResponse(groups=groups)


def _topics(group: DescribedGroup) -> set[str]:
    """Every topic that the answer would name."""
    names: set[str] = set()
    for subtopology in (group.topology.subtopologies if group.topology is not None else None) or ():
        names.update(subtopology.source_topics)
        names.update(subtopology.repartition_sink_topics)
        for internal in (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics):
            names.add(internal.name)
    return names
