"""Conditions over several topic configs, and what the rules of the other tables are made of."""

from odradek.config.definition import Rule
from odradek.config.parsed import Config


def ordered(lower: str, upper: str, why: str) -> Rule:
    """`lower` must not exceed `upper`. A config that the release does not have breaks no rule."""

    def check(config: Config) -> str | None:
        low, high = config.get(lower), config.get(upper)
        if low is None or high is None or low <= high:
            return None
        return f"{lower} ({low}) must not be greater than {upper} ({high})"

    return Rule(why, check)


def within(value: str, lower: str, upper: str, why: str) -> tuple[Rule, Rule, Rule]:
    return ordered(lower, upper, why), ordered(lower, value, why), ordered(value, upper, why)


def _compaction_lags(config: Config) -> str | None:
    low, high = config["min.compaction.lag.ms"], config["max.compaction.lag.ms"]
    if low <= high:
        return None
    return f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"


def _local_retention_ms(config: Config) -> str | None:
    if not _is_tiered(config):
        return None
    local, total = config["local.retention.ms"], config["retention.ms"]
    return _within_total("local.retention.ms", local, "retention.ms", total)


def _local_retention_bytes(config: Config) -> str | None:
    if not _is_tiered(config):
        return None
    local, total = config["local.retention.bytes"], config["retention.bytes"]
    return _within_total("local.retention.bytes", local, "retention.bytes", total)


def _is_tiered(config: Config) -> bool:
    return config.release != "3.3" and bool(config["remote.storage.enable"])


def _within_total(local_name: str, local: int, total_name: str, total: int) -> str | None:
    """-2 follows the total, and a total of -1 is without limit: then the local part may be anything but unlimited."""
    if local == -2 or total == -1:
        return None
    if local == -1:
        return f"{local_name} must not be -1 as {total_name} is {total}"
    return f"{local_name} ({local}) must not be more than {total_name} ({total})" if local > total else None


TOPIC = (
    Rule("else no record could ever be compacted in time", _compaction_lags),
    Rule("a local copy cannot outlive the record", _local_retention_ms),
    Rule("the local part cannot be larger than the whole", _local_retention_bytes),
)
