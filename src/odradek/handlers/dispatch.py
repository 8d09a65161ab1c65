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
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from odradek.broken_rule import BrokenRuleError, present
from odradek.handlers import table
from odradek.handlers.call import Call, LocalConnection
from odradek.handlers.error_counts import Count, ErrorCounts
from odradek.handlers.faults import FaultAction, Faults
from odradek.handlers.serves import Served
from odradek.handlers.services import Services
from odradek.protocol import apis, errors
from odradek.protocol.apis import API_VERSIONS
from odradek.protocol.codec import REQUEST_HEAD_BYTES
from odradek.protocol.declare import Request, Response, executor
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.parts import Part
from odradek.reactor.file_range import FileRange
from odradek.reactor.pending import Pending
from odradek.security.principal import Principal

if TYPE_CHECKING:
    from odradek.network.server_connection import ServerConnection

S = TypeVar("S", bound=Services)

# The parts of a frame with a response, its length and header included; None where a request gets no response.
Parts = list[Part] | None
PartsOrPending = Parts | Pending[Parts]

# A handler's Pending is one of its own response, which is no Pending of Response to mypy: it stands as Pending[Any].

_HEADER = Layout(">Ii")  # key and version together, correlation id

_read_header = _HEADER.unpack_from
_decode = executor.decode
_decode_request = executor.decode_request
_encode_response = executor.encode_response


class _Parked(Pending[Parts]):
    """An answer that a connection waits for. Its cancel means that the connection is gone: a read is given up with it,
    anything else is carried out, as Kafka carries out what it has received.
    """

    __slots__ = ("_read",)

    def __init__(self, waiting: Pending[Any], is_read: bool) -> None:
        super().__init__(waiting._completions)
        self._read = waiting if is_read else None

    def deliver(self, parts: Parts) -> None:
        """Called from the queue of completions, where nothing else is under way: whoever waits goes on right here, not
        by way of the queue once more.
        """
        callbacks, self._callbacks = self._callbacks, []
        if not self.resolve(parts):
            _release(parts)
        for callback in callbacks:
            callback(self)

    def take(self, done: Pending[Parts]) -> bool:
        is_first = super().take(done)
        if not is_first and done.error is None:
            _release(done.value())
        return is_first

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
        "count_at_once",
        "count_errors",
        "handler",
        "has_flexible_answer",
        "header_plan",
        "is_async",
        "is_read",
        "key",
        "refuse",
        "request_plan",
        "response",
        "response_plan",
        "takes_long",
        "version",
    )

    def __init__(self, served: Served, api: apis.Api, version: int, error_counts: ErrorCounts) -> None:
        self.key = api.key
        self.count_errors = error_counts.counter(api.key, served.response, version)
        self.count_at_once = None if served.counts_errors else self.count_errors
        self.version = version
        self.bytes_max = apis.request_bytes_max(api.key)
        self.handler = served.handler
        self.is_async = served.is_async
        self.is_read = served.is_read
        self.allow = served.allow
        self.refuse = served.refuse
        self.takes_long = served.is_async or served.allow is not None  # there is more to it than to call the handler
        self.request_plan = served.request.plan(version)
        self.response = served.response
        self.response_plan = served.response.plan(version)
        self.header_plan = RequestHeader.plan(2) if api.request_header_version(version) == 2 else None
        self.has_flexible_answer = api.response_header_version(version) == 1


class Dispatcher(Generic[S]):
    """Answers the requests of one kind of listener, that of its services."""

    __slots__ = ("_routes", "faults", "kind", "services")

    def __init__(self, services: S, faults: Faults | None = None) -> None:
        """`faults` are asked before every request of a peer is handled; see `testing/`."""
        self.services = services
        self.kind = services.kind
        self.faults = faults
        self._routes: dict[int, _Route] = {}  # by the first four bytes of a request

    # From the network

    def serve(self, connection: "ServerConnection | LocalConnection", frame: memoryview) -> PartsOrPending:
        """Answers a frame: the whole response with its length, None for no response, or a Pending of either.

        Raises PeerProtocolError if the connection is to be closed."""
        try:
            key_and_version, correlation_id = _read_header(frame)
            route = self._routes[key_and_version]
        except (LayoutError, KeyError):
            return self._serve_first(connection, frame)
        if len(frame) > route.bytes_max:
            raise PeerProtocolError(f"API {route.key} in {len(frame)} bytes, where {route.bytes_max} are allowed", 0)
        request, client_id, at = _decode_request(route.request_plan, route.header_plan, frame)
        call = Call(self.services, connection, route.key, route.version, correlation_id, client_id)
        if self.faults is not None:
            return self._serve_with_faults(self.faults, route, call, request, frame, at)
        if route.takes_long:
            return self._answer(route, call, request)
        # What follows is `_answer` and `_framed_or_parked` for a handler that needs no permission for the whole request
        # and is not async: produce, fetch and others like them. Their answer is nearly always there at once; if it is
        # not, `_framed_or_parked` goes on from where this has come to, and the handler has been called once either way.
        try:
            returned = route.handler(call, request)
            if type(returned) is route.response:
                if route.count_at_once is not None:
                    route.count_at_once(returned)
                return _encode_response(route.response_plan, returned, correlation_id, route.has_flexible_answer)
        except PeerProtocolError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            return self._refused(route, call, request, error)
        return self._framed_or_parked(route, call, request, returned)

    def _serve_first(self, connection: "ServerConnection | LocalConnection", frame: memoryview) -> PartsOrPending:
        """Serves the first frame with a pair of key and version, or refuses one that is not served."""
        if len(frame) < REQUEST_HEAD_BYTES:
            raise PeerProtocolError(f"a request header needs at least {REQUEST_HEAD_BYTES} bytes", len(frame))
        start = RequestHeader.decode(frame, 0)
        key, version = start.request_api_key, start.request_api_version
        if version not in table.accepted(self.services.release, self.kind, key):
            if key == API_VERSIONS:
                return self._refuse_api_versions(frame, version)
            raise PeerProtocolError(f"API {key} is not served in version {version}", 0)
        self._routes[_read_header(frame)[0]] = self._route(key, version)
        return self.serve(connection, frame)

    def _route(self, key: int, version: int) -> _Route:
        return _Route(table.find(self.kind, key), apis.by_key(key), version, self.services.error_counts)

    def _refuse_api_versions(self, frame: memoryview, version: int) -> list[Part]:
        """Answers in version 0, which every client reads. The header must parse, the body may be anything."""
        from odradek.handlers.k18_api_versions import unsupported_version

        header = RequestHeader.decode(frame, apis.by_key(API_VERSIONS).request_header_version(version))
        response = unsupported_version(self.services.release, self.kind)
        self.services.error_counts.counter(API_VERSIONS, type(response), 0)(response)
        return _encode_response(response.plan(0), response, header.correlation_id, False)

    # The handler and its answer

    def _answer(self, route: _Route, call: Call[S], request: Request) -> PartsOrPending:
        try:
            if route.allow is not None and not call.authorize(*route.allow):
                raise route.allow.refusal()
            returned = route.handler(call, request)
            if route.is_async:
                returned = self._run(returned)
        except PeerProtocolError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            return self._refused(route, call, request, error)
        return self._framed_or_parked(route, call, request, returned)

    def _framed_or_parked(
        self, route: _Route, call: Call[S], request: Request, returned: Response | Pending[Any] | None
    ) -> PartsOrPending:
        """Makes parts of what a handler has returned: a response, None for none, or something that it waits for."""
        try:
            if returned is None or type(returned) is route.response:
                return self._framed_or_none(route, call, returned, route.count_at_once)
            if not isinstance(returned, Pending):
                raise BrokenRuleError(f"the handler of API {route.key} returned {returned!r}")
            if returned.is_done:  # it was awaited by nobody and is there already: no trip through the queue
                return self._framed_or_none(route, call, returned.value(), route.count_errors)
            return self._park(route, call, request, returned)
        except PeerProtocolError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            return self._refused(route, call, request, error)

    def _framed_or_none(self, route: _Route, call: Call[S], response: Response | None, count: Count | None) -> Parts:
        if response is None:
            return None
        if count is not None:
            count(response)
        return _encode_response(route.response_plan, response, call.correlation_id, route.has_flexible_answer)

    def _run(self, coroutine: Coroutine[object, None, Response | None]) -> Response | Pending[Response | None] | None:
        """Runs an async handler to its first wait; its value if it got to the end without one."""
        task = self.services.loop.spawn(coroutine)
        task.is_observed = True  # an error of its own is answered, here or by whoever is called when it is done
        return task.value() if task.is_done else task

    def _park(self, route: _Route, call: Call[S], request: Request, waiting: Pending[Any]) -> Pending[Parts]:
        parked = _Parked(waiting, route.is_read)
        waiting.when_done(lambda done: self._unpark(route, call, request, done, parked))
        return parked

    def _unpark(self, route: _Route, call: Call[S], request: Request, done: Pending[Any], parked: _Parked) -> None:
        if parked.is_done and done.error is not None:
            return  # given up
        try:
            parts = self._framed_or_none(route, call, done.value(), route.count_errors)
        except PeerProtocolError as error:
            parked.fail(error)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            self._resolve_refused(route, call, request, error, parked)
        else:
            parked.deliver(parts)

    def _resolve_refused(
        self, route: _Route, call: Call[S], request: Request, error: Exception, parked: Pending[Parts]
    ) -> None:
        try:
            parked.resolve(self._refused(route, call, request, error))
        except PeerProtocolError as closing:
            parked.fail(closing)

    def _refused(self, route: _Route, call: Call[S], request: Request, error: Exception) -> list[Part]:
        """The answer to a request whose handler raised. If even that cannot be made, the connection closes."""
        try:
            response = route.refuse(request, self._as_kafka_error(call, error), route.version)
            route.count_errors(response)
            return _encode_response(route.response_plan, response, call.correlation_id, route.has_flexible_answer)
        except PeerProtocolError:
            raise  # what can only be told by a close, as of a produce request without acks
        except Exception as second:
            self.services.on_error(call, second)
            raise PeerProtocolError(f"API {route.key} could not be answered", 0) from second

    def _as_kafka_error(self, call: Call[S], error: Exception) -> errors.KafkaError:
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
        principal: Principal,
        listener: str = "",
        address: tuple[str, int] = ("127.0.0.1", 0),
        client_id: str | None = None,
    ) -> Pending[Any]:
        """Answers a request of this very process: the route of forwarding and of what a broker asks itself.

        The response is of the class that belongs to the request's, which mypy does not see. The message is a value on
        both sides: whoever sent it does not change it afterwards.
        """
        key = present(request.api_key, "every request has an API key")
        connection = LocalConnection(principal, listener, address)
        call = Call(self.services, connection, key, version, 0, client_id)
        route = self._route(key, version)  # `_routes` has those alone that peers may ask for: it is looked up unchecked
        return self.services.loop.spawn(self._answer_local(route, call, request))

    async def _answer_local(self, route: _Route, call: Call[S], request: Request) -> Response | None:
        """`_answer` for who wants the response and not its bytes.

        Errors are not counted here: if the answer is handed on to a client, they are when it is framed. Nor are there
        faults: those are for what comes from peers, and have been asked when it came.
        """
        try:
            if route.allow is not None and not call.authorize(*route.allow):
                raise route.allow.refusal()
            returned = route.handler(call, request)
            response: Response | None = await returned if route.is_async or isinstance(returned, Pending) else returned
            return response
        except PeerProtocolError:
            raise  # whoever forwarded the request closes the connection that it came from
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            return route.refuse(request, self._as_kafka_error(call, error), route.version)

    # Faults

    def _serve_with_faults(
        self, faults: Faults, route: _Route, call: Call[S], request: Request, frame: memoryview, at: int
    ) -> PartsOrPending:
        is_of_peer = not isinstance(call.connection, LocalConnection)
        is_known = call.connection.authenticator is None  # before, its authenticator needs the answer at once
        action = faults.before(call, request) if is_of_peer and is_known else None
        if action is None:
            return self._answer(route, call, request)
        if action.delay_ms == 0:
            return self._act(action, route, call, request)
        kept = bytes(frame)  # the frame is dead by the time the delay is over
        again: Request = _decode(route.request_plan, memoryview(kept), at)[0]
        return self._carried_out(self._act_later(action, route, call, again))

    def _carried_out(self, coroutine: Coroutine[object, None, Parts]) -> Pending[Parts]:
        """A fault is played to its end, even if the client has hung up."""
        task = self.services.loop.spawn(coroutine)
        parked = _Parked(task, is_read=False)
        parked.follow(task)
        return parked

    async def _act_later(self, action: FaultAction, route: _Route, call: Call[S], request: Request) -> Parts:
        await self.services.loop.sleep(action.delay_ms)
        parts = self._act(action, route, call, request)
        return await parts if isinstance(parts, Pending) else parts

    def _act(self, action: FaultAction, route: _Route, call: Call[S], request: Request) -> PartsOrPending:
        if action.disconnect:
            raise PeerProtocolError("the connection is closed by fault injection", 0)
        if action.error_code:
            return self._refused(route, call, request, errors.by_code(action.error_code)())
        if action.stand_in is not None:
            handle = partial(self._answer_local, route, call)
            standing_in = self.services.loop.spawn(action.stand_in(call, request, handle, route.refuse))
            return self._park(route, call, request, standing_in)
        parts = self._answer(route, call, request)
        if not action.drop_response:
            return parts
        return self._carried_out(self._lose(parts, action.hang_ms))

    async def _lose(self, parts: PartsOrPending, hang_ms: int | None) -> Parts:
        """Drops the answer. The connection says nothing more, as what follows would be lost too, then it closes."""
        try:
            _release(await parts if isinstance(parts, Pending) else parts)
        finally:
            await self._silence(hang_ms)
        raise PeerProtocolError("the response is lost by fault injection", 0)

    def _silence(self, ms: int | None) -> Pending[None]:
        """Done after so many milliseconds; never if None: then the client has to close its connection."""
        return self.services.loop.pending() if ms is None else self.services.loop.sleep(ms)


def _release(parts: Parts) -> None:
    """Releases the file ranges of an answer that nobody will send: each keeps its file open."""
    for part in parts or ():
        if isinstance(part, FileRange):
            part.release()
