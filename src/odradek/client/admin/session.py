"""One admin client at work: its channel and how it asks."""

from odradek.channel.channel import Channel
from odradek.channel.client_connection import ChannelSecurity
from odradek.channel.config import ChannelConfig
from odradek.client.admin.asking import Asker
from odradek.client.host.session import Open
from odradek.client.security import channel_security
from odradek.client.settings import bootstrap_addresses
from odradek.client.wait_log import LostBrokers, WaitLog
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config
from odradek.reactor.loop import Loop


def admin_session(config: Config) -> Open[Asker]:
    """How to begin. Whatever is wrong with the configs is said now, by a ConfigError, and not at the first use."""
    if config["bootstrap.controllers"]:
        raise ConfigError("controllers are not asked directly yet: name brokers in bootstrap.servers")
    addresses = bootstrap_addresses(config["bootstrap.servers"])
    security: ChannelSecurity = channel_security(config)
    channel_config = ChannelConfig.from_config(config)

    def begin(loop: Loop) -> Asker:
        channel = Channel(loop, channel_config, addresses, security=security)
        LostBrokers(channel.client, WaitLog(loop.ports.clock.mono_ms))  # the channel's client keeps it
        return Asker(channel, timeout_ms=config["default.api.timeout.ms"], retries=config["retries"])

    return begin
