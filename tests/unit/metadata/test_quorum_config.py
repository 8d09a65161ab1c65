"""Who the quorum is, from the `server.properties` that Kafka 3.3 and 4.3 ship."""

import pytest

from odradek.config import properties
from odradek.config.broker import TABLE
from odradek.config.errors import ConfigError
from odradek.config.parsed import parse
from odradek.metadata import quorum_config
from odradek.metadata.quorum_config import DynamicVoter, Voter, parse_dynamic_voters, quorum_of
from odradek.protocol.uuids import parse_uuid

COMBINED_3_3 = b"""
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
"""
COMBINED_4_3 = COMBINED_3_3.replace(
    b"controller.quorum.voters=1@localhost:9093", b"controller.quorum.bootstrap.servers=localhost:9093"
).replace(
    b"advertised.listeners=PLAINTEXT://localhost:9092",
    b"advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://ctl.example:9093",
)
DIRECTORY = "JEXY6aqzQY-32P5TStzaFg"


def config_of(data, release="4.3", **more):
    return parse(TABLE, {**properties.load(data), **more}, release)


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_a_fixed_quorum(release):
    config = config_of(COMBINED_3_3, release)
    quorum = quorum_of(config)
    assert quorum.voters == (Voter(1, "localhost", 9093),)
    assert quorum.bootstrap_servers == ()
    assert not quorum.is_dynamic
    assert quorum_config.is_controller(config)
    assert quorum_config.all_dirs(config) == ("/tmp/kraft-combined-logs",)


def test_a_quorum_that_may_change():
    config = config_of(COMBINED_4_3)
    quorum = quorum_of(config)
    assert quorum.is_dynamic
    assert quorum.bootstrap_servers == (("localhost", 9093),)
    voter = quorum_config.own_voter(config, bytes(16))
    assert [(e.name, e.host, e.port) for e in voter.endpoints] == [("CONTROLLER", "ctl.example", 9093)]


def test_several_voters_and_an_ipv6_address():
    given = {"controller.quorum.voters": "1@a:1,2@[::1]:2, 3@c:3"}
    assert quorum_of(config_of(COMBINED_3_3, **given)).voters == (
        Voter(1, "a", 1),
        Voter(2, "::1", 2),
        Voter(3, "c", 3),
    )


def test_an_address_without_a_host_is_this_one():
    voter = quorum_config.own_voter(config_of(COMBINED_3_3), bytes(16))
    assert [(e.name, e.host, e.port) for e in voter.endpoints] == [("CONTROLLER", "localhost", 9093)]


def test_the_dir_of_the_metadata_log_comes_first():
    config = config_of(COMBINED_3_3, **{"log.dirs": "/a,/b", "metadata.log.dir": "/b"})
    assert quorum_config.all_dirs(config) == ("/b", "/a")
    apart = config_of(COMBINED_3_3, **{"log.dirs": "/a,/b", "metadata.log.dir": "/m"})
    assert quorum_config.all_dirs(apart) == ("/m", "/a", "/b")


def test_initial_controllers():
    text = f"1@localhost:9093:{DIRECTORY}, 2@[::1]:9094:MvDxzVmcRsaTz33bUuRU6A"
    assert parse_dynamic_voters(text) == [
        DynamicVoter(1, "localhost", 9093, parse_uuid(DIRECTORY)),
        DynamicVoter(2, "::1", 9094, parse_uuid("MvDxzVmcRsaTz33bUuRU6A")),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "rubbish",
        "1@localhost:9093",
        "1@localhost:9093:JEXY",
        f"x@localhost:9093:{DIRECTORY}",
        f"1@localhost:99999:{DIRECTORY}",
        f"1@localhost:{DIRECTORY}",
        f"1@a:1:{DIRECTORY},1@b:2:{DIRECTORY}",
        "",
    ],
)
def test_initial_controllers_that_are_none(text):
    with pytest.raises(ConfigError):
        parse_dynamic_voters(text)
