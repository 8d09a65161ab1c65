"""A client proves who it is: the exchange of SaslHandshake and SaslAuthenticate, and the mechanism PLAIN. No I/O.

    INITIAL -> ApiVersions -> SaslHandshake -> SaslAuthenticate ... -> done

A mechanism is a `SaslClient`; the exchange knows nothing of what is in its tokens. ApiVersions comes first because the
version of SaslAuthenticate decides what its answer can tell; the connection asks once more when it is through, as who
is authenticated may be told more.

A token that takes its time, because a password is to be hashed or a server to be asked, is a job: the exchange gives a
`Wait`, whoever has it runs the job and hands in what it returns.

Sessions that end (connections.max.reauth.ms) are told in `session_lifetime_ms`. Before that time is up the connection
begins the exchange once more (KIP-368), from SaslHandshake on, with a new `SaslClient`.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from odradek.broken_rule import instance
from odradek.channel.api_versions import NodeApiVersions, known_versions, next_attempt
from odradek.protocol import errors
from odradek.protocol.apis import API_VERSIONS
from odradek.protocol.declare import Request, Response
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.reactor.ports import JobOf

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
WRAPPED_TOKENS_HANDSHAKE = 1  # the version from which on tokens are SaslAuthenticate requests (KIP-152)


class SaslClient(Protocol):
    """One exchange of one mechanism: PLAIN is here, SCRAM and OAUTHBEARER are in files of their own."""

    mechanism: str

    def token(self, challenge: bytes) -> "bytes | JobOf[bytes] | None":
        """The next token in answer to a challenge (empty at the beginning), or the job that makes it; None once there
        is nothing more to say.

        SaslAuthenticationFailed if the server has not proved itself.
        """
        ...


class PlainSaslClient:
    """SASL/PLAIN (RFC 4616): one token with name and password."""

    __slots__ = ("_is_told", "_password", "_username", "mechanism")

    def __init__(self, username: str, password: str) -> None:
        self.mechanism = "PLAIN"
        self._username = username
        self._password = password
        self._is_told = False

    def token(self, challenge: bytes) -> bytes | None:
        if self._is_told:
            return None
        self._is_told = True
        return f"\0{self._username}\0{self._password}".encode()

    def __repr__(self) -> str:  # never the password
        return f"PlainSaslClient({self._username})"


Step = tuple[Request, int]  # a request and its version


class Wait(NamedTuple):
    """A job makes the next token: `SaslExchange.made` takes it."""

    job: "JobOf[bytes]"


class SaslExchange:
    """`begin`, every `answered` and every `made` give the next request; `answered` gives None when the server is
    convinced, and a `Wait` when the next request is in the making.
    """

    __slots__ = (
        "_authenticate_version",
        "_client",
        "_make_client",
        "_software",
        "_software_version",
        "session_lifetime_ms",
    )

    def __init__(self, make_client: Callable[[], SaslClient], software: ApiVersionsRequest) -> None:
        self._make_client = make_client
        self._client = make_client()
        self._software = software
        self._software_version = known_versions(API_VERSIONS)[1]
        self._authenticate_version = 0
        self.session_lifetime_ms = 0

    def begin(self) -> Step:
        return self._software, self._software_version

    def begin_again(self) -> Step:
        """Authenticates once more on the same connection, without ApiVersions: the server's versions are known."""
        self._client = self._make_client()
        return self._shake_hands()

    def answered(self, response: Response) -> Step | Wait | None:
        """Raises what the server refused us with."""
        if isinstance(response, ApiVersionsResponse):
            return self._api_versions(response)
        if isinstance(response, SaslHandshakeResponse):
            return self._handshake(response)
        return self._authenticate(instance(response, SaslAuthenticateResponse, "the answer belongs to its question"))

    def _api_versions(self, response: ApiVersionsResponse) -> Step:
        if response.error_code == errors.UnsupportedVersion.code and self._software_version > 0:
            self._software_version = next_attempt(response, self._software_version)
            return self._software, self._software_version
        errors.raise_for(response.error_code)
        served = NodeApiVersions.from_response(response)
        self._authenticate_version = served.newest(SASL_AUTHENTICATE)
        served.check(SASL_HANDSHAKE, WRAPPED_TOKENS_HANDSHAKE)
        return self._shake_hands()

    def _shake_hands(self) -> Step:
        return SaslHandshakeRequest(mechanism=self._client.mechanism), WRAPPED_TOKENS_HANDSHAKE

    def _handshake(self, response: SaslHandshakeResponse) -> Step | Wait | None:
        if response.error_code == errors.UnsupportedSaslMechanism.code:
            raise errors.UnsupportedSaslMechanism(
                f"The broker does not offer {self._client.mechanism}; it has {', '.join(response.mechanisms)}."
            )
        errors.raise_for(response.error_code)
        return self._next(b"")

    def _authenticate(self, response: SaslAuthenticateResponse) -> Step | Wait | None:
        errors.raise_for(response.error_code, response.error_message or None)
        self.session_lifetime_ms = response.session_lifetime_ms
        return self._next(bytes(response.auth_bytes))

    def made(self, token: bytes) -> Step:
        """A job has made the token."""
        return SaslAuthenticateRequest(auth_bytes=token), self._authenticate_version

    def _next(self, challenge: bytes) -> Step | Wait | None:
        token = self._client.token(challenge)
        if token is None:
            return None
        return self.made(token) if isinstance(token, bytes) else Wait(token)
