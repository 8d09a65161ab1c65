"""What a consumer's session is made of, read from its configs. Whatever is wrong with them is said here."""

import logging
from collections import deque
from typing import NamedTuple

from odradek.channel.client_connection import ChannelSecurity
from odradek.channel.config import ChannelConfig
from odradek.client.consumer.assignors.assignor import Assignor
from odradek.client.consumer.assignors.by_name import by_name
from odradek.client.consumer.fetch_config import FetchConfig
from odradek.client.consumer.group_membership import MembershipConfig
from odradek.client.consumer.group_session import GroupConfig
from odradek.client.consumer.offset_reset import ResetStrategy
from odradek.client.security import channel_security
from odradek.client.serializers import Deserialize, deserializer
from odradek.client.settings import bootstrap_addresses
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config

logger = logging.getLogger("odradek.client")

IN_FLIGHT = 100  # requests per connection: a consumer's heartbeats and commits do not wait for each other

# The names of Kafka's classes, without their package, and those that members of a group agree upon.
ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


class SessionSettings(NamedTuple):
    channel: ChannelConfig
    addresses: list[tuple[str, int]]
    security: ChannelSecurity
    fetch: FetchConfig
    reset: ResetStrategy
    group: GroupConfig | None
    api_timeout_ms: int
    checks_crc: bool
    allows_creation: bool
    excludes_internal_topics: bool
    key_deserializer: Deserialize | None
    value_deserializer: Deserialize | None
    wakes: "deque[bool]"


def session_settings(
    config: Config, *, key_deserializer: object = None, value_deserializer: object = None
) -> SessionSettings:
    return SessionSettings(
        channel=ChannelConfig.from_config(config, max_in_flight_requests_per_connection=IN_FLIGHT),
        addresses=bootstrap_addresses(config["bootstrap.servers"]),
        security=channel_security(config),
        fetch=FetchConfig.from_config(config),
        reset=ResetStrategy.parse(config["auto.offset.reset"]),
        group=_group(config),
        api_timeout_ms=config["default.api.timeout.ms"],
        checks_crc=config["check.crcs"],
        allows_creation=config["allow.auto.create.topics"],
        excludes_internal_topics=config["exclude.internal.topics"],
        key_deserializer=deserializer(key_deserializer, is_key=True, config=config),
        value_deserializer=deserializer(value_deserializer, is_key=False, config=config),
        wakes=deque(maxlen=1),
    )


def _group(config: Config) -> GroupConfig | None:
    """None without a group: nothing is coordinated then."""
    group_id = config["group.id"]
    if group_id is None:
        return None
    if not group_id.strip():
        logger.warning("group.id is empty: such a group can neither be subscribed with nor committed to")
        return None
    speaks_epochs = str(config["group.protocol"]).lower() == "consumer"
    membership = MembershipConfig(
        group_id,
        config["session.timeout.ms"],
        config["heartbeat.interval.ms"],
        config["max.poll.interval.ms"],
        config["group.instance.id"],
        config["client.rack"] or None,
    )
    return GroupConfig(
        membership,
        () if speaks_epochs else tuple(map(_assignor, config["partition.assignment.strategy"])),
        speaks_epochs,
        config["group.remote.assignor"],
        require_stable=config["isolation.level"] == "read_committed",
        leaves_on_close=config.get("internal.leave.group.on.close", True),
    )


def _assignor(given: object) -> Assignor:
    if not isinstance(given, str):
        return given() if isinstance(given, type) else given  # type: ignore[return-value]  # the program's own
    short = given.rpartition(".")[2]
    try:
        return by_name(ASSIGNORS.get(short, given))
    except ValueError:
        known = ", ".join((*ASSIGNORS, *ASSIGNORS.values()))
        raise ConfigError(
            f"there is no such assignor; known are {known}", "partition.assignment.strategy", given
        ) from None
