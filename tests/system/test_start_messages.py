"""What `odradek start` says of its configs: protection that is not there, configs without effect, waits without end."""

import os
import select

import pytest
from test_start import KRAFT_3_3, SERVER_4_3, answers, free_port, refused

from broker_process import START_SECONDS_MAX, STILL_STARTING, BrokerProcess

SCRAM_ONLY = """
listeners=SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms={mechanisms}
sasl.mechanism.inter.broker.protocol={first}
inter.broker.listener.name=SASL_PLAINTEXT
advertised.listeners=SASL_PLAINTEXT://127.0.0.1:{port}
listener.name.sasl_plaintext.plain.sasl.jaas.config=\\
    org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";
"""


def overridden(**configs):
    return [part for name, value in configs.items() for part in ("--override", f"{name.replace('_', '.')}={value}")]


def complaints(*arguments):
    """What a broker that starts has said on standard error, when it is stopped."""
    with BrokerProcess(*arguments) as broker:
        assert answers(broker.address)
        status, error = broker.stop()
    assert status == 0, error
    return error.splitlines()


# Protection that is not there


def test_an_authorizer_is_refused_in_one_line(tmp_path):
    data = tmp_path / "data"
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    line = refused("--data", str(data), *overridden(authorizer_class_name=authorizer), status=2)
    assert line.startswith(f"odradek: authorizer.class.name={authorizer} asks for protection that is not there: ")
    assert "everybody would be allowed everything; take it out, or" in line
    assert not (data / "meta.properties").exists()


def test_where_everybody_is_a_super_user_it_starts_and_says_so(tmp_path):
    told = complaints(
        "--data",
        str(tmp_path / "data"),
        *overridden(
            authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            allow_everyone_if_no_acl_found="true",
            super_users="User:ANONYMOUS",
        ),
    )
    assert len(told) == 1
    assert told[0].startswith("odradek: warning: authorizer.class.name=")
    assert "ACLs are stored and bind nobody" in told[0]


def sasl(tmp_path, mechanisms):
    file = tmp_path / "server.properties"
    more = SCRAM_ONLY.format(
        port=free_port(), controller=free_port(), mechanisms=mechanisms, first=mechanisms.partition(",")[0]
    )
    file.write_text(SERVER_4_3 + more)
    return ["--config", str(file), "--data", str(tmp_path / "data")]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "GSSAPI", "OAUTHBEARER"])
def test_a_listener_that_nobody_could_log_in_to_is_refused(tmp_path, mechanism):
    line = refused(*sasl(tmp_path, mechanism), listen=None, status=2)
    assert f"sasl.enabled.mechanisms={mechanism} on the listener SASL_PLAINTEXT" in line
    assert "set listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN" in line


def test_a_mechanism_beside_plain_is_a_warning(tmp_path):
    with BrokerProcess(*sasl(tmp_path, "PLAIN,SCRAM-SHA-256"), listen=None) as broker:
        status, error = broker.stop()
    assert status == 0
    offered = "the listener SASL_PLAINTEXT offers SASL/SCRAM-SHA-256"
    assert error == f"odradek: warning: {offered}, which is not served yet: only PLAIN is\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("principal.builder.class", "org.example.Names"),
        ("create.topic.policy.class.name", "org.example.Policy"),
        ("alter.config.policy.class.name", "org.example.Policy"),
        ("client.quota.callback.class", "org.example.Quotas"),
        ("delegation.token.secret.key", "hush"),
    ],
)
def test_plugins_that_protect_are_refused(tmp_path, name, value):
    line = refused("--data", str(tmp_path / "data"), "--override", f"{name}={value}", status=2)
    assert f"{name}=" in line and "asks for protection that is not there" in line
    assert "hush" not in line


# Configs without effect


def test_a_config_without_effect_is_one_line_with_its_reason(tmp_path):
    told = complaints(
        "--data",
        str(tmp_path / "data"),
        *overridden(num_replica_fetchers="4", replica_fetch_min_bytes="2", log_preallocate="true"),
        *overridden(background_threads="10"),  # the default: no word of it
    )
    assert told == [
        "odradek: warning: log.preallocate=true has no effect: no file is reserved before it is written",
        "odradek: warning: num.replica.fetchers=4, replica.fetch.min.bytes=2 have no effect: one node replicates "
        "nothing; several come with the cluster, which is not built",
    ]


@pytest.mark.parametrize(("release", "config"), [("3.3", KRAFT_3_3), ("4.3", SERVER_4_3)])
def test_kafkas_own_config_starts_without_a_word(tmp_path, release, config):
    file = tmp_path / "server.properties"
    file.write_text(config.replace("9093", str(free_port())))
    assert complaints("--config", str(file), "--release-version", release, "--data", str(tmp_path / "data")) == []


# Waits


def test_three_voters_are_refused_with_what_to_set(tmp_path):
    file = tmp_path / "server.properties"
    voters = "1@localhost:9093,2@localhost:9193,3@localhost:9293"
    file.write_text(KRAFT_3_3.replace("1@localhost:9093", voters))
    line = refused("--config", str(file), "--release-version", "3.3", "--data", str(tmp_path / "data"), status=2)
    assert "controller.quorum.voters names 3 voters" in line
    assert line.rstrip().endswith("set controller.quorum.voters=1@localhost:9093")


def test_groups_that_will_wait_are_told_of_where_the_ready_line_is(tmp_path):
    log = tmp_path / "server.log"
    told = complaints(
        "--data", str(tmp_path / "data"), "--log", str(log), *overridden(offsets_topic_replication_factor="3")
    )
    line = (
        "groups will wait: offsets.topic.replication.factor=3 needs as many brokers to create __consumer_offsets, "
        "and there is 1; set offsets.topic.replication.factor=1"
    )
    assert told == [f"odradek: warning: {line}"]
    assert f"WARN {line}" in log.read_text()


def test_a_start_that_waits_says_for_what_and_goes_on(tmp_path):
    """A pipe in the place of a file that is read at the start: it has no end until somebody writes it."""
    data = tmp_path / "data"
    with BrokerProcess("--data", str(data)) as broker:
        broker.stop()
    state = data / "__cluster_metadata-0" / "quorum-state"
    text = state.read_bytes()
    state.unlink()
    os.mkfifo(state)
    waiting = BrokerProcess("--data", str(data))
    try:
        told = line_of(waiting.process.stderr)
        assert told == f"{STILL_STARTING}waiting for the metadata log in {data} to be read\n"
        state.write_bytes(text)
        assert answers(waiting.wait_until_ready().address)
        assert waiting.stop() == (0, "")
    finally:
        waiting.kill()


def line_of(stream):
    assert select.select([stream], [], [], START_SECONDS_MAX)[0], "it says nothing"
    return stream.readline().decode()
