"""Listener addresses: `NAME://host:port` lists, and which security protocol each name speaks."""

import re

from odradek.config.errors import ConfigError
from odradek.config.parsed import Config

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_ADDRESS = r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,10})\Z"
_COMMA = r"\s*,\s*"


class Endpoint:
    """One address of a listener. An empty host stands for every interface."""

    __slots__ = ("host", "listener", "port", "protocol")

    def __init__(self, listener: str, protocol: str, host: str, port: int) -> None:
        self.listener = listener
        self.protocol = protocol
        self.host = host
        self.port = port

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Endpoint) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{self.listener}({self.protocol})://{self.host}:{self.port}"


def names_of(config: Config, name: str) -> tuple[str, ...]:
    """A list that 3.3 declares as a string: listeners, log directories, controller listener names."""
    value = config[name]
    if isinstance(value, str):
        return tuple(item for item in re.split(_COMMA, value.strip()) if item)
    return tuple(value or ())


def log_dirs(config: Config) -> tuple[str, ...]:
    return names_of(config, "log.dir" if config["log.dirs"] is None else "log.dirs")


def is_kraft(config: Config) -> bool:
    return bool(config["process.roles"])


def has_role(config: Config, role: str) -> bool:
    """On ZooKeeper every node is a broker and has no roles."""
    return role in config["process.roles"] or (role == "broker" and not is_kraft(config))


def controller_names(config: Config) -> tuple[str, ...]:
    return tuple(name.upper() for name in names_of(config, "controller.listener.names"))


def protocol_map(config: Config) -> dict[str, str]:
    """Listener name to security protocol. Unless TLS or SASL is in use, controllers need no entry for PLAINTEXT."""
    mapping = _explicit_map(config["listener.security.protocol.map"])
    if is_kraft(config) and "listener.security.protocol.map" not in config.given:
        listening = {address.partition("://")[0].upper() for address in names_of(config, "listeners")}
        if not (listening | set(controller_names(config))) & set(PROTOCOLS[1:]):
            mapping.update((name, "PLAINTEXT") for name in controller_names(config))
    return mapping


def _explicit_map(text: str) -> dict[str, str]:
    mapping = {}
    for entry in filter(None, re.split(_COMMA, text.strip())):
        name, colon, protocol = entry.rpartition(":")
        if not colon or not name or protocol.strip().upper() not in PROTOCOLS:
            allowed = f"expected NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}"
            raise ConfigError(allowed, "listener.security.protocol.map", entry)
        mapping[name.strip().upper()] = protocol.strip().upper()
    return mapping


def endpoints(config: Config, name: str) -> list[Endpoint]:
    """The addresses under `listeners` or `advertised.listeners`; ConfigError for one that is malformed."""
    protocols = protocol_map(config)
    return [_endpoint(name, address, protocols) for address in names_of(config, name)]


def _endpoint(name: str, address: str, protocols: dict[str, str]) -> Endpoint:
    match = re.match(_ADDRESS, address)
    if match is None or not -1 <= int(match[3]) <= 65535:
        raise ConfigError("expected NAME://host:port", name, address)
    listener = match[1].upper()
    if listener not in protocols:
        remedy = f"add {listener}:PLAINTEXT, or what else it speaks, to listener.security.protocol.map"
        raise ConfigError(f"No security protocol defined for listener {listener}: {remedy}", name, address)
    return Endpoint(listener, protocols[listener], match[2], int(match[3]))


def advertised(config: Config) -> list[Endpoint]:
    """What clients are told: the advertised listeners, else the listeners; never those of the controllers."""
    name = "listeners" if config["advertised.listeners"] is None else "advertised.listeners"
    controllers = controller_names(config)
    return [endpoint for endpoint in endpoints(config, name) if endpoint.listener not in controllers]


def inter_broker_listener(config: Config) -> str:
    """The name of the listener between brokers: as given, or that of the protocol between brokers."""
    name = config["inter.broker.listener.name"]
    return str(config["security.inter.broker.protocol"] if name is None else name).upper()
