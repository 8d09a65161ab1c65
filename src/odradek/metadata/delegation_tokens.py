"""Delegation tokens: who may act for whom until when. The secrets are made from the tokens' ids, not stored."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.metadata.entries import EntriesDelta
from odradek.metadata.persistent_map import Map
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import DelegationTokenRecord, RemoveDelegationTokenRecord


class DelegationToken(NamedTuple):
    """Principals as text, `User:alice`; times in milliseconds."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int

    @classmethod
    def from_record(cls, record: DelegationTokenRecord) -> "DelegationToken":
        return cls(
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )

    def record(self, token_id: str) -> DelegationTokenRecord:
        fields = {**self._asdict(), "renewers": list(self.renewers)}
        return DelegationTokenRecord(token_id=token_id, **fields)


class DelegationTokensImage(NamedTuple):
    by_id: Map[str, DelegationToken]

    def records(self) -> Iterator[Message]:
        for token_id, token in self.by_id.items():
            yield token.record(token_id)


EMPTY = DelegationTokensImage(Map())


class DelegationTokensDelta(EntriesDelta[str, DelegationToken]):
    """The controller has no use for tokens yet, so their rules are here and nowhere else."""

    __slots__ = ("_image",)

    def __init__(self, image: DelegationTokensImage) -> None:
        super().__init__(image.by_id)
        self._image = image

    def replay_token(self, record: DelegationTokenRecord) -> None:
        self.put(record.token_id, DelegationToken.from_record(record))

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        """A token that is not there is gone already: so does Kafka."""
        self.put(record.token_id, None)

    def apply(self) -> DelegationTokensImage:
        return DelegationTokensImage(self.applied()) if self.changed else self._image
