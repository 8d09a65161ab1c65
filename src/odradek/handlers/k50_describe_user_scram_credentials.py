"""DescribeUserScramCredentials, version 0: which mechanisms users have credentials for, and their iterations (KIP-554).

A null or empty list asks for all users. The secrets themselves are never told.

Who may: DESCRIBE on the cluster. Errors, per user: RESOURCE_NOT_FOUND; DUPLICATE_RESOURCE for one that is named twice.
A 3.3 serves it on ZooKeeper only: here it closes the connection.
"""

from collections import Counter

from odradek.handlers.call import BrokerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.metadata.image import MetadataImage
from odradek.protocol import errors
from odradek.protocol.messages.k50_describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from odradek.security.acl import DESCRIBE


@serves(DescribeUserScramCredentialsRequest, versions="0", allow=on_cluster(DESCRIBE))
def describe_user_scram_credentials(
    call: BrokerCall, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    known = _by_user(call.services.metadata.image)
    named = Counter(user.name for user in request.users or ())
    results = [_described(user, count, known) for user, count in sorted((named or Counter(known.keys())).items())]
    return DescribeUserScramCredentialsResponse(results=results)


def _by_user(image: MetadataImage) -> dict[str, list[CredentialInfo]]:
    users: dict[str, list[CredentialInfo]] = {}
    for (mechanism, user), credential in image.scram.by_mechanism_and_user.items():
        users.setdefault(user, []).append(CredentialInfo(mechanism=mechanism, iterations=credential.iterations))
    return users


def _described(user: str, count: int, known: dict[str, list[CredentialInfo]]) -> DescribeUserScramCredentialsResult:
    if count > 1:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=errors.DuplicateResource.code,
            error_message=f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}",
        )
    if user not in known:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=errors.ResourceNotFound.code,
            error_message=f"Attempt to describe a user credential that does not exist: {user}",
        )
    return DescribeUserScramCredentialsResult(user=user, credential_infos=known[user])
