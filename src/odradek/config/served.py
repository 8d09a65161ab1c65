"""Which configs every client honours: those of its connections, of who it is, and of how long a call may take."""

from collections.abc import Set

from odradek.config.definition import Definition
from odradek.config.reasons import Reason

BY_ALL = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "connections.max.idle.ms",
        "default.api.timeout.ms",
        "metadata.max.age.ms",
        "metadata.recovery.strategy",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "sasl.jaas.config",
        "sasl.login.read.timeout.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
    }
)
PARTLY = {
    "sasl.mechanism": "no GSSAPI",
    "ssl.keystore.type": "PEM only",
    "ssl.truststore.type": "PEM only",
}


def marked(row: Definition, names: Set[str], otherwise: Reason) -> Definition:
    """The row of a client that honours the configs of these names."""
    return row.like(not_served=None if row.name in names else otherwise, partly=PARTLY.get(row.name))
