"""Configs that producers, consumers and admin clients have in common."""

from odradek.config import reasons
from odradek.config.definition import HIGH, LOW, MEDIUM, REQUIRED, row, section
from odradek.config.security import SECURITY
from odradek.config.shared import SHARED
from odradek.config.types import BOOLEAN, INT, INT_MAX, LIST, LONG, STRING
from odradek.config.validators import ANY, NON_NULL, at_least, between, distinct, one_of, one_of_ignoring_case

# fmt: off
ROWS = section(
    reasons.CLIENT,
    row("bootstrap.servers", LIST, REQUIRED, distinct(empty=False), HIGH,
        "The brokers to ask first, as host:port; they name all the others.",
        in_3_3={"default": (), "validator": NON_NULL}),
    row("client.dns.lookup", STRING, "use_all_dns_ips",
        one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"), MEDIUM,
        "Whether all addresses of a name are tried, or bootstrap names are replaced by their canonical "
        "ones first."),
    row("client.id", STRING, "", ANY, MEDIUM,
        "The name of this client in the brokers' logs, metrics and quotas. Without one it is made up: producer-1, "
        "consumer-GROUP-1 or adminclient-1, counted in each process."),
    row("metadata.max.age.ms", LONG, 300000, at_least(0), LOW,
        "How old metadata may get before it is fetched again, even if nothing seems to have changed."),
    row("metadata.recovery.strategy", STRING, "rebootstrap", one_of_ignoring_case("REBOOTSTRAP", "NONE"), LOW,
        "What to do when no known broker can be reached: start again from the bootstrap servers, or fail.",
        only="4.3"),
    row("metadata.recovery.rebootstrap.trigger.ms", LONG, 300000, at_least(0), LOW,
        "How long metadata may fail to arrive before the client starts again from the bootstrap servers.",
        only="4.3"),
    row("reconnect.backoff.ms", LONG, 50, at_least(0), LOW,
        "The first pause before a broker is connected to again."),
    row("reconnect.backoff.max.ms", LONG, 1000, at_least(0), LOW,
        "The longest pause to which repeated failures to connect may lead."),
    row("retries", INT, INT_MAX, between(0, INT_MAX), HIGH,
        "How often a request that may succeed later is sent again."),
    row("retry.backoff.ms", LONG, 100, at_least(0), LOW,
        "The first pause before a failed request is sent again."),
    row("retry.backoff.max.ms", LONG, 1000, at_least(0), LOW,
        "The longest pause to which repeated failures of a request may lead.", only="4.3"),
    row("send.buffer.bytes", INT, 131072, at_least(-1), MEDIUM,
        "The size asked for the kernel's send buffer; -1 leaves it to the kernel."),
    row("receive.buffer.bytes", INT, 32768, at_least(-1), MEDIUM,
        "The size asked for the kernel's receive buffer; -1 leaves it to the kernel."),
    row("security.protocol", STRING, "PLAINTEXT",
        one_of_ignoring_case("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"), MEDIUM,
        "The security protocol spoken with the brokers.",
        in_3_3={"validator": one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")}),
    row("sasl.mechanism", STRING, "GSSAPI", ANY, MEDIUM,
        "The SASL mechanism to log in with."),
    row("enable.metrics.push", BOOLEAN, True, ANY, LOW,
        "Sends client metrics to the cluster when it asks for them.", only="4.3"),
    row("interceptor.classes", LIST, (), distinct(), LOW,
        "The interceptors that see each record on its way, in order.", in_3_3={"validator": NON_NULL}),
    row("default.api.timeout.ms", INT, 60000, at_least(0), MEDIUM,
        "How long a call without a timeout of its own may take."),
)
# fmt: on

COMMON = {**SECURITY, **SHARED, **{row.name: row for row in ROWS}}
