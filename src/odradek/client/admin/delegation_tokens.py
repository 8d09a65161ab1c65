"""Delegation tokens: made, renewed, ended, described. Principals are texts: `User:alice`."""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.channel.core import ANY_BROKER
from odradek.client.admin.asking import Asker
from odradek.client.admin.by_version import from_version
from odradek.client.admin.routing import CONTROLLER_PASSING
from odradek.protocol.errors import InvalidPrincipalType, raise_for
from odradek.protocol.messages.k38_create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from odradek.protocol.messages.k39_renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from odradek.protocol.messages.k40_expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from odradek.protocol.messages.k41_describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

_BROKERS_DEFAULT = -1  # in the place of a time
_OWNERS_FROM = 3  # the version of CreateDelegationToken that may name another owner


class DelegationToken(NamedTuple):
    """`hmac` is the secret: who has it is its owner, to the brokers. `requester` is who asked for it."""

    token_id: str
    hmac: bytes
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int

    def __repr__(self) -> str:
        return f"DelegationToken({self.token_id!r}, owner={self.owner!r})"  # the secret is for no log line


async def create_delegation_token(
    asker: Asker,
    *,
    renewers: Iterable[str] = (),
    owner: str | None = None,
    max_lifetime_ms: int = _BROKERS_DEFAULT,
    timeout: float | None = None,
) -> DelegationToken:
    """A token for who asks, or for another `owner`."""
    renewing = tuple(renewers)
    request = CreateDelegationTokenRequest(
        renewers=[
            CreatableRenewers(principal_type=kind, principal_name=name) for kind, name in map(_principal, renewing)
        ],
        max_lifetime_ms=max_lifetime_ms,
    )
    if owner is not None:
        request.owner_principal_type, request.owner_principal_name = _principal(owner)
    asked = from_version(_OWNERS_FROM if owner else 0, request, "tokens for another owner")

    async def attempt(timeout_ms: int) -> DelegationToken:
        response = await asker.send(ANY_BROKER, asked, CreateDelegationTokenResponse, timeout_ms)
        raise_for(response.error_code)
        return _created(response, renewing)

    return await asker.one(attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def renew_delegation_token(
    asker: Asker, hmac: bytes, *, renew_period_ms: int = _BROKERS_DEFAULT, timeout: float | None = None
) -> int:
    """When the token ends now, in milliseconds since 1970."""
    request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms)

    async def attempt(timeout_ms: int) -> int:
        response = await asker.send(ANY_BROKER, request, RenewDelegationTokenResponse, timeout_ms)
        raise_for(response.error_code)
        return int(response.expiry_timestamp_ms)

    return await asker.one(attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def expire_delegation_token(
    asker: Asker, hmac: bytes, *, expiry_period_ms: int = _BROKERS_DEFAULT, timeout: float | None = None
) -> int:
    """When the token ends now: at once if the period is negative."""
    request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_period_ms)

    async def attempt(timeout_ms: int) -> int:
        response = await asker.send(ANY_BROKER, request, ExpireDelegationTokenResponse, timeout_ms)
        raise_for(response.error_code)
        return int(response.expiry_timestamp_ms)

    return await asker.one(attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def describe_delegation_token(
    asker: Asker, owners: Iterable[str] | None = None, *, timeout: float | None = None
) -> list[DelegationToken]:
    """Those that the caller may see, of these owners or of all."""
    wanted = None
    if owners is not None:
        wanted = [
            DescribeDelegationTokenOwner(principal_type=kind, principal_name=name)
            for kind, name in map(_principal, owners)
        ]
    request = DescribeDelegationTokenRequest(owners=wanted)

    async def attempt(timeout_ms: int) -> list[DelegationToken]:
        response = await asker.send(ANY_BROKER, request, DescribeDelegationTokenResponse, timeout_ms)
        raise_for(response.error_code)
        return [_described(token) for token in response.tokens]

    return await asker.one(attempt, timeout=timeout, passing=CONTROLLER_PASSING)


def _principal(text: str) -> tuple[str, str]:
    kind, colon, name = text.partition(":")
    if not colon or not kind or not name:
        raise InvalidPrincipalType(f"A principal is written as User:name, not {text!r}.")
    return kind, name


def _text(kind: str, name: str) -> str:
    return f"{kind}:{name}" if kind or name else ""


def _created(token: CreateDelegationTokenResponse, renewers: tuple[str, ...]) -> DelegationToken:
    return DelegationToken(
        token.token_id,
        token.hmac,
        _text(token.principal_type, token.principal_name),
        _text(token.token_requester_principal_type, token.token_requester_principal_name),
        renewers,
        token.issue_timestamp_ms,
        token.expiry_timestamp_ms,
        token.max_timestamp_ms,
    )


def _described(token: DescribedDelegationToken) -> DelegationToken:
    return DelegationToken(
        token.token_id,
        token.hmac,
        _text(token.principal_type, token.principal_name),
        _text(token.token_requester_principal_type, token.token_requester_principal_name),
        tuple(_text(each.principal_type, each.principal_name) for each in token.renewers),
        token.issue_timestamp,
        token.expiry_timestamp,
        token.max_timestamp,
    )
