"""What is wrong with a heartbeat whatever the state of its group."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from odradek.coordinator.group.epochs.group import JOINING, LEAVING, LEAVING_STATIC
from odradek.protocol import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

_MEMBERS_PICK_THEIR_ID = 1  # the first version in which they do


class Caller(NamedTuple):
    """Who sends a heartbeat. `may_describe` says which topics an expression may find for it."""

    client_id: str
    client_host: str
    version: int = 1
    may_describe: "Callable[[str], bool]" = lambda name: True


def check(request: "ConsumerGroupHeartbeatRequest", version: int, assignors: Iterable[str]) -> None:
    if not request.member_id and (version >= _MEMBERS_PICK_THEIR_ID or request.member_epoch != JOINING):
        raise errors.InvalidRequest("MemberId can't be empty.")
    if not request.group_id:
        raise errors.InvalidRequest("GroupId can't be empty.")
    if request.instance_id == "":
        raise errors.InvalidRequest("InstanceId can't be empty.")
    if request.rack_id == "":
        raise errors.InvalidRequest("RackId can't be empty.")
    if request.member_epoch == JOINING:
        _check_joining(request)
    elif request.member_epoch == LEAVING_STATIC and request.instance_id is None:
        raise errors.InvalidRequest("InstanceId can't be null.")
    elif request.member_epoch < LEAVING_STATIC:
        raise errors.InvalidRequest("MemberEpoch is invalid.")
    if request.member_epoch not in (LEAVING, LEAVING_STATIC):
        _check_assignor(request.server_assignor, assignors)


def _check_joining(request: "ConsumerGroupHeartbeatRequest") -> None:
    if request.rebalance_timeout_ms == -1:
        raise errors.InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise errors.InvalidRequest("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise errors.InvalidRequest(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _check_assignor(name: str | None, assignors: Iterable[str]) -> None:
    if name is not None and name not in assignors:
        supported = ", ".join(assignors)
        raise errors.UnsupportedAssignor(f"ServerAssignor {name} is not supported. Supported assignors: {supported}.")
