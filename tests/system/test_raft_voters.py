"""UpdateRaftVoter as a quorum of one answers it: what a Kafka 4.3.0 said to the same questions is in the table.

To the leader's own voter Kafka gives no answer, but stops.
"""

import socket

import pytest

import hostile_peers as hostile
from broker_process import BrokerProcess
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k82_update_raft_voter import KRaftVersionFeature, Listener, UpdateRaftVoterRequest
from odradek.protocol.uuids import parse_uuid

NONE_OF_IT = KRaftVersionFeature(min_supported_version=0, max_supported_version=0)
ANSWERS = [
    ({"cluster_id": "AAAAAAAAAAAAAAAAAAAAAA"}, 104),
    ({"cluster_id": None}, 104),
    ({"current_leader_epoch": 0}, 74),
    ({"current_leader_epoch": 9}, 75),
    ({"voter_id": 77}, 127),
    ({"voter_id": -1}, 42),
    ({"voter_directory_id": Uuid(bytes(range(16)))}, 127),
    ({"voter_directory_id": Uuid(bytes(16))}, 42),
    ({"listeners": []}, 42),
    ({"listeners": [Listener(name="OTHER", host="127.0.0.1", port=1)]}, 42),
    ({"k_raft_version_feature": NONE_OF_IT}, 42),
    ({}, 42),
]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    data = tmp_path_factory.mktemp("voters") / "data"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    listeners = f"listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}"
    with BrokerProcess("--data", str(data), "--override", listeners, listen=None) as started:
        started.controller = ("127.0.0.1", port)
        meta = dict(line.split("=", 1) for line in (data / "meta.properties").read_text().splitlines() if "=" in line)
        started.directory_id = Uuid(parse_uuid(meta["directory.id"]))
        yield started
        assert started.stop() == (0, "")


@pytest.mark.parametrize(("fields", "code"), ANSWERS)
def test_every_answer_that_one_voter_has(broker, fields, code):
    whole = {
        "cluster_id": broker.cluster,
        "current_leader_epoch": 1,
        "voter_id": 1,
        "voter_directory_id": broker.directory_id,
        "listeners": [Listener(name="CONTROLLER", host="127.0.0.1", port=broker.controller[1])],
        "k_raft_version_feature": KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    }
    answer = hostile.ask(broker.controller, UpdateRaftVoterRequest(**{**whole, **fields}), 0)
    assert answer.error_code == code
    leader = answer.current_leader
    assert (leader.leader_id, leader.leader_epoch, leader.host, leader.port) == (1, 1, *broker.controller)
