"""ConsumerGroupHeartbeat and ConsumerGroupDescribe over a socket: who may, and where the protocol is not served."""

import pytest

from odradek.protocol import errors, whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from started import broker
from wire_replay import CLOSED, SocketTarget, create_topic


def ask(target, request, version=1):
    header = RequestHeader(request_api_key=request.api_key, request_api_version=version, correlation_id=1)
    answer = target.ask("only", b"".join(bytes(part) for part in whole.encode_request(header, request)))
    return answer if answer == CLOSED else whole.decode_response(answer, request.api_key, version)[1]


def joining(group="g"):
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m1",
        member_epoch=0,
        rebalance_timeout_ms=5000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )


@pytest.fixture
def target(request):
    release, properties = request.param
    with broker(release, properties) as address:
        made = SocketTarget(*address)
        yield made
        made.close()


@pytest.mark.parametrize("target", [("3.3", {})], indirect=True)
def test_a_3_3_does_not_know_them(target):
    assert ask(target, joining()) == CLOSED
    assert ask(target, ConsumerGroupDescribeRequest(group_ids=["g"])) == CLOSED


CLASSIC_ONLY = ("4.3", {"group.coordinator.rebalance.protocols": "classic"})


@pytest.mark.parametrize("target", [CLASSIC_ONLY], indirect=True)
def test_a_broker_may_serve_the_classic_protocol_alone(target):
    assert ask(target, joining()).error_code == errors.UnsupportedVersion.code
    described = ask(target, ConsumerGroupDescribeRequest(group_ids=["g"]))
    assert [group.error_code for group in described.groups] == [errors.UnsupportedVersion.code]


@pytest.mark.parametrize("target", [("4.3", {})], indirect=True)
def test_groups_that_cannot_be_described_come_first(target):
    create_topic(target.ask, "t")
    described = ask(target, ConsumerGroupDescribeRequest(group_ids=["nope", ""]))
    codes = {group.group_id: group.error_code for group in described.groups}
    assert codes[""] == errors.InvalidGroupId.code
    assert ask(target, joining(group="")).error_message == "GroupId can't be empty."
