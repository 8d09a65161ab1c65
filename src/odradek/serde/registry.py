"""A client of a schema registry's HTTP API (Confluent's, which Karapace, Apicurio and Redpanda speak as well).

    registry = SchemaRegistry("https://registry:8081", auth=("me", "secret"), ca_file="ca.pem")
    registry.register("orders-value", Schema(text))

A schema never changes under its id, nor does a version of a subject, so both are asked for once. Calls block; any
thread may make them. Of several addresses the next is asked when one does not answer.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, unquote, urlsplit

from odradek.serde.errors import SerializationError
from odradek.serde.schema import AVRO, Reference, RegisteredSchema, Schema

if TYPE_CHECKING:
    from ssl import SSLContext
    from urllib.request import BaseHandler, OpenerDirector

T = TypeVar("T")

LATEST = "latest"
TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 64 * 1024 * 1024

_CONTENT = "application/vnd.schemaregistry.v1+json"
_SUBJECT_NOT_FOUND, _VERSION_NOT_FOUND, _SCHEMA_NOT_FOUND = 40401, 40402, 40403
_NOT_FOUND = (_SUBJECT_NOT_FOUND, _VERSION_NOT_FOUND, _SCHEMA_NOT_FOUND)


class RegistryError(SerializationError):
    """The registry refused, or could not be asked. `status` is that of HTTP, 0 if there was no answer; `error_code` is
    the registry's own.
    """

    def __init__(self, message: str, status: int = 0, error_code: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code


class SchemaRegistry:
    def __init__(
        self,
        url: str | Sequence[str],
        *,
        auth: tuple[str, str] | None = None,
        token: str | Callable[[], str] | None = None,
        ca_file: str | None = None,
        ssl_context: "SSLContext | None" = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """`auth` is a name and a password, which may also stand in the address; `token` is one for HTTP's Bearer
        scheme; with a `ca_file` or a context of its own the registry's certificate is held against others than the
        machine's.
        """
        urls = [url] if isinstance(url, str) else list(url)
        if not urls or not all(urlsplit(each).scheme in ("http", "https") for each in urls):
            raise ValueError(f"the address of a registry begins with http: or https:, unlike {url!r}")
        self._urls = [_shown(each).rstrip("/") for each in urls]
        self._authorization = _authorization(auth or _auth_in(urls[0]), token)
        self._context = ssl_context
        self._ca_file = ca_file
        self._timeout_s = timeout
        self._made_opener: OpenerDirector | None = None
        self._by_id: dict[int, Schema] = {}
        self._ids: dict[tuple[str, Schema], int] = {}
        self._versions: dict[tuple[str, int], RegisteredSchema] = {}

    def __repr__(self) -> str:
        return f"SchemaRegistry({', '.join(self._urls)})"

    # Schemas

    def register(self, subject: str, schema: Schema) -> int:
        """The id of the schema, which is a version of the subject afterwards."""
        known = self._ids.get((subject, schema))
        if known is None:
            answer = self._ask("POST", f"/subjects/{_escaped(subject)}/versions", schema.body())
            known = self._ids[subject, schema] = _whole(answer, "id")
        return known

    def id_of(self, subject: str, schema: Schema) -> int:
        """The id of a schema that is registered there already; RegistryError if it is not."""
        known = self._ids.get((subject, schema))
        if known is None:
            answer = self._ask("POST", f"/subjects/{_escaped(subject)}", schema.body())
            known = self._ids[subject, schema] = _whole(answer, "id")
        return known

    def schema(self, schema_id: int) -> Schema:
        known = self._by_id.get(schema_id)
        if known is None:
            known = self._by_id[schema_id] = _schema(self._ask("GET", f"/schemas/ids/{schema_id}"))
        return known

    def version(self, subject: str, version: int | str = LATEST) -> RegisteredSchema:
        """The latest one is asked for each time."""
        known = self._versions.get((subject, version)) if isinstance(version, int) else None
        if known is None:
            answer = self._ask("GET", f"/subjects/{_escaped(subject)}/versions/{version}")
            known = RegisteredSchema(subject, _whole(answer, "version"), _whole(answer, "id"), _schema(answer))
            self._versions[subject, known.version] = known
        return known

    # Subjects

    def subjects(self) -> list[str]:
        return _list(self._ask("GET", "/subjects"), str)

    def versions(self, subject: str) -> list[int]:
        return _list(self._ask("GET", f"/subjects/{_escaped(subject)}/versions"), int)

    def delete_subject(self, subject: str, *, permanently: bool = False) -> list[int]:
        """The versions that are gone. Their schemas can still be asked for by their ids, unless it is permanent."""
        path = f"/subjects/{_escaped(subject)}"
        deleted = _list(self._ask("DELETE", path), int)
        if permanently:
            deleted = _list(self._ask("DELETE", f"{path}?permanent=true"), int)
        self._ids = {key: value for key, value in self._ids.items() if key[0] != subject}
        self._versions = {key: value for key, value in self._versions.items() if key[0] != subject}
        return deleted

    # Compatibility

    def is_compatible(self, subject: str, schema: Schema, version: int | str = LATEST) -> bool:
        """With a version of the subject, by the level that holds there. A subject that is not there is compatible."""
        path = f"/compatibility/subjects/{_escaped(subject)}/versions/{version}"
        try:
            answer = self._ask("POST", path, schema.body())
        except RegistryError as error:
            if error.error_code in _NOT_FOUND:
                return True
            raise
        return bool(isinstance(answer, dict) and answer.get("is_compatible"))

    def compatibility(self, subject: str | None = None) -> str:
        """The level (BACKWARD, FULL, NONE ...) of a subject, or of all that have none of their own."""
        path = "/config" if subject is None else f"/config/{_escaped(subject)}?defaultToGlobal=true"
        answer = self._ask("GET", path)
        found = answer.get("compatibilityLevel") if isinstance(answer, dict) else None
        if not isinstance(found, str):
            raise _strange()
        return found

    def set_compatibility(self, level: str, subject: str | None = None) -> None:
        path = "/config" if subject is None else f"/config/{_escaped(subject)}"
        self._ask("PUT", path, {"compatibility": level.upper()})

    # How it asks

    def _ask(self, method: str, path: str, body: dict[str, object] | None = None) -> object:
        failure: RegistryError | None = None
        for url in list(self._urls):
            try:
                return self._ask_one(url, method, path, body)
            except RegistryError as error:
                if 0 < error.status < 500:
                    raise
                failure = error
                self._urls.append(self._urls.pop(0))  # whoever does not answer is asked last the next time
        raise failure or _strange()

    def _ask_one(self, url: str, method: str, path: str, body: dict[str, object] | None) -> object:
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": f"{_CONTENT}, application/json", "Content-Type": _CONTENT, **self._authorization()}
        request = Request(url + path, data, headers, method=method)
        try:
            with self._opener().open(request, timeout=self._timeout_s) as answer:
                return _parsed(answer.read(ANSWER_BYTES_MAX))
        except HTTPError as error:
            with error:
                raise _refused(url, method, path, error.code, error.read(ANSWER_BYTES_MAX)) from None
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise RegistryError(f"The schema registry {url} cannot be asked: {reason}") from error

    def _opener(self) -> "OpenerDirector":
        from urllib.request import HTTPRedirectHandler, HTTPSHandler, build_opener

        class NoRedirect(HTTPRedirectHandler):
            """Another host must not be told the password."""

            def redirect_request(self, *_: object) -> None:
                return None

        if self._made_opener is None:
            handlers: list[BaseHandler] = [NoRedirect()]
            if any(url.startswith("https:") for url in self._urls):
                handlers.append(HTTPSHandler(context=self._tls()))
            self._made_opener = build_opener(*handlers)
        return self._made_opener

    def _tls(self) -> "SSLContext":
        import ssl

        return self._context or ssl.create_default_context(cafile=self._ca_file)


def _authorization(auth: tuple[str, str] | None, token: str | Callable[[], str] | None) -> Callable[[], dict[str, str]]:
    if auth is not None:
        text = f"Basic {b64encode(':'.join(auth).encode()).decode()}"
        return lambda: {"Authorization": text}
    if token is not None:
        return lambda: {"Authorization": f"Bearer {token() if callable(token) else token}"}
    return dict


def _auth_in(url: str) -> tuple[str, str] | None:
    parts = urlsplit(url)
    return None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))


def _refused(url: str, method: str, path: str, status: int, body: bytes) -> RegistryError:
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    found = told if isinstance(told, dict) else {}
    message, code = found.get("message", ""), found.get("error_code", 0)
    text = f"The schema registry {url} answered {method} {path} with status {status}{f': {message}' if message else ''}"
    return RegistryError(text, status, code if isinstance(code, int) else 0)


def _parsed(body: bytes) -> object:
    try:
        found: object = json.loads(body)
    except ValueError:
        raise _strange() from None
    return found


def _schema(answer: object) -> Schema:
    if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
        raise _strange()
    references = answer.get("references") or ()
    return Schema(
        answer["schema"],
        answer.get("schemaType") or AVRO,
        tuple(Reference(each["name"], each["subject"], each["version"]) for each in references),
    )


def _whole(answer: object, name: str) -> int:
    found = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(found, int):
        raise _strange()
    return found


def _list(answer: object, kind: type[T]) -> list[T]:
    if not isinstance(answer, list) or not all(isinstance(each, kind) for each in answer):
        raise _strange()
    return answer


def _strange() -> RegistryError:
    return RegistryError("The schema registry's answer makes no sense: is it one?")


def _escaped(subject: str) -> str:
    return quote(subject, safe="")


def _shown(url: str) -> str:
    """Without the name and the password that may stand in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
