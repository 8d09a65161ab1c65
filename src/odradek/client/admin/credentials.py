"""SCRAM credentials of users: described, set and deleted."""

from collections.abc import Iterable
from hashlib import pbkdf2_hmac
from typing import NamedTuple

from odradek.channel.core import THE_CONTROLLER
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.results import Results
from odradek.client.admin.routing import CONTROLLER_PASSING
from odradek.protocol.errors import KafkaError, UnacceptableCredential, UnsupportedSaslMechanism, raise_for
from odradek.protocol.messages.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
)
from odradek.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.protocol.vocabulary import ScramMechanism
from odradek.reactor.ports import Stream

DEFAULT_ITERATIONS = 4096
_SALT_BYTES = 16


class ScramCredentialInfo(NamedTuple):
    mechanism: ScramMechanism
    iterations: int


class UserScramCredentialUpsertion(NamedTuple):
    """A user's new password. It stays here: what is sent is made of it. Without a `salt` one is drawn."""

    user: str
    mechanism: ScramMechanism
    password: str | bytes
    iterations: int = DEFAULT_ITERATIONS
    salt: bytes | None = None

    def __repr__(self) -> str:
        return f"UserScramCredentialUpsertion({self.user!r}, {self.mechanism.name})"  # a password is for no log line


class UserScramCredentialDeletion(NamedTuple):
    user: str
    mechanism: ScramMechanism


async def describe_user_scram_credentials(
    asker: Asker, users: Iterable[str] | None = None, *, timeout: float | None = None
) -> Results[str, tuple[ScramCredentialInfo, ...]]:
    """Of these users or of all. ResourceNotFound for one that has none."""

    async def attempt(
        some: list[str] | None, timeout_ms: int
    ) -> dict[str, tuple[ScramCredentialInfo, ...] | KafkaError]:
        names = None if some is None else [UserName(name=user) for user in some]
        request = DescribeUserScramCredentialsRequest(users=names)
        response = await asker.send(THE_CONTROLLER, request, DescribeUserScramCredentialsResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        return {each.user: outcome(each.error_code, each.error_message, _infos(each)) for each in response.results}

    if users is not None:
        return await asker.each(users, attempt, timeout=timeout, passing=CONTROLLER_PASSING)
    found = await asker.one(lambda left_ms: attempt(None, left_ms), timeout=timeout, passing=CONTROLLER_PASSING)
    return Results(found)


async def alter_user_scram_credentials(
    asker: Asker,
    alterations: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
    *,
    timeout: float | None = None,
) -> Results[str, None]:
    """By user: all changes of one are made or none. Brokers refuse two changes of a user, of two mechanisms as well."""
    chance = asker.loop.ports.rng.stream("salts")
    wanted: dict[str, list[ScramCredentialUpsertion | ScramCredentialDeletion]] = {}
    refused: dict[str, KafkaError] = {}
    for alteration in alterations:
        changes = wanted.setdefault(alteration.user, [])
        try:
            changes.append(_change(alteration, chance))
        except KafkaError as error:
            refused.setdefault(alteration.user, error)

    async def attempt(users: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        changes = [change for user in users for change in wanted[user]]
        request = AlterUserScramCredentialsRequest(
            deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
            upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
        )
        response = await asker.send(THE_CONTROLLER, request, AlterUserScramCredentialsResponse, timeout_ms)
        return {each.user: outcome(each.error_code, each.error_message, None) for each in response.results}

    sound = [user for user in wanted if user not in refused]
    done = await asker.each(sound, attempt, timeout=timeout, passing=CONTROLLER_PASSING)
    return Results({**refused, **done.errors, **done.values_ok})


def _infos(found: DescribeUserScramCredentialsResult) -> tuple[ScramCredentialInfo, ...]:
    return tuple(
        ScramCredentialInfo(ScramMechanism(each.mechanism), each.iterations) for each in found.credential_infos
    )


def _change(
    alteration: UserScramCredentialUpsertion | UserScramCredentialDeletion, chance: Stream
) -> ScramCredentialUpsertion | ScramCredentialDeletion:
    """What is wrong with it before anybody is asked is told as a broker would."""
    if not alteration.user:
        raise UnacceptableCredential("Username must not be empty")
    if alteration.mechanism == ScramMechanism.UNKNOWN:
        raise UnsupportedSaslMechanism("Unknown SCRAM mechanism")
    if isinstance(alteration, UserScramCredentialDeletion):
        return ScramCredentialDeletion(name=alteration.user, mechanism=alteration.mechanism)
    if not alteration.password:
        raise UnacceptableCredential("Password must not be empty")
    return _upsertion(alteration, chance)


def _upsertion(alteration: UserScramCredentialUpsertion, chance: Stream) -> ScramCredentialUpsertion:
    user, mechanism, password, iterations, salt = alteration
    if iterations < 1:
        raise UnacceptableCredential("Too few iterations")
    secret = password.encode() if isinstance(password, str) else password
    salt = chance.bytes(_SALT_BYTES) if salt is None else salt
    return ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        salted_password=pbkdf2_hmac(mechanism.hash_name, secret, salt, iterations),
    )
