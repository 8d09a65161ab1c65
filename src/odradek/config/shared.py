"""Configs beside security that brokers and clients have in common."""

from odradek.config import reasons
from odradek.config.definition import LOW, MEDIUM, row, section
from odradek.config.types import BOOLEAN, INT, LIST, LONG, STRING
from odradek.config.validators import ANY, NON_NULL, at_least, distinct, one_of

# fmt: off
ROWS = section(
    reasons.CLIENT,
    row("config.providers", LIST, (), distinct(), LOW,
        "The names of the providers that replace references such as ${file:...} in values.", only="4.3"),
    row("connections.max.idle.ms", LONG, 540000, ANY, MEDIUM,
        "How long a connection may stay silent before it is closed."),
    row("request.timeout.ms", INT, 30000, at_least(0), MEDIUM,
        "How long to wait for the answer to a request."),
    row("socket.connection.setup.timeout.ms", LONG, 10000, ANY, MEDIUM,
        "How long to wait for a connection at first; it doubles with each failure."),
    row("socket.connection.setup.timeout.max.ms", LONG, 30000, ANY, MEDIUM,
        "The longest wait for a connection to which repeated failures may lead."),
    row("metric.reporters", LIST, ("org.apache.kafka.common.metrics.JmxReporter",), distinct(), LOW,
        "Java classes that export the metrics.",
        in_3_3={"default": (), "validator": NON_NULL}, not_served=reasons.JAVA_REPORTERS),
    row("auto.include.jmx.reporter", BOOLEAN, True, ANY, LOW,
        "Added the JMX reporter by itself, in 3.4 to 3.9.", only="3.9", not_served=reasons.ONLY_3_9),
    row("metrics.num.samples", INT, 2, at_least(1), LOW,
        "How many samples a metric is computed over."),
    row("metrics.sample.window.ms", LONG, 30000, at_least(0), LOW,
        "The length of one sample of a metric."),
    row("metrics.recording.level", STRING, "INFO", one_of("INFO", "DEBUG", "TRACE"), LOW,
        "How fine the metrics are that are recorded."),
)
# fmt: on

SHARED = {row.name: row for row in ROWS}
