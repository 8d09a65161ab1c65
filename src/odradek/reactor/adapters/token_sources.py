"""Where an OAuth token comes from, if it is not from the program itself: a file, or a server that is asked over HTTP.

Everything here may block, and is for jobs. An OSError means that it may work later; a TokenRefused that it will not.
"""

import json
import time
from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from http.client import HTTPResponse

ANSWER_BYTES_MAX = 1024 * 1024
_SERVER_ERRORS = range(500, 600)


class TokenRefused(ValueError):  # noqa: N818 - it tells what the server did
    """There is no token for who asks so. The text says why, and has no secret."""


class Endpoint(NamedTuple):
    """A server that gives tokens for a client's id and secret (OAuth's grant of client credentials)."""

    url: str
    client_id: str
    client_secret: str
    scope: str = ""
    escapes_credentials: bool = False
    timeout_s: float = 10.0

    def __repr__(self) -> str:  # never the secret
        return f"Endpoint({self.url}, {self.client_id})"


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def token_of_file(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        text = file.read(ANSWER_BYTES_MAX).strip()
    if not text:
        raise TokenRefused(f"there is no token in {path}")
    return text


def token_of_endpoint(endpoint: Endpoint) -> str:
    where = _shown(endpoint.url)
    status, body = _posted(endpoint)
    if status in _SERVER_ERRORS or status == 429:
        raise OSError(f"{where} answered with status {status}")
    if status != 200:
        raise TokenRefused(f"{where} gave no token: status {status}{_reason(body)}")
    found = _json(body)
    token = found.get("access_token") or found.get("id_token")
    if not isinstance(token, str):
        raise TokenRefused(f"{where} answered without an access_token")
    return token


def _posted(endpoint: Endpoint) -> tuple[int, bytes]:
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        """Another host must not be told the secret."""

        def redirect_request(self, *_: object) -> None:
            return None

    fields = {"grant_type": "client_credentials"} | ({"scope": endpoint.scope} if endpoint.scope else {})
    request = Request(endpoint.url, urlencode(fields).encode(), method="POST")
    request.add_header("Accept", "application/json")
    request.add_header("Authorization", f"Basic {_basic(endpoint)}")
    request.add_header("Content-Type", "application/x-www-form-urlencoded")
    try:
        with build_opener(NoRedirect).open(request, timeout=endpoint.timeout_s) as answer:
            return _read(answer)
    except HTTPError as error:
        with error:
            return error.code, error.read(ANSWER_BYTES_MAX)
    except URLError as error:
        raise OSError(f"{_shown(endpoint.url)} cannot be asked: {error.reason}") from error


def _read(answer: "HTTPResponse") -> tuple[int, bytes]:
    return answer.status, answer.read(ANSWER_BYTES_MAX)


def _basic(endpoint: Endpoint) -> str:
    client_id, secret = endpoint.client_id, endpoint.client_secret
    if endpoint.escapes_credentials:
        client_id, secret = quote(client_id, safe=""), quote(secret, safe="")
    return b64encode(f"{client_id}:{secret}".encode()).decode()


def _reason(body: bytes) -> str:
    found = _json(body)
    said = found.get("error_description") or found.get("error")
    return f", {said}" if isinstance(said, str) and said.isprintable() else ""


def _json(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _shown(url: str) -> str:
    """Without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
