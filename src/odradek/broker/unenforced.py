"""Warns of what the metadata log holds and nobody enforces: ACLs, quotas, logins, configs of topics without effect.

They are stored and told as Kafka stores and tells them; what they ask for does not happen. So the server log says it
when the first of its kind is there, be it set now or found at the start. One line for each kind is enough: a script
that sets a quota for each of a thousand users would fill the log.
"""

from collections.abc import Iterable

from odradek.broker.server_log import Logger
from odradek.config import ignored, quotas, reasons, topic
from odradek.config.definition import Definition
from odradek.config.errors import ConfigError, one_line
from odradek.config.vocabulary import BROKER, TOPIC
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage
from odradek.protocol.releases import Release

_ACLS = "ACLs"
_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


class Unenforced:
    """A publisher of the metadata loader: it looks at every change of the metadata."""

    __slots__ = ("_log", "_rows", "_told")

    def __init__(self, release: Release, log: Logger) -> None:
        self._rows: dict[str, Definition] = {
            name: row for name, row in topic.TABLE.at(release.name).items() if not row.served
        }
        self._log = log
        self._told: set[str] = set()

    def publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        if any(acl is not None for acl in delta.acls.changed.values()):
            self._warn(_ACLS, "ACLs are stored, and bind nobody: access control is not built")
        for (mechanism, _), credential in delta.scram.changed.items():
            if credential is not None:
                self._warn_of_login(_MECHANISMS.get(mechanism, str(mechanism)))
        for values in delta.client_quotas.changed.values():
            self._warn_of_quotas(values)
        for kind, name in delta.configs.changed:
            if kind == TOPIC:
                self._warn_of_topic(name, image)
            elif kind == BROKER:
                self._warn_of_quotas(image.configs.of(BROKER, name).keys() & quotas.BROKER.rows.keys())

    def _warn_of_login(self, mechanism: str) -> None:
        self._warn(mechanism, f"{mechanism} {reasons.SCRAM.text}")

    def _warn_of_quotas(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._warn(key, f"{one_line(key)} has no effect: {reasons.QUOTAS.text}")

    def _warn_of_topic(self, topic_name: str, image: MetadataImage) -> None:
        for name, value in image.configs.of(TOPIC, topic_name).items():
            row = self._rows.get(name)
            if row is not None and row.not_served is not None and not _is_default(row, value):
                told = [ignored.assignment(row, name, value)]
                self._warn(name, f"Topic {topic_name}: {ignored.line(told, row.not_served)}")

    def _warn(self, kind: str, line: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            self._log.warn(line)


def _is_default(row: Definition, value: str) -> bool:
    try:
        return ignored.is_default(row, row.parse(value))
    except ConfigError:
        return False  # written by another release; whoever applies it says what is wrong with it
