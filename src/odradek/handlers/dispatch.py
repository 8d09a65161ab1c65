"""From a frame to its answer: header, version check, decoding, handler, encoding.

Every pair of API key and version gets a `_Route` when it first comes: the plan that decodes it, the handler, the plan
that encodes the answer. A later request of the pair costs one look-up by its first four bytes, and the header is read
in place: this is the path of every produce and fetch request.

What closes the connection, as it does with Kafka: a header or a body that does not parse, an API key that is unknown or
not served here, a version outside the release profile. The one exception is ApiVersions, whose caller cannot know the
versions yet: it gets UNSUPPORTED_VERSION in version 0, with the range that would be right.
"""

from collections.abc import Coroutine
from functools import partial
from struct import Struct as Layout
from struct import error as LayoutError  # noqa: N812 - an exception, named as one
from typing import Any

from odradek.handlers import table
from odradek.handlers.call import Call, LocalConnection
from odradek.handlers.faults import FaultAction
from odradek.handlers.serves import Served
from odradek.handlers.services import Services
from odradek.protocol import apis, errors
from odradek.protocol.declare import Request, executor
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.parts import Part, records_size
from odradek.reactor.pending import Pending

Answer = list[Part] | None
Answered = Answer | Pending[Any]

_HEADER = Layout(">Iih")  # key and version together, correlation id, size of the client id
_HEADER_BYTES = _HEADER.size
_LENGTH_AND_CORRELATION = Layout(">ii")
_LENGTH_CORRELATION_AND_NO_TAGS = Layout(">iib")
_API_VERSIONS = 18

# What takes long grows with the number of things that a request names, not with the records that it carries. A quarter
# of a million partitions fit in this, far more than a broker should have (docs/decisions/0010).
REQUEST_BYTES_MAX = 8 * 1024 * 1024
_FRAME_BYTES_MAX = 2**31 - 1  # the listener has a limit of its own
_CARRIERS = frozenset((0, 11, 14, 58, 72))  # of records, subscriptions, assignments, other requests, metrics

_read_header = _HEADER.unpack_from
_plain_prefix = _LENGTH_AND_CORRELATION.pack
_flexible_prefix = _LENGTH_CORRELATION_AND_NO_TAGS.pack
_decode = executor.decode
_encode = executor.encode


class _Parked(Pending[Answer]):
    """An answer that a connection waits for. Its cancel means that the connection is gone: a read is given up with it,
    anything else is carried out, as Kafka carries out what it has received.
    """

    __slots__ = ("_read",)

    def __init__(self, waiting: Pending[Any], is_read: bool) -> None:
        super().__init__(waiting._completions)
        self._read = waiting if is_read else None

    def cancel(self) -> bool:
        is_first = super().cancel()
        if is_first and self._read is not None:
            self._read.cancel()
        return is_first


class _Route:
    """One API in one version, with everything that a request of it needs."""

    __slots__ = (
        "allow",
        "bytes_max",
        "handler",
        "has_flexible_answer",
        "has_flexible_header",
        "is_async",
        "is_read",
        "key",
        "refuse",
        "request_plan",
        "response",
        "response_plan",
        "version",
    )

    def __init__(self, served: Served, api: apis.Api, version: int) -> None:
        self.key = api.key
        self.version = version
        self.bytes_max = _FRAME_BYTES_MAX if api.key in _CARRIERS else REQUEST_BYTES_MAX
        self.handler = served.handler
        self.is_async = served.is_async
        self.is_read = served.is_read
        self.allow = served.allow
        self.refuse = served.refuse
        self.request_plan = served.request.plan(version)
        self.response = served.response
        self.response_plan = served.response.plan(version)
        self.has_flexible_header = api.request_header_version(version) == 2
        self.has_flexible_answer = api.response_header_version(version) == 1


class Dispatcher:
    """Answers the requests of one kind of listener."""

    __slots__ = ("_routes", "kind", "services")

    def __init__(self, services: Services, kind: str) -> None:
        self.services = services
        self.kind = kind
        self._routes: dict[int, _Route] = {}  # by the first four bytes of a request

    # From the network

    def serve(self, connection: Any, frame: memoryview) -> Answered:
        """The whole response with its length, None for none, or a Pending of either; PeerProtocolError: close."""
        try:
            key_and_version, correlation_id, client_id_bytes = _read_header(frame)
            route = self._routes[key_and_version]
        except (LayoutError, KeyError):
            return self._serve_first(connection, frame)
        if len(frame) > route.bytes_max:
            raise PeerProtocolError(f"API {route.key} in {len(frame)} bytes, where {route.bytes_max} are allowed", 0)
        at = _HEADER_BYTES
        client_id = None
        if client_id_bytes >= 0:
            at += client_id_bytes
            client_id = _text(frame[_HEADER_BYTES:at], client_id_bytes)
        if route.has_flexible_header:
            at = at + 1 if at < len(frame) and frame[at] == 0 else _behind_header(frame)
        request: Any = _decode(route.request_plan, frame, at)[0]
        call = Call(self.services, connection, route.key, route.version, correlation_id, client_id)
        if self.services.faults is not None:
            return self._serve_with_faults(route, call, request, frame, at)
        return self._answer(route, call, request)

    def _serve_first(self, connection: Any, frame: memoryview) -> Answered:
        """A pair of key and version that is new, or one that gets no answer."""
        if len(frame) < _HEADER_BYTES:
            raise PeerProtocolError("a request header needs at least 10 bytes", len(frame))
        start = RequestHeader.decode(frame, 0)
        key, version = start.request_api_key, start.request_api_version
        if version not in table.accepted(self.services.release, self.kind, key):
            if key == _API_VERSIONS:
                return self._refuse_api_versions(frame, version)
            raise PeerProtocolError(f"API {key} is not served in version {version}", 0)
        self._routes[_read_header(frame)[0]] = _Route(table.find(self.kind, key), apis.by_key(key), version)
        return self.serve(connection, frame)

    def _refuse_api_versions(self, frame: memoryview, version: int) -> list[Part]:
        """Answered in version 0, which every client reads; the header must parse, the body may be anything."""
        from odradek.handlers.k18_api_versions import unsupported_version

        header = RequestHeader.decode(frame, apis.by_key(_API_VERSIONS).request_header_version(version))
        response = unsupported_version(self.services.release, self.kind)
        return _framed(_encode(response.plan(0), response), header.correlation_id, has_tags=False)

    def answer_api_versions(self, frame: memoryview) -> list[Part]:
        """The answer to a frame with ApiVersions on a connection that has not authenticated yet."""
        answer = self.serve(LocalConnection(None, "", ("", 0), is_privileged=False), frame)
        assert isinstance(answer, list), "ApiVersions is answered at once"
        return answer

    # The handler and its answer

    def _answer(self, route: _Route, call: Call, request: Request) -> Answered:
        try:
            if route.allow is not None and not call.authorize(*route.allow):
                raise route.allow.refusal()
            answer = route.handler(call, request)
            if route.is_async:
                answer = self._run(answer)
            if type(answer) is route.response:
                return _framed(_encode(route.response_plan, answer), call.correlation_id, route.has_flexible_answer)
            if answer is None:
                return None
            if answer.is_done:  # it was awaited by nobody and is there already: no trip through the queue
                return self._framed_or_none(route, call, answer.value())
            return self._park(route, call, request, answer)
        except PeerProtocolError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            return self._refused(route, call, request, error)

    def _framed_or_none(self, route: _Route, call: Call, response: Any) -> Answer:
        if response is None:
            return None
        return _framed(_encode(route.response_plan, response), call.correlation_id, route.has_flexible_answer)

    def _run(self, coroutine: Coroutine[Any, None, Any]) -> Any:
        """Runs an async handler to its first wait; its value if it got to the end without one."""
        task = self.services.loop.spawn(coroutine)
        task.is_observed = True  # an error of its own is answered, here or by whoever is called when it is done
        return task.value() if task.is_done else task

    def _park(self, route: _Route, call: Call, request: Request, waiting: Pending[Any]) -> Pending[Answer]:
        assert isinstance(waiting, Pending), f"the handler of API {route.key} returned {waiting!r}"
        parked = _Parked(waiting, route.is_read)
        waiting.when_done(lambda done: self._unpark(route, call, request, done, parked))
        return parked

    def _unpark(self, route: _Route, call: Call, request: Request, done: Pending[Any], parked: Pending[Answer]) -> None:
        if parked.is_done and done.error is not None:
            return  # given up
        try:
            _deliver(parked, self._framed_or_none(route, call, done.value()))
        except PeerProtocolError as error:
            parked.fail(error)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            self._resolve_refused(route, call, request, error, parked)

    def _resolve_refused(
        self, route: _Route, call: Call, request: Request, error: Exception, parked: Pending[Answer]
    ) -> None:
        try:
            parked.resolve(self._refused(route, call, request, error))
        except PeerProtocolError as closing:
            parked.fail(closing)

    def _refused(self, route: _Route, call: Call, request: Request, error: Exception) -> list[Part]:
        """The answer to a request whose handler raised. If even that cannot be made, the connection closes."""
        try:
            response = route.refuse(request, self._as_kafka_error(call, error), route.version)
            return _framed(_encode(route.response_plan, response), call.correlation_id, route.has_flexible_answer)
        except PeerProtocolError:
            raise  # what can only be told by a close, as of a produce request without acks
        except Exception as second:
            self.services.on_error(call, second)
            raise PeerProtocolError(f"API {route.key} could not be answered", 0) from second

    def _as_kafka_error(self, call: Call, error: Exception) -> errors.KafkaError:
        if isinstance(error, errors.KafkaError):
            return error
        self.services.on_error(call, error)
        return errors.UnknownServerError()

    # Without a wire

    def serve_local(
        self,
        request: Request,
        version: int,
        *,
        principal: Any,
        listener: str = "",
        address: tuple[str, int] = ("127.0.0.1", 0),
        client_id: str | None = None,
    ) -> Pending[Any]:
        """Answers a request of this very process: the route of forwarding and of what a broker asks itself.

        The message is a value on both sides: whoever sent it does not change it afterwards.
        """
        assert request.api_key is not None
        connection = LocalConnection(principal, listener, address)
        call = Call(self.services, connection, request.api_key, version, 0, client_id)
        route = _Route(table.find(self.kind, request.api_key), apis.by_key(request.api_key), version)
        return self.services.loop.spawn(self._answer_local(route, call, request))

    async def _answer_local(self, route: _Route, call: Call, request: Request) -> Any:
        try:
            if route.allow is not None and not call.authorize(*route.allow):
                raise route.allow.refusal()
            answer = route.handler(call, request)
            return await answer if route.is_async or isinstance(answer, Pending) else answer
        except PeerProtocolError:
            raise  # whoever forwarded the request closes the connection that it came from
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            return route.refuse(request, self._as_kafka_error(call, error), route.version)

    # Faults

    def _serve_with_faults(self, route: _Route, call: Call, request: Any, frame: memoryview, at: int) -> Answered:
        assert self.services.faults is not None
        is_of_peer = not isinstance(call.connection, LocalConnection)  # else its authenticator needs the answer at once
        action = self.services.faults.before(call, request) if is_of_peer else None
        if action is None:
            return self._answer(route, call, request)
        if action.delay_ms == 0:
            return self._act(action, route, call, request)
        kept = bytes(frame)  # the frame is dead by the time the delay is over
        again: Any = _decode(route.request_plan, memoryview(kept), at)[0]
        return self._carried_out(self._act_later(action, route, call, again))

    def _carried_out(self, coroutine: Coroutine[Any, None, Answer]) -> Pending[Answer]:
        """A fault is played to its end, even if the client has hung up."""
        task = self.services.loop.spawn(coroutine)
        parked = _Parked(task, is_read=False)
        task.when_done(lambda done: _pass_on(done, parked))
        return parked

    async def _act_later(self, action: FaultAction, route: _Route, call: Call, request: Request) -> Answer:
        await self.services.loop.sleep(action.delay_ms)
        answer = self._act(action, route, call, request)
        return await answer if isinstance(answer, Pending) else answer

    def _act(self, action: FaultAction, route: _Route, call: Call, request: Request) -> Answered:
        if action.disconnect:
            raise PeerProtocolError("the connection is closed by fault injection", 0)
        if action.error_code:
            return self._refused(route, call, request, errors.by_code(action.error_code)())
        if action.stand_in is not None:
            handle = partial(self._answer_local, route, call)
            standing_in = self.services.loop.spawn(action.stand_in(call, request, handle, route.refuse))
            return self._park(route, call, request, standing_in)
        answer = self._answer(route, call, request)
        if not action.drop_response:
            return answer
        return self._carried_out(self._lose(answer, action.hang_ms))

    async def _lose(self, answer: Answered, hang_ms: int) -> Answer:
        """What follows a lost answer would be lost too: the connection says nothing more, then it is gone."""
        try:
            _release(await answer if isinstance(answer, Pending) else answer)
        finally:
            await self.services.loop.sleep(hang_ms)
        raise PeerProtocolError("the response is lost by fault injection", 0)


def _framed(parts: list[Part], correlation_id: int, has_tags: bool) -> list[Part]:
    """The parts with length and response header before them; what is small is one piece, so that it is one send."""
    first = parts[0]
    size = len(first) if len(parts) == 1 else _size(parts)  # type: ignore[arg-type]
    prefix = _flexible_prefix(size + 5, correlation_id, 0) if has_tags else _plain_prefix(size + 4, correlation_id)
    if type(first) is bytes:
        parts[0] = prefix + first
    else:
        parts.insert(0, prefix)
    return parts


def _size(parts: list[Part]) -> int:
    size = 0
    for part in parts:
        size += len(part) if type(part) is bytes or type(part) is bytearray else records_size(part)
    return size


def _pass_on(done: Pending[Answer], parked: Pending[Answer]) -> None:
    if done.error is not None:
        parked.fail(done.error)
    else:
        _deliver(parked, done.value())


def _deliver(parked: Pending[Answer], answer: Answer) -> None:
    if not parked.resolve(answer):
        _release(answer)


def _release(answer: Answer) -> None:
    """Lets go of an answer that nobody will send: a range of a file keeps that open."""
    for part in answer or ():
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part.release()  # type: ignore[attr-defined]  # a reactor.file_range.FileRange


def _text(view: memoryview, size: int) -> str:
    if len(view) < size:
        raise PeerProtocolError(f"the client id claims {size} bytes, {len(view)} remain", 8)
    try:
        return str(view, "utf-8")
    except UnicodeDecodeError:
        raise PeerProtocolError("the client id is not UTF-8", _HEADER_BYTES) from None


def _behind_header(frame: memoryview) -> int:
    """Where the body begins behind a header with tagged fields."""
    _, at = RequestHeader.decode_prefix(frame, 2)
    return at
