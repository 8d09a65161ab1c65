"""A broker as a user would run one for every kind of client: plain, TLS, SASL/PLAIN, and SASL/PLAIN over TLS."""

import contextlib
import os
import socket
from pathlib import Path

from broker_process import BrokerProcess

TLS = Path(__file__).parents[1] / "data" / "tls"
STOP_SECONDS_MAX = 120  # a thousand logs are synced, on a disk that others may use
LISTENERS = {"plaintext": "PLAINTEXT", "ssl": "SSL", "sasl": "SASL_PLAINTEXT", "sasl_ssl": "SASL_SSL"}
USERS = 'user_alice="alice-secret"'
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners={listeners},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
num.partitions=3
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS;User:alice
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={login}
listener.name.sasl_ssl.plain.sasl.jaas.config={login}
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
"""


@contextlib.contextmanager
def broker(directory, release):
    """Yields what a client program is told: an address per listener. Its log must hold no unexpected error."""
    ports = _free_ports(len(LISTENERS) + 1)
    addresses = {name: f"127.0.0.1:{port}" for name, port in zip(LISTENERS, ports, strict=False)}
    login = f"org.apache.kafka.common.security.plain.PlainLoginModule required {USERS};"
    text = PROPERTIES.format(
        controller=ports[-1],
        listeners=",".join(f"{protocol}://{addresses[name]}" for name, protocol in LISTENERS.items()),
        data=directory / "data",
        login=login,
        keystore=TLS / "server.pem",
    )
    (directory / "server.properties").write_text(text)
    log = directory / "server.log"
    arguments = ["--config", directory / "server.properties", "--release-version", release, "--log", log]
    with BrokerProcess(*map(os.fspath, arguments), listen=None) as process:
        yield {"release": release, **addresses, "ca": os.fspath(TLS / "ca.pem")}
        process.process.terminate()
        _, complaints = process.process.communicate(timeout=STOP_SECONDS_MAX)
        assert process.process.returncode == 0
        strange = [line for line in complaints.decode().splitlines() if not line.startswith("odradek: warning: ")]
        assert not strange, strange
    unexpected = [line for line in log.read_text().splitlines() if "ERROR" in line or "Traceback" in line]
    assert not unexpected, f"{log}: {unexpected[:5]}"


def _free_ports(count):
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
