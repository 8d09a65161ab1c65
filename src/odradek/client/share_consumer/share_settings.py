"""What a share consumer's session is made of, read from its configs. Whatever is wrong with them is said here."""

from collections import deque
from typing import NamedTuple

from odradek.channel.client_connection import ChannelSecurity
from odradek.channel.config import ChannelConfig
from odradek.client.consumer.group_membership import MembershipConfig
from odradek.client.consumer.session_settings import IN_FLIGHT
from odradek.client.security import channel_security
from odradek.client.serializers import deserializer
from odradek.client.settings import bootstrap_addresses
from odradek.client.share_consumer.share_chunk import Reading
from odradek.client.share_consumer.share_fetcher import ShareFetchConfig
from odradek.config.parsed import Config
from odradek.protocol import errors

HEARTBEAT_MS = 5_000  # until the coordinator has told


class ShareSettings(NamedTuple):
    channel: ChannelConfig
    addresses: list[tuple[str, int]]
    security: ChannelSecurity
    fetch: ShareFetchConfig
    membership: MembershipConfig
    reading: Reading
    api_timeout_ms: int
    allows_creation: bool
    is_explicit: bool  # share.acknowledgement.mode
    wakes: "deque[bool]"


def share_settings(
    config: Config, *, key_deserializer: object = None, value_deserializer: object = None
) -> ShareSettings:
    group_id = config["group.id"]
    if group_id is None or not group_id.strip():
        raise errors.InvalidGroupId("A share consumer belongs to a share group: set group.id.")
    return ShareSettings(
        channel=ChannelConfig.from_config(config, max_in_flight_requests_per_connection=IN_FLIGHT),
        addresses=bootstrap_addresses(config["bootstrap.servers"]),
        security=channel_security(config),
        fetch=_fetch(config, group_id),
        membership=MembershipConfig(
            group_id,
            heartbeat_interval_ms=HEARTBEAT_MS,
            max_poll_interval_ms=config["max.poll.interval.ms"],
            rack_id=config["client.rack"] or None,
        ),
        reading=Reading(
            config["check.crcs"],
            deserializer(key_deserializer, is_key=True, config=config),
            deserializer(value_deserializer, is_key=False, config=config),
        ),
        api_timeout_ms=config["default.api.timeout.ms"],
        allows_creation=config["allow.auto.create.topics"],
        is_explicit=str(config["share.acknowledgement.mode"]).lower() == "explicit",
        wakes=deque(maxlen=1),
    )


def _fetch(config: Config, group_id: str) -> ShareFetchConfig:
    return ShareFetchConfig(
        group_id,
        config["max.poll.records"],
        str(config["share.acquire.mode"]).lower() == "record_limit",
        config["fetch.max.wait.ms"],
        config["fetch.min.bytes"],
        config["fetch.max.bytes"],
    )
