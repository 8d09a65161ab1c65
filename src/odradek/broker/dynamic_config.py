"""Configs that change while the broker runs: from the metadata log, through the layers, to the components.

The layers are those of the file, of all brokers and of this broker. A component says which configs it wants to hear of
and what to do; it is told only when one of their values has changed. A value that does not parse or breaks a rule is
left out with a line in the log, and all others hold, as in Kafka: it was checked when it was set, but perhaps by a
newer controller.
"""

from collections.abc import Callable, Mapping

from odradek.broker.server_log import Logger
from odradek.config import broker, ignored
from odradek.config.broker import base_of_listener_config
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config
from odradek.config.sources import BrokerLayers
from odradek.security import protections

OnChange = Callable[[BrokerLayers], None]


class DynamicBrokerConfig:
    """The configs that hold now: `current`.

    `missing_protection` says why a config of the metadata log was left out, if that leaves clients unprotected.
    """

    __slots__ = ("_log", "_reconfigurables", "current", "missing_protection", "static")

    def __init__(self, static: Mapping[str, object], release: str, log: Logger) -> None:
        """`static` are those of the file. Raises ConfigError if they are bad."""
        self.static = static
        self._log = log
        self._reconfigurables: list[tuple[Callable[[str], bool], OnChange]] = []
        self.missing_protection: str | None = None
        self.current = BrokerLayers(static, release=release)

    @property
    def config(self) -> Config:
        return self.current.config

    def listen(self, concerns: Callable[[str], bool], on_change: OnChange) -> None:
        """`on_change(layers)` whenever a config for which `concerns(name)` holds has a new value.

        A listener's own config (`listener.name.x.max.connections`) is asked about under the name without the prefix.
        """
        self._reconfigurables.append((concerns, on_change))

    def update(self, for_all: Mapping[str, str], for_this: Mapping[str, str]) -> None:
        """Takes over the dynamic configs that the metadata log has now, and tells whoever listens to what changed."""
        before = self.config
        self.missing_protection = None
        default = self._usable(for_all, {})
        layers = BrokerLayers(self.static, default, self._usable(for_this, default), self.current.release)
        self.current = layers
        changed = _changed(before, layers.config)
        if changed:
            self._warn(changed, {**for_all, **for_this})
            self._tell({_base(name) for name in changed}, layers)

    def _warn(self, changed: set[str], dynamic: Mapping[str, str]) -> None:
        """Warns of dynamic configs that have no effect; those of the file were told at the start."""
        for line in ignored.lines(ignored.unserved(self.config, changed & dynamic.keys())):
            self._log.warn(line)

    def _tell(self, changed: set[str], layers: BrokerLayers) -> None:
        for concerns, on_change in self._reconfigurables:
            if any(concerns(name) for name in changed):
                try:
                    on_change(layers)
                except (ValueError, OSError) as error:  # a ConfigError, or keys that OpenSSL does not take
                    self._log.error(f"A changed config could not be taken over: {error}")

    def _usable(self, given: Mapping[str, str], below: Mapping[str, str]) -> dict[str, str]:
        """Those of the given configs that parse and break no rule together with the file and with `below`."""
        dynamic = {name: value for name, value in given.items() if self._is_dynamic(name)}
        if self._reason_against({**below, **dynamic}) is None:
            return dynamic
        taken: dict[str, str] = {}
        for name, value in dynamic.items():
            reason = self._reason_against({**below, **taken, name: value})
            if reason is None:
                taken[name] = value
            else:
                self._log.error(f"Cannot update the config {name}: {reason}")
                if isinstance(reason, protections.MissingProtectionError):
                    self.missing_protection = str(reason)
        return taken

    def _is_dynamic(self, name: str) -> bool:
        row = broker.TABLE.find(name, self.current.release)
        return row is not None and (row.is_dynamic or base_of_listener_config(name) is not None)

    def _reason_against(self, dynamic: Mapping[str, str]) -> ConfigError | None:
        try:
            protections.check(broker.TABLE.parse({**self.static, **dynamic}, self.current.release))
        except ConfigError as error:
            return error
        return None


def _changed(before: Config, after: Config) -> set[str]:
    missing = object()
    return {name for name in {*before, *after} if before.get(name, missing) != after.get(name, missing)}


def _base(name: str) -> str:
    return base_of_listener_config(name) or name


def starting_with(*prefixes: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(prefixes)


def any_of(*names: str) -> Callable[[str], bool]:
    wanted = frozenset(names)
    return lambda name: name in wanted


concerns_network = starting_with("num.network.", "max.connection", "ssl.", "sasl.")
