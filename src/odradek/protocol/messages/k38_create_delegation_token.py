"""CreateDelegationToken, API key 38: an authenticated client gets a delegation token (KIP-48).

3.3 serves it in ZooKeeper mode only.

Versions 0-3, flexible from 2. Kafka 3.3 and 3.9 have 0-3, 4.3 1-3. 4.0 dropped 0 (KIP-896).
On broker and controller listeners; a broker forwards it to the controller.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  a token for another owner; response: who asked for it (KIP-373)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    bytes_,
    int16,
    int32,
    int64,
    nullable_string,
    string,
)


class CreatableRenewers(Struct):
    principal_type = string()
    principal_name = string()


class CreateDelegationTokenRequest(Request, key=38, versions="0-3", flexible="2+"):
    owner_principal_type = nullable_string("3+", default="")
    owner_principal_name = nullable_string("3+", default="")
    renewers             = array(CreatableRenewers)
    max_lifetime_ms      = int64()


class CreateDelegationTokenResponse(Response, key=38, versions="0-3", flexible="2+"):
    error_code                     = int16()
    principal_type                 = string()
    principal_name                 = string()
    token_requester_principal_type = string("3+")
    token_requester_principal_name = string("3+")
    issue_timestamp_ms             = int64()
    expiry_timestamp_ms            = int64()
    max_timestamp_ms               = int64()
    token_id                       = string()
    hmac                           = bytes_()
    throttle_time_ms               = int32()
