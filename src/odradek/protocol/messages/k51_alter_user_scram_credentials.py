"""AlterUserScramCredentials, API key 51: an admin sets or deletes SCRAM credentials (KIP-554).

The controller decides. The salted password comes from the client, the server never sees the plain one.
3.3 serves it in ZooKeeper mode only.

Version 0, flexible. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners; a broker forwards it to the controller.
"""

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
