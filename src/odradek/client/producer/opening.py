"""How a producer of either kind begins: its configs, its plugins, and how its session is opened."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TypeVar

from odradek.client import serializers
from odradek.client.host.session import Open, logger
from odradek.client.producer.partitioners import partitioner as made_partitioner
from odradek.client.producer.sending import Preparing
from odradek.client.producer.session import ProducerSession, producer_session
from odradek.client.producer.settings import ProducerSettings, producer_settings
from odradek.client.settings import ClientConfig, client_config
from odradek.config.errors import ConfigError
from odradek.config.producer import TABLE
from odradek.reactor.adapters.rng import SystemRng

P = TypeVar("P")


class Opened:
    """What both front ends are made of. Whatever is wrong with the configs was said when it was made."""

    def __init__(self, settings: ProducerSettings, preparing: Preparing, plugins: Sequence[object] = ()) -> None:
        self.plugins = plugins
        self.settings = settings
        self.preparing = preparing

    @property
    def session(self) -> Open[ProducerSession]:
        return producer_session(self.settings, when_cluster_known=self._tell_cluster)

    def close(self) -> None:
        """The plugins; an error is told in the log."""
        serializers.close(self.preparing.key_serializer, self.preparing.value_serializer)
        for plugin in (*self.preparing.interceptors, self.preparing.partitioner):
            _call(plugin, "close")

    def _tell_cluster(self, cluster_id: str | None) -> None:
        """Plugins that have `on_update` want to know to which cluster the records go."""
        for plugin in (*self.plugins, *self.preparing.interceptors, self.preparing.partitioner):
            _call(plugin, "on_update", cluster_id)


def opened(
    config: Mapping[str, object] | None,
    configs: Mapping[str, object],
    *,
    key_serializer: object,
    value_serializer: object,
    partitioner: object,
    interceptors: Sequence[object],
) -> Opened:
    handed = {"key_serializer": key_serializer, "value_serializer": value_serializer}
    given = {**configs, **{name: value for name, value in handed.items() if value is not None}}
    parsed = client_config(TABLE, config, given)
    chosen = parsed["partitioner.class"] if partitioner is None else partitioner
    preparing = Preparing(
        serializers.serializer(None, is_key=True, config=parsed),
        serializers.serializer(None, is_key=False, config=parsed),
        _configured(made_partitioner(chosen, SystemRng().stream("partitioner")), chosen, parsed),
        [*_named_interceptors(parsed), *interceptors],
    )
    objects = [parsed[name] for name in ("key.serializer", "value.serializer") if not isinstance(parsed[name], str)]
    return Opened(producer_settings(parsed), preparing, objects)


def _call(plugin: object, method: str, *given: object) -> None:
    """An error of one is told, and the others are called."""
    found = getattr(plugin, method, None)
    if found is not None:
        try:
            found(*given)
        except Exception:  # noqa: BLE001 - the program's own
            logger.exception("%s of a plugin of a producer has failed", method)


def _named_interceptors(config: ClientConfig) -> list[object]:
    return [_configured(_made(name), name, config) for name in config["interceptor.classes"]]


def _made(name: object) -> object:
    if isinstance(name, type):
        return name()
    module, _, attribute = str(name).rpartition(".")
    try:
        return getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"there is no such class: {error}", "interceptor.classes", name) from error


def _configured(plugin: P, given: object, config: ClientConfig) -> P:
    """What was made here of a name or a class is told the configs, with client.id."""
    if isinstance(given, (str, type)) and hasattr(plugin, "configure"):
        plugin.configure({**config.originals, "client.id": config["client.id"]})
    return plugin
