"""The settings of a broker whose clients log in with PLAIN, as those of the recorded brokers did."""

import socket

SASL = """\
process.roles=broker,controller
node.id=1
{quorum}:{controller}
controller.listener.names=CONTROLLER
listeners=CLIENT://127.0.0.1:0,CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.enabled.mechanisms=PLAIN
listener.name.client.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="admin" password="admin-secret" user_admin="admin-secret" user_alice="alice-secret";
"""

# With named voters a 4.3 has kraft.version 0; the recorded one was formatted as a standalone one.
QUORUM = {"3.3": "controller.quorum.voters=1@127.0.0.1", "4.3": "controller.quorum.bootstrap.servers=127.0.0.1"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def sasl_properties(release, directory):
    """The path of a server.properties."""
    path = directory / "server.properties"
    path.write_text(SASL.format(quorum=QUORUM[release], controller=free_port()))
    return path
