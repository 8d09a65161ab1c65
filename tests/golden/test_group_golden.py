"""Groups as a real 3.3.2 and 4.3.0 answered for them, whole answers and not only codes, with the ids of this run."""

import gzip
import json
from pathlib import Path

import pytest

import differences
from behaviour_kit import _only_carried as only_carried
from broker_kit import SimBroker, SimClient
from odradek.protocol import apis, registry
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.sim.world import World

FILE = Path(__file__).parent / "data" / "behaviour.jsonl.gz"
RELEASES = {"3.3": "kafka_3_3_2", "4.3": "kafka_4_3_0"}


@pytest.fixture(scope="module")
def recorded():
    with gzip.open(FILE, "rt") as lines:
        return {row["case"]: row for row in map(json.loads, lines)}


class Player:
    """Plays recorded requests; ids that were recorded stand for those that this broker gives."""

    def __init__(self, release):
        self.release = release
        self.world = World(seed=1)
        properties = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}
        self.broker = SimBroker(self.world, release=release, properties=properties).wait_until_ready()
        self.client = self.connection()
        for name, count in (("t1", 1), ("t3", 4)):
            topic = CreatableTopic(name=name, num_partitions=count, replication_factor=1)
            assert self.client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 5).topics[0].error_code == 0
        find = registry.request(10)(key_type=0, coordinator_keys=["g"])
        self.client.ask_until(find, 4, lambda found: found.coordinators[0].error_code == 0)
        ready = registry.request(11)(group_id="ready", session_timeout_ms=1, member_id="", protocol_type="x")
        self.client.ask_until(ready, 2, lambda joined: joined.error_code == 26)
        self.ids = {}

    def connection(self):
        return SimClient(self.world, f"client{id(self)}", self.broker.address)

    def send(self, request, client=None):
        body = request["body"]
        text = json.dumps(body)
        for recorded_id, own in self.ids.items():
            text = text.replace(recorded_id, own)
        kind = registry.request(apis.by_name(request["api"]).key)
        version = request["version"]
        return (client or self.client).send(
            from_json(kind, only_carried(kind, json.loads(text), version), version), version
        )

    def play(self, request, expected=None, client=None):
        waiting = self.send(request, client)
        return self.check(waiting, request, expected)

    def check(self, waiting, request, expected):
        answer = to_json(self.client.wait(waiting), request["version"])
        if expected is not None:
            self._learn(expected, answer)
            text = json.dumps(expected, sort_keys=True)
            for recorded_id, own in self.ids.items():
                text = text.replace(recorded_id, own)
            assert _sorted(json.loads(text)) == _sorted(_without_client(answer)), request["api"]
        return answer

    def _learn(self, expected, answer):
        if expected.get("memberId") and answer.get("memberId"):
            self.ids.setdefault(expected["memberId"], answer["memberId"])
        if isinstance(expected.get("assignment"), dict) and answer.get("assignment"):
            rows = (each["assignment"]["topicPartitions"] for each in (expected, answer))
            for known, own in zip(*rows, strict=True):
                self.ids.setdefault(known["topicId"], own["topicId"])


def _without_client(answer):
    """The recorded client was called `raw` and came from 127.0.0.1."""
    for group in answer.get("groups", ()):
        for member in group.get("members", ()):
            member["clientId"], member["clientHost"] = "raw", "/127.0.0.1"
    return answer


def _sorted(form):
    """Members in any order: a hash map had them."""
    if isinstance(form, dict):
        return {name: _sorted(value) for name, value in form.items()}
    if isinstance(form, list):
        return sorted((_sorted(item) for item in form), key=lambda item: json.dumps(item, sort_keys=True))
    return form


def case_of(recorded, name, release):
    row = next(row for case, row in recorded.items() if case.startswith(name))
    requests = row["request_4_3_0"] if release == "4.3" and "request_4_3_0" in row else row["request"]
    return requests, row[RELEASES[release]]


@pytest.mark.parametrize("release", RELEASES)
def test_a_static_member_is_replaced_and_the_old_one_fenced(recorded, release):
    requests, answers = case_of(recorded, "static member", release)
    player = Player(release)
    for request, expected in zip(requests, answers.values(), strict=True):
        player.play(request, expected)


@pytest.mark.parametrize("release", RELEASES)
def test_a_pending_member_may_only_leave(recorded, release):
    requests, answers = case_of(recorded, "pending member", release)
    player = Player(release)
    first = player.play(requests[0])
    player.ids[requests[1]["body"]["memberId"]] = first["memberId"]
    for request, expected in zip(requests[1:], answers.values(), strict=True):
        player.play(request, expected)


@pytest.mark.parametrize("release", RELEASES)
def test_a_silent_member_expires(recorded, release):
    requests, answers = case_of(recorded, "member expires", release)
    player = Player(release)
    player.ids[requests[1]["body"]["memberId"]] = player.play(requests[0])["memberId"]
    assert player.play(requests[1])["errorCode"] == 0
    assert player.play(requests[2])["errorCode"] == 0
    player.world.run_for(7000)
    for request, expected in zip(requests[3:], answers.values(), strict=True):
        player.play(request, expected)


@pytest.mark.parametrize("release", RELEASES)
def test_a_rebalance_of_two_members(recorded, release):
    requests, answers = case_of(recorded, "rebalance of two", release)
    player = Player(release)
    other = player.connection()
    player.ids[requests[1]["body"]["memberId"]] = player.play(requests[0])["memberId"]
    assert player.play(requests[1])["errorCode"] == 0
    assert player.play(requests[2])["errorCode"] == 0
    second_id = requests[11]["body"]["memberId"]
    player.ids[second_id] = player.play(requests[3], client=other)["memberId"]
    second_join = {**requests[3], "body": {**requests[3]["body"], "memberId": second_id}}
    second = player.send(second_join, other)
    player.world.run_for(10)
    for index, name in (
        (4, "heartbeat of first during rebalance"),
        (5, "commit of first during rebalance"),
        (6, "sync of first during rebalance"),
        (7, "describe during rebalance"),
        (8, "rejoin of first"),
    ):
        player.play(requests[index], answers[name])
    player.check(second, second_join, answers["join of second"])
    player.play(requests[9], answers["old generation heartbeat"])
    leader_and_follower = answers["follower sync after leader sync"]
    for index, expected in zip((10, 11), leader_and_follower, strict=True):
        player.play(requests[index], expected)
    player.play(requests[12], answers["leave second"])
    player.play(requests[13], answers["heartbeat of first after leave"])


STORIES = ("static member", "pending member", "member expires", "rebalance of two")
SINGLE = (
    "JoinGroup session timeout",
    "JoinGroup empty protocol list",
    "JoinGroup empty protocol type",
    "Heartbeat unknown group",
    "SyncGroup unknown group",
    "SyncGroup v5 without",
    "LeaveGroup unknown group",
    "OffsetCommit to unknown group",
    "OffsetFetch unknown group",
    "OffsetFetch v8 with two groups",
    "DescribeGroups unknown",
    "ListGroups with bogus",
    "OffsetDelete unknown",
)


@pytest.mark.parametrize("release", RELEASES)
def test_what_groups_answer_that_are_not_there(recorded, release):
    player = Player(release)
    for name in SINGLE:
        requests, answers = case_of(recorded, name, release)
        row = next(row for case, row in recorded.items() if case.startswith(name))
        if release == "4.3" and "request_versions_4_3_0" in row:
            versions = row["request_versions_4_3_0"]
            requests = [{**request, "version": version} for request, version in zip(requests, versions, strict=True)]
        answers = answers if isinstance(answers, list) else [answers]
        for request, expected in zip(requests, answers, strict=True):
            player.play(request, expected)


HEARTBEATS = (
    "empty group",
    "no subscription on join",
    "no rebalance timeout on join",
    "owned partitions on join",
    "null owned partitions on join",
    "unknown assignor",
    "bad regex",
    "unknown member epoch 5",
    "epoch -3",
    "leave unknown",
    "static leave -2 without instance",
    "v0 empty member id gets one",
)


def test_what_heartbeats_of_the_consumer_protocol_are_answered_with(recorded):
    player = Player("4.3")
    for name in HEARTBEATS:
        (request,), expected = case_of(recorded, f"ConsumerGroupHeartbeat {name}", "4.3")
        player.play(request, expected)


def test_the_life_of_a_group_of_the_consumer_protocol(recorded):
    requests, answers = case_of(recorded, "ConsumerGroupHeartbeat life", "4.3")
    player = Player("4.3")
    for request, expected in zip(requests, answers.values(), strict=True):
        player.play(request, expected)


def test_every_recorded_case_of_groups_is_here(recorded):
    told = {*SINGLE, *STORIES, *(f"ConsumerGroupHeartbeat {name}" for name in (*HEARTBEATS, "life"))}
    of_groups = [name for name, row in recorded.items() if any(map(_is_of_groups, row["request"]))]
    assert len(of_groups) >= 30
    left_out = [name for name in of_groups if not name.startswith((*told, *differences.UNPLAYED))]
    assert left_out == ["ListGroups all"], "which lists what all cases before it have left"


def _is_of_groups(request):
    return "api" in request and apis.by_name(request["api"]).key in differences.GROUPS
