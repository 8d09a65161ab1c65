"""Conditions over several client configs, each with its reason in one line."""

from odradek.config.definition import Rule
from odradek.config.parsed import Config
from odradek.config.types import INT_MAX

_IN_FLIGHT_MAX = 5  # how many batches per partition a broker remembers of a producer
_SHARE_ONLY = ("share.acknowledgement.mode", "share.acquire.mode")
_NOT_WITH_SHARE = (  # as Kafka refuses them
    "auto.offset.reset",
    "enable.auto.commit",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "interceptor.classes",
    "isolation.level",
    "partition.assignment.strategy",
    "session.timeout.ms",
)
_CLASSIC_ONLY = ("heartbeat.interval.ms", "session.timeout.ms", "partition.assignment.strategy")


def _delivery_timeout(config: Config) -> str | None:
    least = min(config["linger.ms"] + config["request.timeout.ms"], INT_MAX)
    if config["delivery.timeout.ms"] >= least or "delivery.timeout.ms" not in config.given:
        return None
    return "delivery.timeout.ms must be at least linger.ms + request.timeout.ms"


def is_idempotent(config: Config) -> bool:
    """On by default, and given up without a word when another config that was set contradicts it."""
    return bool(config["enable.idempotence"]) and _against_idempotence(config) is None


def _against_idempotence(config: Config) -> str | None:
    if config["acks"] not in ("all", "-1"):
        return "acks must be all for enable.idempotence"
    if config["retries"] == 0:
        return "retries must not be 0 for enable.idempotence"
    if config["max.in.flight.requests.per.connection"] > _IN_FLIGHT_MAX:
        return f"max.in.flight.requests.per.connection must be at most {_IN_FLIGHT_MAX} for enable.idempotence"
    return None


def _idempotence(config: Config) -> str | None:
    """From 4.0 on, too many requests in flight no longer switch idempotence off in silence."""
    asked_for = config["enable.idempotence"] and "enable.idempotence" in config.given
    too_many = config["max.in.flight.requests.per.connection"] > _IN_FLIGHT_MAX
    if asked_for or (config["enable.idempotence"] and too_many and config.release != "3.3"):
        return _against_idempotence(config)
    return None


def _transactions(config: Config) -> str | None:
    if config["transactional.id"] is not None and not is_idempotent(config):
        return "a transactional.id needs enable.idempotence"
    if config.get("transaction.two.phase.commit.enable") and "transaction.timeout.ms" in config.given:
        return "transaction.timeout.ms has no meaning with transaction.two.phase.commit.enable: leave one out"
    return None


def _mechanism(config: Config) -> str | None:
    if str(config["security.protocol"]).upper().startswith("SASL_") and not config["sasl.mechanism"]:
        return "security.protocol asks for SASL: set sasl.mechanism"
    return None


def _auto_commit(config: Config) -> str | None:
    automatic = config["enable.auto.commit"] and "enable.auto.commit" in config.given
    if config["group.id"] is None and automatic:
        return "enable.auto.commit needs a group.id"
    return None


def _heartbeat(config: Config) -> str | None:
    if _is_consumer_protocol(config) or config["heartbeat.interval.ms"] < config["session.timeout.ms"]:
        return None
    return "heartbeat.interval.ms must be less than session.timeout.ms"


def _group_protocol(config: Config) -> str | None:
    shared = [name for name in _SHARE_ONLY if name in config.given]
    if shared:
        return f"{shared[0]} is for share consumers only"
    if _is_consumer_protocol(config):
        unusable = [name for name in _CLASSIC_ONLY if name in config.given]
        return f"{unusable[0]} is for group.protocol=classic only" if unusable else None
    if config.get("group.remote.assignor"):
        return "group.remote.assignor is for group.protocol=consumer only"
    return None


def _share_group(config: Config) -> str | None:
    refused = [name for name in _NOT_WITH_SHARE if name in config.given]
    return f"{refused[0]} cannot be set for a share consumer: leave it out" if refused else None


def _is_consumer_protocol(config: Config) -> bool:
    return str(config.get("group.protocol", "classic")).lower() == "consumer"


def _one_bootstrap(config: Config) -> str | None:
    servers, controllers = config["bootstrap.servers"], config.get("bootstrap.controllers", ())
    if servers and controllers:
        return "set bootstrap.servers or bootstrap.controllers, not both"
    return None if servers or controllers else "set bootstrap.servers or bootstrap.controllers"


_SASL = Rule("SASL needs a mechanism", _mechanism)

PRODUCER = (
    Rule("a batch must get one whole attempt", _delivery_timeout),
    Rule("a broker recognises retries of five batches, written by all replicas", _idempotence),
    Rule("a transaction is idempotent writes and a marker", _transactions),
    _SASL,
)
CONSUMER = (
    Rule("offsets are committed to a group", _auto_commit),
    Rule("a member must get to send a heartbeat before its session ends", _heartbeat),
    Rule("each protocol has configs that the other would ignore", _group_protocol),
    _SASL,
)
SHARE_CONSUMER = (Rule("a share group has no offsets to begin at or to commit, and no assignors", _share_group), _SASL)
ADMIN = (Rule("an admin client begins at brokers or at controllers", _one_bootstrap), _SASL)
