"""AlterUserScramCredentials. The client sends the salted password; only keys made of it are kept."""

import hashlib
import hmac

from odradek.controller.state import ControllerState
from odradek.metadata import versions
from odradek.metadata.scram import SCRAM_SHA_256, SCRAM_SHA_512, ScramCredential
from odradek.protocol.declare import Message
from odradek.protocol.errors import (
    NONE,
    DuplicateResource,
    KafkaError,
    ResourceNotFound,
    UnacceptableCredential,
    UnknownServerError,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from odradek.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.protocol.messages.metadata_cluster import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from odradek.replicated.decision import Decision

HASHES = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}
ITERATIONS = (4096, 16384)


def alter_credentials(
    state: ControllerState, request: AlterUserScramCredentialsRequest
) -> Decision[AlterUserScramCredentialsResponse]:
    """A request may change one mechanism of a user: with a second change none is made. The first refusal is told."""
    if state.features.metadata_version < versions.SCRAM:
        raise UnsupportedVersion("The current metadata version does not support SCRAM")
    changes: dict[str, Message | None] = {}
    errors: dict[str, KafkaError] = {}
    wanted: list[ScramCredentialDeletion | ScramCredentialUpsertion] = [*request.deletions, *request.upsertions]
    for item in wanted:
        try:
            if item.name in changes:
                raise DuplicateResource("A user credential cannot be altered twice in the same request")
            changes[item.name] = None
            changes[item.name] = _changed(state, item)
        except KafkaError as error:
            errors.setdefault(item.name, error)
    records = [record for user, record in changes.items() if user not in errors and record is not None]
    results = [_result(user, errors.get(user)) for user in changes]
    return Decision(state.versioned(records), AlterUserScramCredentialsResponse(results=results))


def _changed(state: ControllerState, item: ScramCredentialDeletion | ScramCredentialUpsertion) -> Message:
    if not item.name:
        raise UnacceptableCredential("Username must not be empty")
    if item.mechanism not in HASHES:
        raise UnsupportedSaslMechanism("Unknown SCRAM mechanism")
    if isinstance(item, ScramCredentialDeletion):
        if state.scram.get((item.mechanism, item.name)) is None:
            raise ResourceNotFound("Attempt to delete a user credential that does not exist")
        return RemoveUserScramCredentialRecord(name=item.name, mechanism=item.mechanism)
    if item.iterations < ITERATIONS[0]:
        raise UnacceptableCredential("Too few iterations")
    if item.iterations > ITERATIONS[1]:
        raise UnacceptableCredential("Too many iterations")
    if not item.salted_password:
        raise UnknownServerError()  # so does Kafka
    return _credential_record(item)


def _credential_record(item: ScramCredentialUpsertion) -> UserScramCredentialRecord:
    digest = HASHES[item.mechanism]
    client_key = hmac.digest(item.salted_password, b"Client Key", digest)
    stored_key = hashlib.new(digest, client_key).digest()
    server_key = hmac.digest(item.salted_password, b"Server Key", digest)
    credential = ScramCredential(item.salt, stored_key, server_key, item.iterations)
    return credential.record(item.mechanism, item.name)


def _result(user: str, error: KafkaError | None) -> AlterUserScramCredentialsResult:
    if error is None:
        return AlterUserScramCredentialsResult(user=user, error_code=NONE, error_message=None)
    message = None if isinstance(error, UnknownServerError) else error.message
    return AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=message)
