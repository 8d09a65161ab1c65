"""AlterUserScramCredentials, API key 51."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    bytes_,
    int8,
    int16,
    int32,
    nullable_string,
    string,
)


class ScramCredentialDeletion(Struct):
    name      = string()
    mechanism = int8()


class ScramCredentialUpsertion(Struct):
    name            = string()
    mechanism       = int8()
    iterations      = int32()
    salt            = bytes_()
    salted_password = bytes_()


class AlterUserScramCredentialsRequest(Request, key=51, versions="0", flexible="0+"):
    deletions  = array(ScramCredentialDeletion)
    upsertions = array(ScramCredentialUpsertion)


class AlterUserScramCredentialsResult(Struct):
    user          = string()
    error_code    = int16()
    error_message = nullable_string(default="")


class AlterUserScramCredentialsResponse(Response, key=51, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    results          = array(AlterUserScramCredentialsResult)
