"""The windows over which quotas are measured, and what the broker measures about itself."""

from odradek.config.definition import CLUSTER_WIDE, LOW, READ_ONLY
from odradek.config.definition import broker_row as row
from odradek.config.shared import SHARED
from odradek.config.types import CLASS, INT
from odradek.config.validators import ANY, at_least

# fmt: off
ROWS = (
    row("quota.window.num", INT, 11, at_least(1), LOW, READ_ONLY,
        "How many samples a client quota is measured over."),
    row("quota.window.size.seconds", INT, 1, at_least(1), LOW, READ_ONLY,
        "The length of one sample of a client quota."),
    row("replication.quota.window.num", INT, 11, at_least(1), LOW, READ_ONLY,
        "How many samples a replication quota is measured over."),
    row("replication.quota.window.size.seconds", INT, 1, at_least(1), LOW, READ_ONLY,
        "The length of one sample of a replication quota."),
    row("alter.log.dirs.replication.quota.window.num", INT, 11, at_least(1), LOW, READ_ONLY,
        "How many samples the quota for moves between directories is measured over."),
    row("alter.log.dirs.replication.quota.window.size.seconds", INT, 1, at_least(1), LOW, READ_ONLY,
        "The length of one sample of the quota for moves between directories."),
    row("controller.quota.window.num", INT, 11, at_least(1), LOW, READ_ONLY,
        "How many samples the quota for controller mutations is measured over."),
    row("controller.quota.window.size.seconds", INT, 1, at_least(1), LOW, READ_ONLY,
        "The length of one sample of the quota for controller mutations."),
    row("client.quota.callback.class", CLASS, None, ANY, LOW, READ_ONLY,
        "A plugin that decides which quota applies to a client."),
    SHARED["metric.reporters"].like(update_mode=CLUSTER_WIDE, in_3_3={"default": (), "validator": ANY}),
    SHARED["auto.include.jmx.reporter"].like(update_mode=READ_ONLY),
    SHARED["metrics.num.samples"].like(update_mode=READ_ONLY),
    SHARED["metrics.sample.window.ms"].like(validator=at_least(1), update_mode=READ_ONLY),
    SHARED["metrics.recording.level"].like(validator=ANY, update_mode=READ_ONLY),
    row("telemetry.max.bytes", INT, 1048576, at_least(1), LOW, READ_ONLY,
        "The largest metrics push that is accepted from a client.", only="4.3"),
)
# fmt: on
