"""The config table of brokers, topics, groups and clients, and typed snapshots of it.

A table is imported from its own module, so that a broker does not pay for the clients' and the other way round:
`from odradek.config.broker import TABLE`, then `TABLE.parse(properties.load(data), release="4.3")`.
"""

from odradek.config.errors import ConfigError
from odradek.config.types import Password

__all__ = ["ConfigError", "Password"]
