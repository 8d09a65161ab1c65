"""DescribeUserScramCredentials, API key 50: the SCRAM mechanisms and iterations of users, never their keys (KIP-554).

Null or no users ask for all. 3.3 serves it in ZooKeeper mode only.

Version 0, flexible. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners.
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    nullable_array,
    nullable_string,
    string,
)


class UserName(Struct):
    name = string()


class DescribeUserScramCredentialsRequest(Request, key=50, versions="0", flexible="0+"):
    users = nullable_array(UserName, default=[])


class CredentialInfo(Struct):
    mechanism  = int8()
    iterations = int32()


class DescribeUserScramCredentialsResult(Struct):
    user             = string()
    error_code       = int16()
    error_message    = nullable_string(default="")
    credential_infos = array(CredentialInfo)


class DescribeUserScramCredentialsResponse(Response, key=50, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
    results          = array(DescribeUserScramCredentialsResult)
