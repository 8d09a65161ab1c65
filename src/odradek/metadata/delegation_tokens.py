"""Delegation tokens: who may act for whom until when. The secrets are made from the tokens' ids, not stored."""

from collections.abc import Iterator
from typing import NamedTuple

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


class DelegationTokensImage(NamedTuple):
    by_id: Map[str, DelegationToken]

    def records(self) -> Iterator[Message]:
        for token_id, token in self.by_id.items():
            fields = {**token._asdict(), "renewers": list(token.renewers)}
            yield DelegationTokenRecord(token_id=token_id, **fields)


EMPTY = DelegationTokensImage(Map())


class DelegationTokensDelta:
    """`changed` has each token that a record has named, None for one that is gone."""

    __slots__ = ("_image", "changed")

    def __init__(self, image: DelegationTokensImage) -> None:
        self._image = image
        self.changed: dict[str, DelegationToken | None] = {}

    def replay_token(self, record: DelegationTokenRecord) -> None:
        self.changed[record.token_id] = DelegationToken(
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        self.changed[record.token_id] = None

    def apply(self) -> DelegationTokensImage:
        return DelegationTokensImage(self._image.by_id.changed(self.changed)) if self.changed else self._image
