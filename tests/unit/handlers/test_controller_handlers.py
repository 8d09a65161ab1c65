"""The controller's listener: every API answers in every version, and asks for what the caller may."""

from typing import Any

import pytest

from controllers import Harness
from handler_kit import Rights, common_services
from odradek.handlers import table
from odradek.handlers.call import LocalConnection
from odradek.handlers.dispatch import Dispatcher
from odradek.handlers.services import ControllerServices
from odradek.protocol import errors, registry, releases
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages import k19_create_topics as k19
from odradek.protocol.messages import k20_delete_topics as k20
from odradek.protocol.messages import k31_delete_acls as k31
from odradek.protocol.messages import k37_create_partitions as k37
from odradek.protocol.messages import k44_incremental_alter_configs as k44
from odradek.protocol.messages import k52_vote as k52
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k38_create_delegation_token import CreateDelegationTokenRequest
from odradek.protocol.messages.k58_envelope import EnvelopeRequest
from odradek.protocol.messages.k80_add_raft_voter import AddRaftVoterRequest, Listener
from odradek.protocol.messages.k81_remove_raft_voter import RemoveRaftVoterRequest
from odradek.protocol.messages.principal import DefaultPrincipalData
from odradek.protocol.whole import decode_response, encode_request
from odradek.raft.core.voters import Voter, VoterEndpoint, VoterSet
from odradek.security import acl
from odradek.security.principal import ANONYMOUS, Principal
from raft_kit import Node

RAFT = (1, 52, 53, 54, 55, 59, 82)  # the quorum's own: tested with it


class Controller:
    def __init__(self, release: releases.Release = releases.RELEASE_4_3) -> None:
        self.harness = Harness(release=release)
        self.harness.quorum.is_leader = True
        self.harness.brokers(1)
        self.errors: list[BaseException] = []
        common = common_services(
            self.harness.loop,
            cluster_id=self.harness.core.cluster_id,
            raft=self.harness.quorum,
            release=release,
            on_error=lambda call, error: self.errors.append(error),
        )
        self.services = ControllerServices(common, controller=self.harness.controller)
        self.dispatcher = Dispatcher(self.services)

    def ask(self, request: Any, version: int, principal: Principal = ANONYMOUS) -> Any:
        """Over frames, as a peer would."""
        frame = memoryview(framed(request, version))
        answer = self.dispatcher.serve(LocalConnection(principal, "CONTROLLER", ("127.0.0.1", 1)), frame)
        parts = answer if isinstance(answer, list) else self.harness.done(answer)
        return decode_response(b"".join(parts)[4:], request.api_key, version)[1]


def framed(request: Any, version: int) -> bytes:
    header = RequestHeader(
        request_api_key=request.api_key, request_api_version=version, correlation_id=77, client_id="test"
    )
    return b"".join(encode_request(header, request))


@pytest.fixture
def controller() -> Controller:
    return Controller()


def own_apis(release: releases.Release) -> list[tuple[int, int]]:
    keys = [key for key in table.keys(releases.CONTROLLER) if key not in RAFT]
    own = [key for key in keys if ".controller." in table.module_of(releases.CONTROLLER, key)]
    return [(key, version) for key in own for version in table.accepted(release, releases.CONTROLLER, key)]


@pytest.mark.parametrize("release", releases.ALL, ids=lambda release: release.name)
@pytest.mark.parametrize("is_active", [True, False])
def test_every_api_answers_an_empty_request_in_every_version(release: releases.Release, is_active: bool) -> None:
    controller = Controller(release)
    if not is_active:
        controller.harness.quorum.lose_leadership()
    for key, version in own_apis(release):
        controller.ask(registry.request(key)(), version)
    assert controller.errors == []


def test_whoever_is_not_the_controller_says_so(controller: Controller) -> None:
    controller.harness.quorum.lose_leadership()
    topic = k19.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    response = controller.ask(k19.CreateTopicsRequest(topics=[topic]), 7)
    assert response.topics[0].error_code == 41
    more = [k37.CreatePartitionsTopic(name=name, count=3, assignments=None) for name in ("t", "u")]
    response = controller.ask(k37.CreatePartitionsRequest(topics=more), 3)
    assert [(item.name, item.error_code) for item in response.results] == [("t", 41), ("u", 41)]
    resource = k44.AlterConfigsResource(resource_type=2, resource_name="t")
    response = controller.ask(k44.IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert response.responses[0].error_code == 41
    for key in (56, 57, 62, 63, 64, 67, 70, 73):
        assert controller.ask(registry.request(key)(), 0 if key != 56 else 3).error_code == 41


# Who may


def test_topics_are_created_by_who_may(controller: Controller) -> None:
    controller.services.authorizer = Rights(
        (acl.CREATE, acl.TOPIC, "mine"), (acl.CREATE, acl.TOPIC, "seen"), (acl.DESCRIBE_CONFIGS, acl.TOPIC, "seen")
    )
    names = ["mine", "seen", "theirs"]
    request = k19.CreateTopicsRequest(
        topics=[k19.CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in names]
    )
    results = {topic.name: topic for topic in controller.ask(request, 7).topics}
    assert {name: topic.error_code for name, topic in results.items()} == {"mine": 0, "seen": 0, "theirs": 29}
    assert (results["mine"].topic_config_error_code, results["mine"].num_partitions) == (29, -1)
    assert (results["seen"].topic_config_error_code, results["seen"].num_partitions) == (0, 2)
    assert set(controller.harness.core.topics.by_name) == {"mine", "seen"}
    controller.services.authorizer = Rights((acl.CREATE, acl.CLUSTER, acl.CLUSTER_NAME))
    request = k19.CreateTopicsRequest(topics=[k19.CreatableTopic(name="any", num_partitions=1, replication_factor=1)])
    assert controller.ask(request, 7).topics[0].error_code == 0


def test_topics_are_deleted_by_who_may(controller: Controller) -> None:
    ids = {name: controller.harness.create(name).topic_id for name in ("mine", "known", "hidden")}
    controller.services.authorizer = Rights((acl.DELETE, acl.TOPIC, "mine"), (acl.DESCRIBE, acl.TOPIC, "known"))
    states = [k20.DeleteTopicState(topic_id=topic_id) for topic_id in ids.values()]
    states.append(k20.DeleteTopicState(name="hidden"))
    response = controller.ask(k20.DeleteTopicsRequest(topics=states), 6)
    assert sorted((item.name or "", item.error_code) for item in response.responses) == [
        ("", 29),
        ("", 100),
        ("hidden", 29),
        ("mine", 0),
    ]
    assert set(controller.harness.core.topics.by_name) == {"known", "hidden"}


def test_configs_and_partitions_are_changed_by_who_may(controller: Controller) -> None:
    for name in ("mine", "theirs"):
        controller.harness.create(name)
    controller.services.authorizer = Rights((acl.ALTER_CONFIGS, acl.TOPIC, "mine"), (acl.ALTER, acl.TOPIC, "mine"))
    config = k44.AlterableConfig(name="retention.ms", config_operation=0, value="5")
    resources = [
        k44.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
        for kind, name in ((2, "theirs"), (2, "mine"), (4, ""), (32, "g"))
    ]
    response = controller.ask(k44.IncrementalAlterConfigsRequest(resources=resources), 1)
    assert [item.error_code for item in response.responses] == [29, 0, 31, 30]
    more = [k37.CreatePartitionsTopic(name=name, count=3, assignments=None) for name in ("mine", "theirs")]
    response = controller.ask(k37.CreatePartitionsRequest(topics=more), 3)
    assert [(item.name, item.error_code) for item in response.results] == [("mine", 0), ("theirs", 29)]


def test_what_the_cluster_guards_is_refused_as_a_whole(controller: Controller) -> None:
    controller.services.authorizer = Rights()
    for key in (57, 62, 63, 64, 67, 70, 73):
        assert controller.ask(registry.request(key)(), 0).error_code == 31, key


@pytest.mark.parametrize("field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
def test_a_filter_with_a_code_that_stands_for_nothing_is_not_even_read(controller: Controller, field: str) -> None:
    known = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    for code in (0, 100):
        request = k31.DeleteAclsRequest(filters=[k31.DeleteAclsFilter(**{**known, field: code})])
        with pytest.raises(PeerProtocolError):
            controller.ask(request, 3)
    assert controller.ask(k31.DeleteAclsRequest(filters=[k31.DeleteAclsFilter(**known)]), 3)


# The quorum


class QuorumOfOne:
    """The listener of a controller whose quorum is real: one voter, which leads."""

    def __init__(self) -> None:
        self.node = Node(voters=VoterSet([Voter(1, endpoints=(VoterEndpoint("CTL", "host", 9093),))]))
        client = self.node.start()
        common = common_services(self.node.node.loop, raft=client)
        self.dispatcher = Dispatcher(ControllerServices(common, controller=None))

    def ask(self, request: Any, version: int) -> Any:
        caller = LocalConnection(ANONYMOUS, "CONTROLLER", ("127.0.0.1", 1))
        frame = memoryview(framed(request, version))
        answer = self.node.call(lambda: self.dispatcher.serve(caller, frame))
        parts = answer if isinstance(answer, list) else self.node.wait(answer)
        return decode_response(b"".join(parts)[4:], request.api_key, version)[1]


def test_a_vote_is_answered_by_the_quorum_in_the_version_of_the_request() -> None:
    quorum = QuorumOfOne()
    asked = k52.PartitionData(replica_epoch=1, replica_id=2, last_offset=99)
    request = k52.VoteRequest(topics=[k52.TopicData(topic_name="__cluster_metadata", partitions=[asked])])
    for version, places in ((0, []), (1, [(1, "host", 9093)]), (2, [(1, "host", 9093)])):
        response = quorum.ask(request, version)
        told = response.topics[0].partitions[0]
        assert (told.leader_id, told.leader_epoch, told.vote_granted) == (1, 1, False)
        assert [(at.node_id, at.host, at.port) for at in response.node_endpoints] == places


@pytest.mark.parametrize("key", [52, 53, 54, 59])
def test_what_is_not_about_the_metadata_log_is_refused_by_the_quorum(key: int) -> None:
    quorum = QuorumOfOne()
    for version in table.accepted(releases.RELEASE_4_3, releases.CONTROLLER, key):
        assert quorum.ask(registry.request(key)(), version).error_code == errors.InvalidRequest.code


# Envelope


def envelope(data: bytes, **fields: Any) -> EnvelopeRequest:
    principal = b"\x00\x00" + DefaultPrincipalData(type="User", name="alice").to_bytes(0)
    return EnvelopeRequest(
        **{
            "request_data": data,
            "request_principal": principal,
            "client_host_address": bytes([10, 0, 0, 9]),
            **fields,
        }
    )


@pytest.mark.contract("K8", "K10")
def test_a_forwarded_request_is_served_in_the_name_of_its_client(controller: Controller) -> None:
    seen = []

    class Watching(Rights):
        def authorize(self, call: Any, operation: int, resource_type: int, name: str) -> bool:
            seen.append((str(call.principal), call.address[0], call.client_id))
            return True

    controller.services.authorizer = Watching()
    request = k19.CreateTopicsRequest(topics=[k19.CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
    answer = controller.ask(envelope(framed(request, 5)), 0)
    assert answer.error_code == 0
    header, inner = decode_response(answer.response_data, 19, 5)
    assert (header.correlation_id, inner.topics[0].error_code) == (77, 0)
    assert ("User:alice", "10.0.0.9", "test") in seen
    assert "t" in controller.harness.core.topics.by_name


def test_what_an_envelope_may_not_hold(controller: Controller) -> None:
    good = framed(k19.CreateTopicsRequest(), 7)
    assert controller.ask(envelope(good, request_principal=b"\x00\x07abc"), 0).error_code == 97
    assert controller.ask(envelope(good, request_principal=None), 0).error_code == 97
    assert controller.ask(envelope(good, client_host_address=b"123"), 0).error_code == 42
    assert controller.ask(envelope(b"\x00"), 0).error_code == 42
    assert controller.ask(envelope(framed(registry.request(63)(), 0)), 0).error_code == 42, "never forwarded"
    assert controller.ask(envelope(framed(k19.CreateTopicsRequest(), 0)), 0).error_code == 35
    controller.harness.quorum.lose_leadership()
    topic = k19.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    answer = controller.ask(envelope(framed(k19.CreateTopicsRequest(topics=[topic]), 7)), 0)
    assert (answer.error_code, answer.response_data) == (41, None)


# What is not served yet


def test_delegation_tokens_and_voters(controller: Controller) -> None:
    response = controller.ask(CreateDelegationTokenRequest(), 2)
    assert (response.error_code, response.principal_name) == (61, "ANONYMOUS")
    disk = bytes(15) + b"\x01"
    controller.harness.quorum.voters = VoterSet([Voter(1, disk, (VoterEndpoint("CONTROLLER", "localhost", 9),))])
    elsewhere = Listener(name="ELSEWHERE", host="localhost", port=9)
    added = AddRaftVoterRequest(cluster_id=None, voter_id=5, voter_directory_id=disk, listeners=[elsewhere])
    assert controller.ask(added, 0).error_code == 42
    added.listeners[0].name = "CONTROLLER"
    assert controller.ask(added, 0).error_code == 7, "nobody has such a voter yet"
    added.voter_id = 1
    told = "ReplicaKey(id=1, directoryId=AAAAAAAAAAAAAAAAAAAAAQ)"
    answer = controller.ask(added, 0)
    assert answer.error_code == 126
    assert answer.error_message == f"The voter id for {told} is already part of the set of voters [{told}]."
    removed = RemoveRaftVoterRequest(cluster_id=None, voter_id=1, voter_directory_id=disk)
    answer = controller.ask(removed, 0)
    assert answer.error_code == 127
    assert answer.error_message == f"Cannot remove voter {told} from the set of voters [{told}]"
    controller.harness.quorum.kraft_version = 0
    assert controller.ask(added, 0).error_code == controller.ask(removed, 0).error_code == 35
    added.voter_directory_id = removed.voter_directory_id = bytes(16)
    assert controller.ask(added, 0).error_code == controller.ask(removed, 0).error_code == 42, "no directory"
    assert controller.ask(RemoveRaftVoterRequest(cluster_id="other", voter_id=5), 0).error_code == 104
