"""What the flags of `odradek start` make of a server.properties."""

import argparse

import pytest

from odradek.cli.start import add_options, server_options

OWN_NAMES = """\
process.roles=broker,controller
node.id=1
listeners=INT://127.0.0.1:29090,SPX://127.0.0.1:29094,CTL://127.0.0.1:29091
advertised.listeners=INT://127.0.0.1:29090,SPX://127.0.0.1:29095
listener.security.protocol.map=INT:PLAINTEXT,SPX:SASL_PLAINTEXT,CTL:PLAINTEXT
controller.listener.names=CTL
controller.quorum.voters=1@127.0.0.1:29091
log.dirs=/data
"""


def options(tmp_path, text, *flags):
    path = tmp_path / "server.properties"
    path.write_text(text)
    parser = argparse.ArgumentParser()
    add_options(parser)
    return server_options(parser.parse_args(["--config", str(path), *flags])).properties


def test_listen_serves_the_listener_under_which_the_files_brokers_meet(tmp_path):
    text = OWN_NAMES + "inter.broker.listener.name=INT\n"
    values = options(tmp_path, text, "--listen", "127.0.0.1:0", "--data", "/elsewhere")
    assert values["listeners"] == "INT://127.0.0.1:0,CTL://127.0.0.1:29091"
    assert values["advertised.listeners"] == "INT://127.0.0.1:0"
    assert values["log.dirs"] == "/elsewhere"


def test_listen_names_its_own_listener_where_the_file_has_no_such_name(tmp_path):
    values = options(tmp_path, OWN_NAMES, "--listen", "127.0.0.1:0")
    assert values["listeners"] == "PLAINTEXT://127.0.0.1:0,CTL://127.0.0.1:29091"
    assert values["listener.security.protocol.map"].endswith(",PLAINTEXT:PLAINTEXT")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_without_listen_the_file_stands(tmp_path, host):
    text = OWN_NAMES.replace("127.0.0.1", host)
    assert options(tmp_path, text)["listeners"] == f"INT://{host}:29090,SPX://{host}:29094,CTL://{host}:29091"


@pytest.mark.parametrize(("flags", "voters"), [([], "1@127.0.0.1:9093"), (["node.id=7"], "7@127.0.0.1:9093")])
def test_without_a_file_a_3_3_is_its_own_voter_whatever_its_id(tmp_path, flags, voters):
    parser = argparse.ArgumentParser()
    add_options(parser)
    given = ["--data", str(tmp_path), "--release-version", "3.3", *(f"--override={flag}" for flag in flags)]
    assert server_options(parser.parse_args(given)).properties["controller.quorum.voters"] == voters
