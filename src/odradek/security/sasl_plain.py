"""SASL/PLAIN (RFC 4616): authorization id, user name and password in one message, separated by NUL."""

from hmac import compare_digest
from typing import NoReturn

from odradek.config.errors import ConfigError
from odradek.config.jaas import LoginModule
from odradek.security.mechanism import SaslAuthenticationFailed
from odradek.security.principal import USER, Principal

LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_USER_OPTION = "user_"


class PlainCredentials:
    """The users of one listener, from the options `user_NAME="password"` of its login module."""

    __slots__ = ("_passwords",)

    def __init__(self, passwords: dict[str, str]) -> None:
        self._passwords = {name: password.encode() for name, password in passwords.items()}

    @classmethod
    def from_login_module(cls, module: LoginModule) -> "PlainCredentials":
        if module.name != LOGIN_MODULE:
            raise ConfigError(f"SASL/PLAIN needs the login module {LOGIN_MODULE}, not {module.name}")
        users = {key: value for key, value in module.options.items() if key.startswith(_USER_OPTION)}
        return cls({key.removeprefix(_USER_OPTION): value for key, value in users.items()})

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._passwords)

    def accepts(self, name: str, password: str) -> bool:
        """Takes as long for an unknown user as for a known one."""
        expected = self._passwords.get(name)
        given = password.encode()
        is_same = compare_digest(given if expected is None else expected, given)
        return is_same and expected is not None


class PlainServer:
    """One exchange: a single message decides."""

    __slots__ = ("_credentials", "principal")

    def __init__(self, credentials: PlainCredentials) -> None:
        self._credentials = credentials
        self.principal: Principal | None = None

    def evaluate(self, token: bytes) -> bytes:
        authorization_id, name, password = _fields(token)
        if not name:
            _fail("Authentication failed: username not specified")
        if not password:
            _fail("Authentication failed: password not specified")
        if not self._credentials.accepts(name, password):
            _fail("Authentication failed: Invalid username or password")
        if authorization_id and authorization_id != name:
            _fail("Authentication failed: Client requested an authorization id that is different from username")
        self.principal = Principal(USER, name)
        return b""


def _fields(token: bytes) -> list[str]:
    fields = token.decode("utf-8", errors="replace").split("\0", 3)
    if len(fields) != 3:
        _fail(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(fields)}")
    return fields


def _fail(message: str) -> NoReturn:
    raise SaslAuthenticationFailed(message)
