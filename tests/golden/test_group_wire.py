"""The group conversations of real clients with real brokers, sent to us: whole answers, with the ids of this run."""

import json
import time

import pytest

from odradek.protocol import whole
from odradek.protocol.json_form import to_json
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from started import broker
from wire_replay import CLOSED, PROPERTIES, Replay, SocketTarget, create_topic, frames_of, recordings

GROUP_APIS = {8, 9, 10, 11, 12, 13, 14, 15, 16, 42, 47}
RETRIABLE = {14, 15, 16}


class GroupReplay(Replay):
    """Only what concerns groups. A member id that was recorded stands for the one that this broker gave."""

    def __init__(self, release, ask):
        super().__init__(release, self._ask_with_ids)
        self._send = ask
        self.member_ids = {}
        self.compared = {}

    def _is_served(self, frame):
        return frame["api_key"] in GROUP_APIS

    def _ask_with_ids(self, connection, frame):
        for recorded, own in self.member_ids.items():
            assert len(recorded) == len(own), "the length before it would change"
            frame = frame.replace(recorded.encode(), own.encode())
        return self._send(connection, frame)

    def _both(self, ours, recorded, key, version):
        theirs = self._decoded(recorded, key, version)
        mine = CLOSED if ours == CLOSED else self._decoded(ours, key, version)
        if _codes(theirs) & RETRIABLE or (mine != CLOSED and _codes(mine) & RETRIABLE):
            return ("ok", "ok") if _codes(theirs) & RETRIABLE else ("asked again", mine)
        self._learn(theirs, mine)
        text = json.dumps(theirs)
        for known, own in self.member_ids.items():
            text = text.replace(known, own)
        self.compared[key] = self.compared.get(key, 0) + 1
        return self._comparable(json.loads(text), key, 0), self._comparable(mine, key, 1)

    def _learn(self, theirs, mine):
        if isinstance(theirs, dict) and theirs.get("memberId") and isinstance(mine, dict) and mine.get("memberId"):
            self.member_ids.setdefault(theirs["memberId"], mine["memberId"])


def _codes(form):
    if isinstance(form, list):
        return set().union(*map(_codes, form))
    if not isinstance(form, dict):
        return set()
    own = {value for name, value in form.items() if name == "errorCode"}
    return own.union(*(_codes(value) for value in form.values()))


def wait_for_coordinators(ask, path):
    """As a client does: looks for the coordinator, and asks again until it has loaded. Nothing is left of the group."""
    for frame in frames_of(path):
        if frame["dir"] == "request" and frame["api_key"] == FindCoordinatorRequest.api_key:
            request = whole.decode_request(bytes.fromhex(frame["hex"]))[1]
            names = request.coordinator_keys or [request.key]
            until_answered(ask, FindCoordinatorRequest(coordinator_keys=names), 4)
            until_answered(ask, DeleteGroupsRequest(groups_names=names), 2)


def until_answered(ask, request, version):
    header = RequestHeader(request_api_key=request.api_key, request_api_version=version, correlation_id=1)
    deadline_s = time.monotonic() + 20
    while True:
        answer = whole.decode_response(
            ask("set-up", b"".join(whole.encode_request(header, request))), request.api_key, version
        )[1]
        if not _codes(to_json(answer, version)) & RETRIABLE:
            return
        assert time.monotonic() < deadline_s, answer


@pytest.mark.parametrize("release", ["4.3", "3.3"])
def test_recorded_group_conversations(release):
    properties = {**PROPERTIES, "auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0"}
    with broker(release, properties) as address:
        set_up = SocketTarget(*address)
        create_topic(set_up.ask, "wire")
        paths = recordings(release, "group")
        assert paths
        for path in paths:
            wait_for_coordinators(set_up.ask, path)
            target = SocketTarget(*address)
            replay = GroupReplay(release, target.ask)
            differences = replay.run(path)
            target.close()
            assert not differences, f"{path.name}:\n" + "\n".join(map(str, differences))
            sent = {frame["api_key"] for frame in frames_of(path) if frame["dir"] == "request"}
            assert set(replay.compared) >= (sent & GROUP_APIS) - {FindCoordinatorRequest.api_key}, path.name
            assert {11, 14} <= set(replay.compared), path.name
        set_up.close()
