"""SCRAM credentials of users (KIP-554, KIP-900)."""

from typing import NamedTuple

from odradek.protocol.messages.metadata_cluster import RemoveUserScramCredentialRecord, UserScramCredentialRecord


class Credential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class Scram:
    __slots__ = ("credentials",)

    def __init__(self) -> None:
        self.credentials: dict[tuple[str, int], Credential] = {}  # by user and mechanism

    def replay(self, record: UserScramCredentialRecord) -> None:
        credential = Credential(record.salt, record.stored_key, record.server_key, record.iterations)
        self.credentials[record.name, record.mechanism] = credential

    def replay_removal(self, record: RemoveUserScramCredentialRecord) -> None:
        del self.credentials[record.name, record.mechanism]
