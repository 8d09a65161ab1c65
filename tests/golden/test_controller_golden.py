"""Error codes and words of the controller's APIs, beside those of a 3.3.2 and a 4.3.0, in the same order of requests.

The requests go to the dispatcher of the controller's listener; ids that are drawn anew are masked.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from handler_kit import common_services
from odradek.handlers.call import LocalConnection
from odradek.handlers.dispatch import Dispatcher
from odradek.handlers.services import ControllerServices
from odradek.protocol import apis, registry, releases
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.frames import METADATA
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k44_incremental_alter_configs import AlterableConfig, AlterConfigsResource
from odradek.protocol.whole import decode_response, encode_request
from odradek.security.principal import ANONYMOUS

HERE = Path(__file__).parent
from controllers import Harness  # noqa: E402 - lies with the unit tests of the controller

STATIC = {
    "log.index.size.max.bytes": "65536",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.retention.ms": "-1",
    "log.segment.delete.delay.ms": "1000",
    "super.users": "User:ANONYMOUS",
}
APIS = {
    *("CreateTopics", "DeleteTopics", "CreatePartitions", "IncrementalAlterConfigs", "AlterConfigs", "ElectLeaders"),
    *("AlterPartitionReassignments", "ListPartitionReassignments", "UnregisterBroker", "UpdateFeatures"),
    *("AlterUserScramCredentials", "AlterClientQuotas", "CreateAcls", "DeleteAcls", "AddRaftVoter"),
}
# What the controller does not decide: the broker answers these before it forwards.
BY_THE_BROKER = {"IncrementalAlterConfigs broker logger bad level"}
RELEASES = {"kafka_3_3_2": releases.RELEASE_3_3, "kafka_4_3_0": releases.RELEASE_4_3}
CLOSED = "connection closed"


def cases() -> list[dict[str, Any]]:
    with gzip.open(HERE / "data" / "behaviour.jsonl.gz", "rt") as file:
        every = [json.loads(line) for line in file]
    return [case for case in every if {item.get("api") for item in case["request"]} <= APIS and case["request"]]


class Broker:
    """A controller with the topics that the cases presuppose, and the dispatcher before it."""

    def __init__(self, release: releases.Release) -> None:
        self.release = release
        self.harness = Harness(release=release, **STATIC)
        self.harness.brokers(1)
        for name, partitions in (("t1", 1), ("t3", 3), ("a.b", 1)):
            assert self.harness.create(name, partitions).error_code == 0
        if release.name == "4.3":
            self.set_cluster_default("min.insync.replicas", "1")  # what a 4.3 writes at its first start
        common = common_services(
            self.harness.loop, cluster_id=self.harness.core.cluster_id, raft=self.harness.quorum, release=release
        )
        self.dispatcher = Dispatcher(ControllerServices(common, controller=self.harness.controller))

    def set_cluster_default(self, name: str, value: str) -> None:
        resource = AlterConfigsResource(
            resource_type=4, resource_name="", configs=[AlterableConfig(name=name, config_operation=0, value=value)]
        )
        outcomes = self.harness.run(lambda core: core.incremental_alter_configs([resource], validate_only=False))
        assert outcomes[0][1] is None

    def ask(self, item: dict[str, Any]) -> Any:
        api = next(api for api in apis.ALL if api.message == item["api"])
        version = item["version"]
        if api.key not in self.release.api_versions(releases.CONTROLLER):
            return CLOSED
        request = from_json(registry.request(api.key), item["body"], version)
        header = RequestHeader(request_api_key=api.key, request_api_version=version, correlation_id=1, client_id="test")
        frame = memoryview(b"".join(encode_request(header, request)))
        connection = LocalConnection(ANONYMOUS, "CONTROLLER", ("127.0.0.1", 1))
        try:
            answer = self.dispatcher.serve(connection, frame)
            parts = answer if isinstance(answer, list) else self.harness.done(answer)
        except PeerProtocolError:
            return CLOSED
        return to_json(decode_response(b"".join(parts)[4:], api.key, version)[1], version)


def masked(form: Any) -> Any:
    if isinstance(form, dict):
        return {key: "drawn" if key == "topicId" and form.get("errorCode") == 0 else masked(form[key]) for key in form}
    return [masked(item) for item in form] if isinstance(form, list) else form


def wanted(case: dict[str, Any], column: str) -> list[Any]:
    """One answer per request; a case that lists fewer answers than requests says nothing about its first ones."""
    answers = case[column]
    answers = answers if isinstance(answers, list) else [answers]
    return [None] * (len(case["request"]) - len(answers)) + answers


def sorted_acls(form: Any) -> Any:
    """Kafka tells matching entries in the order of a hash table."""
    if isinstance(form, dict):
        for result in form.get("filterResults", ()):
            result["matchingAcls"].sort(key=str)
    return form


@pytest.mark.parametrize("column", RELEASES)
def test_answers_are_those_of_kafka(column: str) -> None:
    broker = Broker(RELEASES[column])
    differences = []
    compared = 0
    for case in cases():
        requests = case.get("request_4_3_0") if column == "kafka_4_3_0" else None
        for item, expected in zip(requests or case["request"], wanted(case, column), strict=True):
            answer = broker.ask(item)
            if expected is None or case["case"] in BY_THE_BROKER:
                continue
            compared += 1
            if sorted_acls(masked(answer)) != sorted_acls(masked(expected)):
                differences.append(f"{case['case']}\n  kafka {masked(expected)}\n  ours  {masked(answer)}")
        broker.harness.core.validate()
    assert compared > 60
    assert not differences, "\n".join(differences)


# The metadata logs that Kafka left behind

LOGS = {
    "3.3.2-kraft-clean": releases.RELEASE_3_3,
    "3.3.2-kraft-unclean": releases.RELEASE_3_3,
    "4.3.0-kraft-clean": releases.RELEASE_4_3,
}


def records_of(name: str) -> list[tuple[Any, int]]:
    """Every data record of the metadata log, as Kafka has parsed it."""
    found = []
    with gzip.open(HERE / "data" / "logdirs" / f"kafka-{name}.segments.jsonl.gz", "rt") as file:
        for line in file:
            segment = json.loads(line)
            if "__cluster_metadata" in segment["file"] and segment["file"].endswith(".log"):
                records = [record for batch in segment["batches"] for record in batch["records"]]
                found += [record for record in records if "control_type" not in record]
    return [(METADATA.decode(bytes.fromhex(record["value"]))[0], record["offset"]) for record in found]


@pytest.mark.parametrize("name", LOGS)
def test_the_controller_takes_over_from_kafka(name: str) -> None:
    """All that its log says is known, and a new incarnation of the broker leads everything again, in a new epoch."""
    harness = Harness(release=LOGS[name])
    core = harness.core
    for record, offset in records_of(name):
        core.replay(record, offset)
    core.validate()
    assert len(core.topics.by_name) >= 16
    assert len(core.acls.by_key) == 3
    assert len(core.client_quotas.by_key) == 3
    before = {name: dict(topic.partitions) for name, topic in core.topics.by_name.items()}
    directories = list(core.cluster.brokers[1].directories)
    harness.is_own_lock_held = True
    harness.register(1, incarnation=9, log_dirs=directories)
    assert not harness.beat(1, current_metadata_offset=10**6).is_fenced
    core.validate()
    for topic_name, partitions in before.items():
        for index, old in partitions.items():
            new = core.topics.by_name[topic_name].partitions[index]
            assert (new.leader, new.isr, new.elr) == (1, (1,), ())
            assert new.leader_epoch > old.leader_epoch
