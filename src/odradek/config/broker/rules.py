"""Conditions over several broker configs: what a node checks before it starts. Each with its reason in one line."""

import re
from collections.abc import Callable, Mapping

from odradek.config.definition import Rule
from odradek.config.errors import ConfigError
from odradek.config.listeners import (
    advertised,
    controller_names,
    endpoints,
    has_role,
    inter_broker_listener,
    is_kraft,
    log_dirs,
    names_of,
    protocol_map,
)
from odradek.config.parsed import Config
from odradek.config.rules import ordered, within

_CLEANER_BUFFER_MIN_BYTES = 1024 * 1024
_COMPRESSION_CODECS = range(5)  # none, gzip, snappy, lz4, zstd


def fill_ids(values: Mapping[str, object]) -> dict[str, object]:
    """node.id and broker.id are one thing under two names: whichever is set fills the other."""
    filled = dict(values)
    for name, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if name in values and other not in values:
            filled[other] = values[name]
    return filled


def _ids_agree(config: Config) -> str | None:
    same = config["node.id"] == config["broker.id"]
    return None if same else "node.id and broker.id must be the same where both are set"


def _node_id(config: Config) -> str | None:
    if is_kraft(config):
        return "node.id must be set, and not negative, where process.roles is set" if config["node.id"] < 0 else None
    low = -1 if config["broker.id.generation.enable"] else 0
    if config["broker.id"] < low:
        return f"broker.id must be at least {low}"
    if low == -1 and config["broker.id"] > config["reserved.broker.max.id"]:
        return "broker.id must not be greater than reserved.broker.max.id"
    return None


def _zookeeper_or_quorum(config: Config) -> str | None:
    if not is_kraft(config):
        reachable = config["zookeeper.connect"] is not None
        return None if reachable else "zookeeper.connect must be set where process.roles is not"
    if config["controller.quorum.voters"] or config.get("controller.quorum.bootstrap.servers"):
        return None
    return "controller.quorum.voters (or, from 3.9 on, controller.quorum.bootstrap.servers) must name the quorum"


def _node_among_voters(config: Config) -> str | None:
    voters = {int(voter.partition("@")[0]) for voter in config["controller.quorum.voters"]}
    if not voters or not is_kraft(config):
        return None
    node = config["node.id"]
    if has_role(config, "controller"):
        return None if node in voters else f"node.id {node} of a controller must be in controller.quorum.voters"
    return f"node.id {node} of a mere broker must not be in controller.quorum.voters" if node in voters else None


def _controller_listeners(config: Config) -> str | None:
    names = controller_names(config)
    if not is_kraft(config):
        return "controller.listener.names is for KRaft only: leave it empty on ZooKeeper" if names else None
    if not names:
        return "controller.listener.names must name a listener in KRaft"
    listening = {endpoint.listener for endpoint in endpoints(config, "listeners")}
    if not has_role(config, "broker") and listening - set(names):
        return "listeners of a mere controller must all be in controller.listener.names"
    if has_role(config, "controller"):
        missing = [name for name in names if name not in listening]
        return f"controller.listener.names must all appear in listeners: {missing[0]} does not" if missing else None
    if listening & set(names):
        return "controller.listener.names must not appear in listeners of a mere broker"
    unmapped = [name for name in names if name not in protocol_map(config)]
    return f"controller listener {unmapped[0]} is not in listener.security.protocol.map" if unmapped else None


def _no_control_plane(config: Config) -> str | None:
    if is_kraft(config) and config.get("control.plane.listener.name") is not None:
        return "control.plane.listener.name is for ZooKeeper only: leave it out in KRaft"
    return None


def _distinct_listeners(config: Config) -> str | None:
    for name in ("listeners", "advertised.listeners"):
        found = [endpoint.listener for endpoint in endpoints(config, name)]
        if len(set(found)) != len(found):
            return f"{name} must not use a listener name twice"
    return None


def _distinct_ports(config: Config) -> str | None:
    """Port 0 is any free one; from 3.6 on, an IPv4 and an IPv6 address may share a port."""
    by_port: dict[int, list[bool]] = {}
    for endpoint in endpoints(config, "listeners"):
        if endpoint.port > 0:
            is_v6 = ":" in endpoint.host and config.release != "3.3"
            by_port.setdefault(endpoint.port, []).append(is_v6)
    for port, families in by_port.items():
        if len(set(families)) != len(families):
            return f"listeners must not use a port twice, and use {port}"
    return None


def _advertised_by_broker(config: Config) -> str | None:
    if not has_role(config, "broker"):
        return None
    names = {endpoint.listener for endpoint in advertised(config)}
    listening = {endpoint.listener for endpoint in endpoints(config, "listeners")}
    if not names:
        return "advertised.listeners must leave a listener for clients beside those of the controllers"
    if inter_broker_listener(config) not in names:
        return f"the listener between brokers must be advertised: one of {', '.join(sorted(names))}"
    if not names <= listening:
        return "advertised.listeners must only use names that listeners has"
    return None


def _advertised_controllers(config: Config) -> str | None:
    """Up to 3.8 controllers are not advertised, and a mere controller advertises nothing."""
    if not is_kraft(config) or config.release != "3.3":
        return None
    names = {endpoint.listener for endpoint in endpoints(config, "advertised.listeners")}
    if not has_role(config, "broker") and names:
        return "a mere controller must not set advertised.listeners"
    if names & set(controller_names(config)):
        return "advertised.listeners must not name a controller listener"
    return None


def _routable(config: Config) -> str | None:
    told = (*endpoints(config, "advertised.listeners"), *advertised(config))
    if any(endpoint.host == "0.0.0.0" for endpoint in told):
        return "0.0.0.0 cannot be advertised: set advertised.listeners=NAME://HOST:PORT to what clients can reach"
    return None


def _inter_broker(config: Config) -> str | None:
    if config["inter.broker.listener.name"] is None:
        return None
    if "security.inter.broker.protocol" in config.given:
        return "set inter.broker.listener.name or security.inter.broker.protocol, not both"
    listener = inter_broker_listener(config)
    if listener in protocol_map(config):
        return None
    return f"Listener {listener} of inter.broker.listener.name is not in listener.security.protocol.map"


def _inter_broker_mechanism(config: Config) -> str | None:
    listener = inter_broker_listener(config)
    if not has_role(config, "broker") or not protocol_map(config).get(listener, "").startswith("SASL_"):
        return None
    name = "sasl.mechanism.inter.broker.protocol"
    mechanism, enabled = config[name], config.listener(listener, "sasl.enabled.mechanisms")
    if mechanism in enabled:
        return None
    told = f"{mechanism}, {'as given' if name in config.given else 'its default'}"
    remedy = f": set {name}={enabled[0]}" if enabled else ""
    return f"sasl.enabled.mechanisms must have the mechanism of {name}, which is {told}{remedy}"


def _early_start(config: Config) -> str | None:
    known = {endpoint.listener for endpoint in endpoints(config, "listeners")} | set(controller_names(config))
    unknown = [name for name in names_of(config, "early.start.listeners") if name not in known]
    return f"early.start.listeners contains {unknown[0]}, which is no listener" if unknown else None


def _log_dirs(config: Config) -> str | None:
    return None if log_dirs(config) else "log.dirs or log.dir must name a directory"


def _roll_and_retention(config: Config) -> str | None:
    if (roll := config["log.roll.ms"]) is not None and roll < 1:
        return "log.roll.ms must be at least 1"
    if (jitter := config["log.roll.jitter.ms"]) is not None and jitter < 0:
        return "log.roll.jitter.ms must be at least 0"
    return None if retention_ms(config) else "the log retention time must be -1 (for ever) or at least 1"


def retention_ms(config: Config) -> int:
    """Milliseconds go before minutes, minutes before hours; any negative time is for ever."""
    milliseconds, minutes = config["log.retention.ms"], config["log.retention.minutes"]
    if milliseconds is None:
        milliseconds = config["log.retention.hours"] * 3_600_000 if minutes is None else minutes * 60_000
    return -1 if milliseconds < 0 else int(milliseconds)


def _cleaner_buffer(config: Config) -> str | None:
    """The threads of the cleaner and the memory that each gets; checked even if it is switched off, as Kafka does."""
    threads = config["log.cleaner.threads"]
    if threads == 0:
        return "log.cleaner.threads must be at least 1 when a broker starts"
    if config["log.cleaner.dedupe.buffer.size"] // threads > _CLEANER_BUFFER_MIN_BYTES:
        return None
    return "log.cleaner.dedupe.buffer.size must be more than 1 MB for each of log.cleaner.threads"


def _required_acks(config: Config) -> str | None:
    acks = config.get("offsets.commit.required.acks", -1)
    if -1 <= acks <= config["offsets.topic.replication.factor"]:
        return None
    return "offsets.commit.required.acks must be -1 to offsets.topic.replication.factor"


def _codec(name: str) -> Callable[[Config], str | None]:
    def check(config: Config) -> str | None:
        codec = config.get(name, 0)
        return None if codec in _COMPRESSION_CODECS else f"{name} must be 0 to 4, and is {codec}"

    return check


def _kraft_protocol_version(config: Config) -> str | None:
    version = config.get("inter.broker.protocol.version")
    if version is None or not is_kraft(config) or (version[0] >= "3" and version != "3.0-IV0"):
        return None
    return f"inter.broker.protocol.version must be at least 3.0-IV1 in KRaft, and is {version}"


def _classic_protocol(config: Config) -> str | None:
    served = config.get("group.coordinator.rebalance.protocols", ("classic",))
    return None if "classic" in served else "group.coordinator.rebalance.protocols must contain classic"


def _queued_bytes(config: Config) -> str | None:
    queued, request = config["queued.max.request.bytes"], config["socket.request.max.bytes"]
    ok = queued <= 0 or queued >= request
    return None if ok else "queued.max.request.bytes must be -1 or at least socket.request.max.bytes"


def _connections_per_ip(config: Config) -> str | None:
    overrides = ip_overrides(config)
    if config["max.connections.per.ip"] == 0 and not overrides:
        return "max.connections.per.ip may be 0 only beside max.connections.per.ip.overrides"
    return None


def ip_overrides(config: Config) -> dict[str, int]:
    """`max.connections.per.ip.overrides` as address to count."""
    name = "max.connections.per.ip.overrides"
    overrides = {}
    for entry in filter(None, (part.strip() for part in config[name].split(","))):
        host, _, count = entry.rpartition(":")
        if not host or not re.fullmatch(r"-?[0-9]{1,10}", count := count.strip()):
            raise ConfigError("expected comma separated address:count", name, entry)
        overrides[host.strip()] = int(count)
    return overrides


def _failed_authentication(config: Config) -> str | None:
    idle = config["connections.max.idle.ms"]
    if idle < 0 or config["connection.failed.authentication.delay.ms"] < idle:
        return None
    return "connection.failed.authentication.delay.ms must be less than connections.max.idle.ms"


def _below(lower: str, upper: str, why: str) -> Rule:
    def check(config: Config) -> str | None:
        low, high = config.get(lower), config.get(upper)
        if low is None or high is None or low < high:
            return None
        return f"{lower} ({low}) must be less than {upper} ({high})"

    return Rule(why, check)


def _group_limits(kind: str) -> tuple[Rule, ...]:
    prefix = f"group.{kind}"
    rules: list[Rule] = []
    for limited in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"):
        why = "a group config may only move between the broker's limits"
        rules += within(f"{prefix}.{limited}", f"{prefix}.min.{limited}", f"{prefix}.max.{limited}", why)
    heartbeat, session = f"{prefix}.heartbeat.interval.ms", f"{prefix}.session.timeout.ms"
    rules.append(_below(heartbeat, session, "a member must get to send a heartbeat before its session ends"))
    return tuple(rules)


def _share_limits() -> tuple[Rule, ...]:
    rules: list[Rule] = []
    for limited in ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"):
        why = "a share group's config may only move between the broker's limits"
        rules += within(f"group.share.{limited}", f"group.share.min.{limited}", f"group.share.max.{limited}", why)
    return tuple(rules)


RULES = (
    Rule("two names of one id must not contradict each other", _ids_agree),
    Rule("a node needs an id that nobody else draws", _node_id),
    Rule("a node must know where the metadata is", _zookeeper_or_quorum),
    Rule("who votes is told by the voters' list alone", _node_among_voters),
    Rule("controllers listen on listeners of their own", _controller_listeners),
    Rule("in KRaft the controllers' listener is the control plane", _no_control_plane),
    Rule("a listener name stands for one address", _distinct_listeners),
    Rule("two listeners cannot bind one port", _distinct_ports),
    Rule("brokers have to agree on how to reach each other", _inter_broker),
    Rule("a broker must be reachable, by its peers as well", _advertised_by_broker),
    Rule("clients do not talk to controllers", _advertised_controllers),
    Rule("no client can connect to every interface", _routable),
    Rule("a broker must accept the mechanism it uses itself", _inter_broker_mechanism),
    Rule("only what listens can start early", _early_start),
    Rule("a broker needs a place for its logs", _log_dirs),
    Rule("no segment may expire before it was written", _roll_and_retention),
    Rule("a key map below 1 MB cleans nothing", _cleaner_buffer),
    Rule("more acknowledgements than replicas never come", _required_acks),
    Rule("the codec is one of the numbers in a batch", _codec("offsets.topic.compression.codec")),
    Rule("the codec is one of the numbers in a batch", _codec("share.coordinator.state.topic.compression.codec")),
    Rule("the quorum came with 3.0", _kraft_protocol_version),
    Rule("every client speaks the classic protocol", _classic_protocol),
    Rule("the largest request must fit into the queue", _queued_bytes),
    Rule("without exceptions nobody could connect", _connections_per_ip),
    Rule("a delayed close must come before the idle close", _failed_authentication),
    ordered("replica.fetch.wait.max.ms", "replica.socket.timeout.ms", "else an empty fetch would always time out"),
    ordered("replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "else idle replicas would fall out of sync"),
    *_group_limits("consumer"),
    *_group_limits("share"),
    *_group_limits("streams"),
    *_share_limits(),
    ordered("group.streams.num.standby.replicas", "group.streams.max.standby.replicas", "a limit binds defaults"),
)
