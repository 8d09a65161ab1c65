"""`--add-scram` of the storage tool: a user's first credential, before there is a broker to ask.

    SCRAM-SHA-256=[name=alice,password=alice-secret]
    SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]

Salt and salted password are base64. What is stored is derived (RFC 5802): the password itself is nowhere.
"""

import re
from binascii import Error, a2b_base64

from odradek.metadata.scram import SCRAM_SHA_256, SCRAM_SHA_512
from odradek.protocol.messages.metadata_cluster import UserScramCredentialRecord
from odradek.reactor.ports import Stream

ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384
SALT_BYTES = 16

_MECHANISMS = {"SCRAM-SHA-256": (SCRAM_SHA_256, "sha256"), "SCRAM-SHA-512": (SCRAM_SHA_512, "sha512")}
_NAMES = frozenset({"name", "password", "iterations", "salt", "saltedpassword"})
_OUTER = re.compile(r"\s*([^=\[\]]+?)\s*=\s*\[(.*)\]\s*\Z", re.DOTALL)
_INNER = re.compile(r'\s*([a-z]+)\s*=\s*(?:"([^"]*)"|([^,"]*))\s*(?:,|\Z)')


class BadScramArgument(ValueError):  # noqa: N818 - what was given, not what went wrong here
    """One line for the user."""


def credential_of(argument: str, chance: Stream) -> UserScramCredentialRecord:
    outer = _OUTER.match(argument)
    if outer is None:
        raise BadScramArgument("add-scram is MECHANISM=[name=USER,password=PASSWORD]")
    if outer[1] not in _MECHANISMS:
        raise BadScramArgument(f"The add-scram mechanism {outer[1]} is not supported.")
    return _record(outer[1], _values(outer[2]), chance)


def _record(mechanism: str, values: dict[str, str], chance: Stream) -> UserScramCredentialRecord:
    if not values.get("name"):
        raise BadScramArgument("You must supply 'name' to add-scram")
    if ("password" in values) == ("saltedpassword" in values):
        raise BadScramArgument("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if "saltedpassword" in values and "salt" not in values:
        raise BadScramArgument("You must supply 'salt' with 'saltedpassword' to add-scram")
    iterations = _iterations(values.get("iterations", str(ITERATIONS_MIN)), mechanism)
    salt = _base64(values["salt"], "salt") if "salt" in values else chance.bytes(SALT_BYTES)
    number, digest = _MECHANISMS[mechanism]
    if "password" in values:
        salted = _salted(digest, values["password"], salt, iterations)
    else:
        salted = _base64(values["saltedpassword"], "saltedpassword")
    stored_key, server_key = _keys(digest, salted)
    return UserScramCredentialRecord(
        name=values["name"],
        mechanism=number,
        salt=salt,
        stored_key=stored_key,
        server_key=server_key,
        iterations=iterations,
    )


def _values(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    position = 0
    while position < len(text):
        pair = _INNER.match(text, position)
        if pair is None or pair[1] not in _NAMES or pair[1] in values:
            known = ", ".join(sorted(_NAMES))
            raise BadScramArgument(f"add-scram takes each of {known} once, as name=value separated by commas")
        values[pair[1]] = pair[2] if pair[2] is not None else pair[3].strip()
        position = pair.end()
    return values


def _iterations(text: str, mechanism: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise BadScramArgument(f"The 'iterations' value of add-scram is a number, not {text[:40]}")
    what = f"for add-scram using {mechanism.replace('-', '_')}"
    if int(text) < ITERATIONS_MIN:
        raise BadScramArgument(f"The 'iterations' value must be >= {ITERATIONS_MIN} {what}")
    if int(text) > ITERATIONS_MAX:
        raise BadScramArgument(f"The 'iterations' value must be <= {ITERATIONS_MAX} {what}")
    return int(text)


def _base64(text: str, name: str) -> bytes:
    try:
        return a2b_base64(text, strict_mode=True)
    except (Error, ValueError):
        raise BadScramArgument(f"The '{name}' value of add-scram is not base64") from None


def _salted(digest: str, password: str, salt: bytes, iterations: int) -> bytes:
    from hashlib import pbkdf2_hmac

    return pbkdf2_hmac(digest, password.encode(), salt, iterations)


def _keys(digest: str, salted: bytes) -> tuple[bytes, bytes]:
    """The stored key and the server key."""
    import hashlib
    import hmac

    client_key = hmac.digest(salted, b"Client Key", digest)
    return hashlib.new(digest, client_key).digest(), hmac.digest(salted, b"Server Key", digest)
