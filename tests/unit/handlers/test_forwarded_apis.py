"""Which requests a broker hands on to the controller, whoever asks and in whichever version."""

import pytest

from handler_kit import Handlers, Peer, broker, register
from odradek.protocol import registry, releases
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k19_create_topics import CreateTopicsRequest, CreateTopicsResponse
from odradek.security.principal import Principal

ALICE = Principal("User", "alice")
CERTIFIED = {  # a listener whose callers prove their names: nobody else may ask for delegation tokens
    "listeners": "PLAINTEXT://127.0.0.1:9092,CERTIFIED://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CERTIFIED:SSL,CONTROLLER:PLAINTEXT",
}
FORWARDED = {
    19: "CreateTopics",
    20: "DeleteTopics",
    30: "CreateAcls",
    31: "DeleteAcls",
    37: "CreatePartitions",
    38: "CreateDelegationToken",
    39: "RenewDelegationToken",
    40: "ExpireDelegationToken",
    43: "ElectLeaders",
    45: "AlterPartitionReassignments",
    46: "ListPartitionReassignments",
    49: "AlterClientQuotas",
    51: "AlterUserScramCredentials",
    55: "DescribeQuorum",
    57: "UpdateFeatures",
    64: "UnregisterBroker",
}


class Controlled(Handlers):
    """A broker with a controller beside it that notes who asks, and has nothing to say."""

    def __init__(self, monkeypatch, *requests, **options):
        super().__init__(broker(), **options)
        self.seen = []
        for request in requests:
            register(monkeypatch, request, self._answer, kind=releases.CONTROLLER)
        self.inter_broker.attach(releases.CONTROLLER, self.controller, "CONTROLLER")

    def _answer(self, call, request):
        self.seen.append((call.key, call.version, str(call.principal), call.client_id))
        return registry.response(call.key)()


@pytest.mark.contract("E54")
@pytest.mark.parametrize("key", FORWARDED, ids=FORWARDED.get)
def test_it_goes_to_the_controller_in_the_callers_name_and_version(monkeypatch, key):
    request = registry.request(key)
    handlers = Controlled(monkeypatch, request, static=CERTIFIED)
    version = handlers.services.release.api_versions(releases.BROKER)[key][1]
    handlers.ask(request(), version, Peer("CERTIFIED", ALICE))
    assert handlers.seen == [(key, version, "User:alice", "tester")]


@pytest.mark.contract("K9")
def test_a_topic_that_is_created_because_somebody_asks_is_created_in_its_name(monkeypatch):
    static = {"auto.create.topics.enable": "true"}
    handlers = Controlled(monkeypatch, CreateTopicsRequest, static=static)
    request = MetadataRequest(topics=[MetadataRequestTopic(name="new")])
    handlers.ask(request, 9, Peer(principal=ALICE))
    handlers.node.attend()
    assert handlers.world.run_until(lambda: handlers.seen, 1000)
    ((key, _, principal, client_id),) = handlers.seen
    assert (key, principal, client_id) == (CreateTopicsRequest.api_key, "User:alice", "tester")
    assert registry.response(key) is CreateTopicsResponse
