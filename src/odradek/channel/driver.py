"""Does what a client core asks for (`core.py`): takes requests to their destinations and answers back to the core, and
calls it again when its time has come. Several cores of one client share a `Channel`.

    driver = Driver(channel, core)
    core.subscribe(...)             # whatever its user asks of the core
    driver.pump()                   # after every call into the core

An answer in which a leader says that it is none (any more) makes the channel ask the cluster again, whatever the core
does about it.
"""

from collections.abc import Callable, Iterator

from odradek.channel.channel import Channel
from odradek.channel.core import LEADER, ByVersion, Core, Send
from odradek.channel.in_flight import PendingResponse
from odradek.protocol import errors
from odradek.protocol.declare import Request, Response
from odradek.protocol.errors import KafkaError
from odradek.reactor.timers import Timer


class Driver:
    __slots__ = ("_channel", "_core", "_is_stopped", "_mono_ms", "_on_error", "_on_event", "_timeout_ms", "_timer")

    def __init__(
        self,
        channel: Channel,
        core: Core,
        *,
        timeout_ms: Callable[[Request], int | None] = lambda _: None,
        on_event: Callable[[], object] = lambda: None,
        on_error: Callable[[KafkaError], object] = lambda _: None,
    ) -> None:
        """`timeout_ms` of a request that may take longer than others; `on_event` when something has changed, after the
        core was polled; `on_error` gets why a request failed: the core is told only that it did.
        """
        self._channel = channel
        self._core = core
        self._timeout_ms = timeout_ms
        self._on_event = on_event
        self._on_error = on_error
        self._mono_ms = channel.loop.ports.clock.mono_ms
        self._timer: Timer | None = None
        self._is_stopped = False

    def pump(self) -> None:
        if self._is_stopped:
            return
        for send in self._core.poll(self._mono_ms()):
            self._send(send)
        self._set_timer()

    def stop(self) -> None:
        """The core is not called any more. What is in flight goes on, and its answers are ignored."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _send(self, send: Send) -> None:
        timeout_ms = None if isinstance(send.request, ByVersion) else self._timeout_ms(send.request)
        answered = self._channel.send(send.destination, send.request, version=send.version, timeout_ms=timeout_ms)
        answered.when_done(lambda done: self._answered(send, done))

    def _answered(self, send: Send, done: PendingResponse) -> None:
        if self._is_stopped:
            done.is_observed = True
            return
        try:
            response = done.value()
        except KafkaError as error:
            self._on_error(error)
            self._core.failed(send.token, self._mono_ms())
        else:
            if send.destination.kind == LEADER and _has_moved(response):
                self._channel.metadata.request_update(resets_backoff=False)
            self._core.answered(send.token, response, self._mono_ms())
        self._happened()

    def _happened(self) -> None:
        self.pump()
        self._on_event()

    def _set_timer(self) -> None:
        deadline_ms = self._core.deadline()
        if self._timer is not None and self._timer.is_live:
            if self._timer.deadline_ms == deadline_ms:
                return
            self._timer.cancel()
        self._timer = None
        if deadline_ms is not None:
            self._timer = self._channel.loop.after(max(0, deadline_ms - self._mono_ms()), self._happened)


def _has_moved(response: Response) -> bool:
    return any(errors.by_code(code).refreshes_metadata for code in _partition_errors(response))


def _partition_errors(response: Response) -> Iterator[int]:
    """The errors of partitions: in Produce, Fetch, ListOffsets and the like they stand under one of two names each."""
    for topic in getattr(response, "responses", None) or getattr(response, "topics", None) or ():
        for partition in getattr(topic, "partition_responses", None) or getattr(topic, "partitions", None) or ():
            if partition.error_code:
                yield partition.error_code
