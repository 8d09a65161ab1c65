"""SCRAM credentials of users (KIP-554, KIP-900), one per mechanism."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.metadata.entries import Entries, EntriesDelta
from odradek.metadata.persistent_map import Map
from odradek.metadata.replay_error import ReplayError
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from odradek.protocol.vocabulary import ScramMechanism

_, SCRAM_SHA_256, SCRAM_SHA_512 = map(int, ScramMechanism)

MechanismAndUser = tuple[int, str]


class ScramCredential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @classmethod
    def from_record(cls, record: UserScramCredentialRecord) -> "ScramCredential":
        return cls(record.salt, record.stored_key, record.server_key, record.iterations)

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"  # the keys are secrets: never in a log line

    def record(self, mechanism: int, user: str) -> UserScramCredentialRecord:
        return UserScramCredentialRecord(name=user, mechanism=mechanism, **self._asdict())


class ScramReplay(Entries[MechanismAndUser, ScramCredential]):
    """What the records about credentials do to them."""

    __slots__ = ()

    def replay_credential(self, record: UserScramCredentialRecord) -> None:
        self.put((record.mechanism, record.name), ScramCredential.from_record(record))

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        if self.get((record.mechanism, record.name)) is None:
            raise ReplayError(f"user {record.name!r} has no credential of mechanism {record.mechanism}")
        self.put((record.mechanism, record.name), None)


class ScramImage(NamedTuple):
    by_mechanism_and_user: Map[MechanismAndUser, ScramCredential]

    def of(self, mechanism: int, user: str) -> ScramCredential | None:
        return self.by_mechanism_and_user.get((mechanism, user))

    def records(self) -> Iterator[Message]:
        for (mechanism, user), credential in self.by_mechanism_and_user.items():
            yield credential.record(mechanism, user)


EMPTY = ScramImage(Map())


class ScramDelta(EntriesDelta[MechanismAndUser, ScramCredential], ScramReplay):
    __slots__ = ("_image",)

    def __init__(self, image: ScramImage) -> None:
        super().__init__(image.by_mechanism_and_user)
        self._image = image

    def apply(self) -> ScramImage:
        return ScramImage(self.applied()) if self.changed else self._image
