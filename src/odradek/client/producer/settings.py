"""The configs of a producer as its parts want them."""

from typing import NamedTuple

from odradek.channel.client_connection import ChannelSecurity
from odradek.channel.config import ChannelConfig
from odradek.client.producer.record_sender import SenderConfig
from odradek.client.security import channel_security
from odradek.client.settings import bootstrap_addresses
from odradek.config.client_rules import is_idempotent
from odradek.config.parsed import Config

INT_MAX = 2**31 - 1


class ProducerSettings(NamedTuple):
    addresses: list[tuple[str, int]]
    channel: ChannelConfig
    security: ChannelSecurity
    sender: SenderConfig
    buffer_memory: int
    batch_bytes: int
    max_block_ms: int
    metadata_max_idle_ms: int
    ignores_keys: bool
    is_adaptive: bool
    availability_timeout_ms: int
    transaction_timeout_ms: int

    @property
    def is_transactional(self) -> bool:
        return self.sender.transactional_id is not None


def producer_settings(config: Config) -> ProducerSettings:
    """Whatever is wrong with the configs is said now, by a ConfigError, and not at the first use."""
    return ProducerSettings(
        addresses=bootstrap_addresses(config["bootstrap.servers"]),
        channel=ChannelConfig.from_config(config),
        security=channel_security(config),
        sender=_sender_config(config),
        buffer_memory=config["buffer.memory"],
        batch_bytes=max(1, config["batch.size"]),
        max_block_ms=config["max.block.ms"],
        metadata_max_idle_ms=config["metadata.max.idle.ms"],
        ignores_keys=config["partitioner.ignore.keys"],
        is_adaptive=config["partitioner.adaptive.partitioning.enable"],
        availability_timeout_ms=config["partitioner.availability.timeout.ms"],
        transaction_timeout_ms=config["transaction.timeout.ms"],
    )


def _sender_config(config: Config) -> SenderConfig:
    linger_ms = min(config["linger.ms"], INT_MAX)
    codec, level = _compression(config)
    return SenderConfig(
        acks=-1 if config["acks"] == "all" else int(config["acks"]),
        linger_ms=linger_ms,
        request_bytes_max=config["max.request.size"],
        request_timeout_ms=config["request.timeout.ms"],
        delivery_timeout_ms=max(config["delivery.timeout.ms"], linger_ms + config["request.timeout.ms"]),
        retries=config["retries"],
        max_in_flight=config["max.in.flight.requests.per.connection"],
        is_idempotent=is_idempotent(config),
        transactional_id=config["transactional.id"],
        codec=codec,
        level=level,
    )


def _compression(config: Config) -> tuple[int, int | None]:
    if config["compression.type"] == "none":
        return 0, None
    from odradek.records import compression  # only who compresses pays for the codecs

    codec = compression.codec_named(config["compression.type"])
    return codec.code, config.get(f"compression.{codec.name}.level")
