"""DescribeDelegationToken, API key 41: the delegation tokens that the caller may see (KIP-48).

Null owners ask for all of them. 3.3 serves it in ZooKeeper mode only.

Versions 0-3, flexible from 2. Kafka 3.3 and 3.9 have 0-3, 4.3 1-3. 4.0 dropped 0 (KIP-896).
On broker and controller listeners.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  response: who asked for the token (KIP-373)
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
    nullable_array,
    string,
)


class DescribeDelegationTokenOwner(Struct):
    principal_type = string()
    principal_name = string()


class DescribeDelegationTokenRequest(Request, key=41, versions="0-3", flexible="2+"):
    owners = nullable_array(DescribeDelegationTokenOwner, default=[])


class DescribedDelegationTokenRenewer(Struct):
    principal_type = string()
    principal_name = string()


class DescribedDelegationToken(Struct):
    principal_type                 = string()
    principal_name                 = string()
    token_requester_principal_type = string("3+")
    token_requester_principal_name = string("3+")
    issue_timestamp                = int64()
    expiry_timestamp               = int64()
    max_timestamp                  = int64()
    token_id                       = string()
    hmac                           = bytes_()
    renewers                       = array(DescribedDelegationTokenRenewer)


class DescribeDelegationTokenResponse(Response, key=41, versions="0-3", flexible="2+"):
    error_code       = int16()
    tokens           = array(DescribedDelegationToken)
    throttle_time_ms = int32()
