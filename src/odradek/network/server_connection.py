"""A client's connection: its requests in order, their answers in order, who it is.

Whole requests of a read are served one after the other and their answers sent together: that is a slice. A request that
is parked holds its connection: what follows waits until its answer is there. A slice is bounded in time and number, so
that one busy client does not keep the others waiting; what is left comes in the next turn of the loop.
"""

from struct import Struct
from typing import TYPE_CHECKING, Any

from odradek.network.request_channel import Parts
from odradek.network.request_metrics import INSTANT_US, RequestStats
from odradek.protocol.apis import request_bytes_max
from odradek.protocol.errors import PeerProtocolError
from odradek.reactor.connection import Connection
from odradek.reactor.frames import LENGTH_BYTES, FrameError, read_length
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled
from odradek.reactor.send_queue import FileEndedEarly, Part, release_parts
from odradek.reactor.sending_end import MUTED, PARKED
from odradek.reactor.transport import Transport
from odradek.security.authenticator import Authenticator, AuthStep
from odradek.security.principal import ANONYMOUS, Principal

if TYPE_CHECKING:
    from odradek.network.processor import Processor

SLICE_US_MAX = INSTANT_US  # whatever is served within a slice was over at once, but for its last request
SLICE_PARTS_MAX = 128  # of answers, some fifty requests
CROWDED_SLICE_PARTS_MAX = 3  # in a crowd turns go by requests, not by time: who asks often is no flood yet
REAUTHENTICATION_INTERVAL_US = 1_000_000  # the least between two of them
SASL_HANDSHAKE = 17

_HEAD = Struct(">iI")  # length; API key and version
_HEAD_BYTES = _HEAD.size
_read_head = _HEAD.unpack_from


class Session:
    """An authentication that holds for a while (`connections.max.reauth.ms`)."""

    __slots__ = ("began_us", "expires_us", "mechanism", "renewed_us")

    def __init__(self, mechanism: str, began_us: int, lifetime_ms: int) -> None:
        self.mechanism = mechanism
        self.began_us = began_us
        self.expires_us = began_us + lifetime_ms * 1000
        self.renewed_us = began_us  # when the client last began to authenticate again


class ServerConnection(Connection):
    __slots__ = (
        "_answered",
        "_held_up_us",
        "_index",
        "_parked",
        "_parked_stats",
        "_parked_times",
        "_session",
        "authenticator",
        "channel",
        "client_software_name",
        "client_software_version",
        "is_privileged",
        "listener",
        "principal",
        "variation",
    )

    selector: "Processor"

    def __init__(self, processor: "Processor", transport: Transport, index: int) -> None:
        super().__init__(processor, transport, processor.request_bytes_max)
        self._index = index
        self._parked: Pending[Parts] | None = None  # what the connection waits for
        self._parked_stats: RequestStats | None = None
        self._parked_times = (0, 0, 0)
        self._answered: RequestStats | None = None  # the last request's
        self._held_up_us = 0  # since when the peer does not take its answer
        self._session: Session | None = None
        self.channel = processor.channel
        self.listener = processor.listener
        self.is_privileged = processor.is_privileged
        self.principal: Principal = ANONYMOUS
        self.variation = 0  # of the request that is being served, as its handler tells (`request_metrics`)
        self.client_software_name = ""
        self.client_software_version = ""
        self.authenticator: Authenticator | None = processor.authenticator(self)
        if self.authenticator is not None:
            self.frame_bytes_max = self.authenticator.frame_bytes_max

    @property
    def processor(self) -> "Processor":
        return self.selector

    @property
    def id(self) -> str:
        local, peer = self.selector.local_address, self.address
        return f"{local[0]}:{local[1]}-{peer[0]}:{peer[1]}-{self._index}"

    @property
    def is_parked(self) -> bool:
        return bool(self.blocked & PARKED)

    @property
    def is_busy(self) -> bool:
        """Whether an answer is still to be made or to be sent."""
        return self.is_parked or bool(self.unsent_bytes)

    # Requests

    def handle(self, view: memoryview, end: int) -> int:
        if self.authenticator is None and self._session is None:
            return self._serve_frames(view, 0, end)
        return self._guarded(view, end)

    def _serve_frames(self, view: memoryview, at: int, end: int) -> int:
        """Serves the whole frames in `view[at:end]`, one after the other. Returns where the first that is left begins.

        The hot path: every name that is looked up here is looked up for each request. Why it is right:

        - Answers leave in the order of their requests: each is added to `out` before the next request is served, and a
          request that waits sets `blocked`, which ends the slice behind it. Its own answer comes by `_resume`.
        - What was answered before a frame that makes no sense is sent before the connection closes (`_end_slice`).
        - Every request that was served is counted once: with others of its kind and length when another kind comes, or
          at the end, whatever ends the slice.
        """
        channel = self.channel
        serve, mono_us = channel.serve, channel.mono_us
        bytes_max = self.frame_bytes_max
        out: list[Part] = []
        failure = None
        stats: RequestStats | None = None
        kind = size_before = -1
        alike = 0  # requests of one kind and length, which are counted together
        started_us = before_us = mono_us()
        until_us = started_us + SLICE_US_MAX
        parts_max = CROWDED_SLICE_PARTS_MAX if self.selector.loop.is_crowded else SLICE_PARTS_MAX
        try:
            while end - at >= _HEAD_BYTES:
                size, key_and_version = _read_head(view, at)
                if size > bytes_max or size < 4:
                    self._checked(size)
                behind = at + 4 + size
                if behind > end:
                    break
                parts = serve(self, view[at + 4 : behind])
                at = behind
                if self.variation:
                    key_and_version |= self.variation
                    self.variation = 0
                if key_and_version == kind and size == size_before:
                    alike += 1
                else:
                    if stats is not None:
                        stats.add(alike, size_before)
                    stats = channel.stats.get(key_and_version) or channel.metrics.stats(key_and_version)
                    kind, size_before, alike = key_and_version, size, 1
                now_us = mono_us()
                if parts.__class__ is list:
                    out += parts
                elif parts is not None:
                    out += self._take_or_park(parts, stats, before_us - started_us, now_us - before_us)
                if now_us >= until_us:
                    if stats is not None and not self.blocked & PARKED:
                        stats.record(before_us - started_us, now_us - before_us)
                    break
                if self.blocked or len(out) > parts_max:
                    break
                before_us = now_us
        except (PeerProtocolError, FrameError) as error:
            failure = str(error)
        except BaseException:
            release_parts(out)
            raise
        finally:
            if stats is not None:
                stats.add(alike, size_before)
        self._end_slice(out, failure, stats, before_us)
        return at

    def _end_slice(self, out: "list[Part]", failure: str | None, stats: RequestStats | None, now_us: int) -> None:
        if self.is_closed:
            release_parts(out)
            return
        selector = self.selector
        if stats is not None:  # a whole request came: a part of one is no sign of life
            self._answered = stats
            selector.touch_at(self, now_us // 1000)
        if out:
            burst = selector.loop.burst
            if burst is None:
                self._send(out)
            else:
                self.postpone(out, burst)
        if failure is not None:
            self.close_after_send(failure)

    def _take_or_park(self, pending: Any, stats: RequestStats | None, queue_us: int, local_us: int) -> "list[Part]":
        """What a Pending has already, or nothing: then this connection waits for it.

        It is a Pending[Parts] because it is no list, which mypy does not see where that is asked by class.
        """
        if pending.is_done:
            return pending.value() or []
        self.block(PARKED)
        self._parked = pending
        self._parked_stats = stats
        self._parked_times = (queue_us, local_us, self.channel.mono_us())
        pending.when_done(self._resume)
        return []

    def _resume(self, pending: Pending[Parts]) -> None:
        """Sends the answer to the parked request, which is there now; for a closed connection it is dropped."""
        self._parked = None
        parts = self._value_of(pending)
        if self.is_closed:
            release_parts(parts or [])
            return
        queue_us, local_us, parked_us = self._parked_times
        stats, self._parked_stats = self._parked_stats, None
        now_us = self.channel.mono_us()
        if stats is not None:
            stats.record(queue_us, local_us, now_us - parked_us)
        self.selector.touch_at(self, now_us // 1000)
        if parts:
            self.send(parts)
        if not self.is_closed:
            self.unblock(PARKED)

    def _value_of(self, pending: Pending[Parts]) -> "list[Part] | None":
        try:
            return pending.value()
        except (PeerProtocolError, Cancelled) as error:
            self.close(str(error) or "the request was given up")
            return None
        except BaseException:
            self.close("our own fault")
            raise

    def on_held_up(self) -> None:
        self._held_up_us = self.channel.mono_us()

    def on_drained(self) -> None:
        if self._answered is not None:
            self._answered.record_send(self.channel.mono_us() - self._held_up_us)

    def on_closed(self) -> None:
        """Cancels what the connection waits for: a long poll would hold its memory until its time is over."""
        parked, self._parked = self._parked, None
        if parked is not None:
            parked.cancel()
        self.selector.disconnected(self)

    # Who it is

    def on_ready(self) -> None:
        """The TLS handshake is over: without SASL, the certificate tells who the client is."""
        if self.authenticator is None:
            principal = self.selector.certificate_principal(self.transport.subject())
            if principal is None:
                self.close("no rule of ssl.principal.mapping.rules matches the certificate")
            else:
                self.principal = principal
                self.selector.authenticated.count += 1

    def _begin(self, beginning: memoryview, total: int) -> None:
        """A frame that is too long for its API is refused by its first bytes, not after all of it has come."""
        (size, key_and_version) = _read_head(beginning)
        if self.authenticator is None and size > request_bytes_max(key_and_version >> 16):
            raise FrameError(f"API {key_and_version >> 16} in {size} bytes")
        super()._begin(beginning, total)

    def _guarded(self, view: memoryview, end: int) -> int:
        """Handles frame by frame before and between authentications: each frame may change who the client is."""
        at = 0
        while not self.blocked and end - at >= LENGTH_BYTES:
            behind = at + LENGTH_BYTES + self._checked(read_length(view, at)[0])
            if behind > end:
                break
            if self.authenticator is None and self._session is None:
                return self._serve_frames(view, at, end)
            self._guarded_frame(view, at, behind)
            at = behind
        return at

    def _checked(self, size: int) -> int:
        """Checks the length of a frame. A bare SASL token may be shorter than any request."""
        if self.authenticator is not None and 0 <= size <= self.frame_bytes_max:
            return size
        return super()._checked(size)

    def _guarded_frame(self, view: memoryview, at: int, behind: int) -> None:
        frame = view[at + LENGTH_BYTES : behind]
        if self.authenticator is None and self._session is not None:
            self._check_session(self._session, frame)
        if self.is_closed:
            return
        if self.authenticator is not None:
            # No sign of life: who talks but never tells who it is would stay for ever.
            self._authenticate(self.authenticator, frame)
        else:
            self._serve_frames(view, at, behind)

    def _authenticate(self, authenticator: Authenticator, frame: memoryview) -> None:
        step = authenticator.receive(frame)
        if isinstance(step, AuthStep):
            self._stepped(step)
        else:
            self.block(PARKED)
            step.when_done(self._authentication_resumed)

    def _authentication_resumed(self, pending: "Pending[AuthStep]") -> None:
        if self.is_closed:
            return
        try:
            self._stepped(pending.value())
        except (OSError, FileEndedEarly) as error:
            self.close(str(error))
        if not self.is_closed:
            self.unblock(PARKED)

    def _stepped(self, step: AuthStep) -> None:
        if step.has_failed:
            self._authentication_failed(step.reply)
            return
        if step.reply is not None:
            self._send(step.reply)
        if step.principal is not None and not self.is_closed:
            self._authenticated(step.principal, step)

    def _authenticated(self, principal: Principal, step: AuthStep) -> None:
        processor = self.selector
        mechanism = getattr(self.authenticator, "mechanism", "")
        if self._session is None:
            processor.authenticated.count += 1
        else:
            processor.reauthenticated.count += 1
            processor.reauthentication_times.add(round((self.channel.mono_us() - self._session.renewed_us) / 1000))
        if not step.can_reauthenticate:
            processor.authenticated_without_reauthentication.count += 1
        self.authenticator = None
        processor.touch(self)
        self.principal = principal
        self.frame_bytes_max = processor.request_bytes_max
        self._session = None
        if step.session_lifetime_ms > 0:
            self._session = Session(mechanism, self.channel.mono_us(), step.session_lifetime_ms)

    def _authentication_failed(self, reply: "list[Part] | None") -> None:
        """The answer, and the close behind it, are held back: guessing passwords must not be fast."""
        processor = self.selector
        counter = processor.failed_authentications if self._session is None else processor.failed_reauthentications
        counter.count += 1
        self.block(MUTED)
        processor.loop.after(processor.failed_authentication_delay_ms, lambda: self._refuse(reply))

    def _refuse(self, reply: "list[Part] | None") -> None:
        if reply is not None:
            self.send(reply)
        self.close_after_send("authentication failed")

    def _check_session(self, session: Session, frame: memoryview) -> None:
        """A handshake begins an authentication anew; anything else is too late once the session has expired."""
        now_us = self.channel.mono_us()
        is_handshake = len(frame) >= 2 and frame[0] << 8 | frame[1] == SASL_HANDSHAKE
        if is_handshake and now_us - session.began_us >= REAUTHENTICATION_INTERVAL_US:
            session.renewed_us = now_us
            self.authenticator = self.selector.authenticator(self, (session.mechanism, self.principal))
        elif now_us >= session.expires_us:
            self.selector.expired_sessions += 1
            self.close("the session has expired, and the client did not authenticate again")
