"""SCRAM credentials of users (KIP-900), one per mechanism."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.metadata.persistent_map import Map
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import RemoveUserScramCredentialRecord, UserScramCredentialRecord

SCRAM_SHA_256, SCRAM_SHA_512 = 1, 2


class ScramCredential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"  # the keys are secrets: never in a log line

    def record(self, mechanism: int, user: str) -> UserScramCredentialRecord:
        return UserScramCredentialRecord(name=user, mechanism=mechanism, **self._asdict())


class ScramImage(NamedTuple):
    by_mechanism_and_user: Map[tuple[int, str], ScramCredential]

    def of(self, mechanism: int, user: str) -> ScramCredential | None:
        credential: ScramCredential | None = self.by_mechanism_and_user.get((mechanism, user))
        return credential

    def records(self) -> Iterator[Message]:
        for (mechanism, user), credential in self.by_mechanism_and_user.items():
            yield credential.record(mechanism, user)


EMPTY = ScramImage(Map())


class ScramDelta:
    """`changed` has each credential that a record has named, None for one that is gone."""

    __slots__ = ("_image", "changed")

    def __init__(self, image: ScramImage) -> None:
        self._image = image
        self.changed: dict[tuple[int, str], ScramCredential | None] = {}

    def replay_credential(self, record: UserScramCredentialRecord) -> None:
        credential = ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)
        self.changed[record.mechanism, record.name] = credential

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        self.changed[record.mechanism, record.name] = None

    def apply(self) -> ScramImage:
        return ScramImage(self._image.by_mechanism_and_user.changed(self.changed)) if self.changed else self._image
