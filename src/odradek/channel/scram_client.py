"""SASL/SCRAM (RFC 5802) as a client speaks it, with SHA-256 or SHA-512. No I/O.

    client first    n,,n=NAME,r=NONCE
    server first    r=NONCE AND MORE,s=SALT,i=ITERATIONS
    client final    c=biws,r=NONCE AND MORE,p=PROOF
    server final    v=SIGNATURE

The password never travels: both sides prove that they know what is made of it. To make that, thousands of rounds of a
hash, takes milliseconds, so it is a job; the brokers of a cluster have the same salt for a user, so it is made once.

A delegation token logs in the same way: its id is the name, its HMAC the password, and `tokenauth=true` says so.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import new, pbkdf2_hmac

from odradek.protocol.errors import SaslAuthenticationFailed
from odradek.reactor.ports import JobOf

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

ITERATIONS_MIN = 4096  # fewer make it too easy to find the password from what was overheard
ITERATIONS_MAX = 1_000_000  # more would only keep us busy

_HEADER = "n,,"  # no channel binding, no other name to act for
_HEADER_AGAIN = b64encode(_HEADER.encode()).decode()


class ScramCredentials:
    """A name and a password, with what was made of them: shared by all logins of a client."""

    __slots__ = ("_password", "_salted", "is_token", "make_nonce", "mechanism", "username")

    def __init__(
        self,
        mechanism: str,
        username: str,
        password: str,
        make_nonce: Callable[[], str],
        *,
        is_token: bool = False,
    ) -> None:
        self.mechanism = mechanism
        self.username = username
        self.make_nonce = make_nonce
        self.is_token = is_token
        self._password = password
        self._salted: tuple[bytes, int, bytes] | None = None

    def known(self, salt: bytes, iterations: int) -> bytes | None:
        salted = self._salted
        return salted[2] if salted is not None and salted[:2] == (salt, iterations) else None

    def salted(self, salt: bytes, iterations: int) -> bytes:
        """Takes milliseconds: for jobs."""
        made = pbkdf2_hmac(HASHES[self.mechanism], self._password.encode(), salt, iterations)
        self._salted = (salt, iterations, made)
        return made

    def __repr__(self) -> str:  # never the password
        return f"ScramCredentials({self.mechanism}, {self.username})"


class ScramSaslClient:
    """One login."""

    __slots__ = ("_credentials", "_first_bare", "_hash_name", "_nonce", "_signature", "mechanism")

    def __init__(self, credentials: ScramCredentials) -> None:
        self.mechanism = credentials.mechanism
        self._credentials = credentials
        self._hash_name = HASHES[credentials.mechanism]
        self._nonce = credentials.make_nonce()
        self._first_bare = ""
        self._signature: bytes | None = None  # what the server has to answer

    def token(self, challenge: bytes) -> "bytes | JobOf[bytes] | None":
        if not self._first_bare:
            return self._first()
        if self._signature is None:
            return self._final(challenge)
        self._check_signature(challenge)
        return None

    def _first(self) -> bytes:
        name = self._credentials.username.replace("=", "=3D").replace(",", "=2C")
        extensions = ",tokenauth=true" if self._credentials.is_token else ""
        self._first_bare = f"n={name},r={self._nonce}{extensions}"
        return f"{_HEADER}{self._first_bare}".encode()

    def _final(self, challenge: bytes) -> "bytes | JobOf[bytes]":
        fields = _fields(challenge)
        nonce, salt, iterations = _of_server(fields)
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise SaslAuthenticationFailed("The broker's SCRAM nonce does not go on from ours: it may be a replay.")
        if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            raise SaslAuthenticationFailed(
                f"The broker asks for {iterations} iterations of SCRAM; {ITERATIONS_MIN} to {ITERATIONS_MAX} are taken."
            )
        without_proof = f"c={_HEADER_AGAIN},r={nonce}"
        signed = f"{self._first_bare},{challenge.decode()},{without_proof}".encode()
        salted = self._credentials.known(salt, iterations)
        if salted is not None:
            return self._proof(salted, signed, without_proof)
        return self._job(salt, iterations, signed, without_proof)

    def _job(self, salt: bytes, iterations: int, signed: bytes, without_proof: str) -> "JobOf[bytes]":
        yield 0
        return self._proof(self._credentials.salted(salt, iterations), signed, without_proof)

    def _proof(self, salted: bytes, signed: bytes, without_proof: str) -> bytes:
        client_key = self._hmac(salted, b"Client Key")
        client_signature = self._hmac(new(self._hash_name, client_key).digest(), signed)
        proof = bytes(left ^ right for left, right in zip(client_key, client_signature, strict=True))
        self._signature = self._hmac(self._hmac(salted, b"Server Key"), signed)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def _check_signature(self, challenge: bytes) -> None:
        fields = _fields(challenge)
        if "e" in fields:
            raise SaslAuthenticationFailed(f"The broker refused the SCRAM login: {fields['e']}.")
        if not hmac.compare_digest(_decoded(fields.get("v", "")), self._signature or b""):
            raise SaslAuthenticationFailed("The broker has not proved that it knows the password.")

    def _hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash_name)

    def __repr__(self) -> str:
        return f"ScramSaslClient({self._credentials!r})"


def _fields(challenge: bytes) -> dict[str, str]:
    try:
        parts = challenge.decode().split(",")
    except ValueError:
        raise _no_message() from None
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}


def _of_server(fields: dict[str, str]) -> tuple[str, bytes, int]:
    if "e" in fields:
        raise SaslAuthenticationFailed(f"The broker refused the SCRAM login: {fields['e']}.")
    iterations = fields.get("i", "")
    if not fields.get("r") or not fields.get("s") or not iterations.isdecimal() or len(iterations) > 10:
        raise _no_message()
    return fields["r"], _decoded(fields["s"]), int(iterations)


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise _no_message() from None


def _no_message() -> SaslAuthenticationFailed:
    return SaslAuthenticationFailed("The broker's SCRAM message makes no sense.")
