"""DescribeDelegationToken, API key 41."""

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
