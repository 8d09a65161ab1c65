"""The way between a client core and a simulated broker, with everything that a network does to requests and answers.

    link = Link(world, "client", broker.address, Faults(lose_request=2, late=3, late_ms=4000))
    link.send(send, 3000, on_answer, on_failed)     # one of the two is called, once
    driver = Driver(link, core)                      # or: does all that the core asks for
    driver.pump()                                    # after every call into the core

Every destination has a connection of its own, so requests to two of them pass each other, as with two brokers. Within a
connection nothing is out of order: an answer that is lost or takes too long breaks it, and all that was in flight on it
has failed. What is *late* or comes a *second time* gets to the broker by itself, whatever has become of the client.
All draws come from the world's seed.
"""

from typing import NamedTuple

from broker_kit import SimClient, Waiting

from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader

BREAK_MS_MAX = 50  # until a client learns that its connection has broken
GHOST_MS_MAX = 60_000  # a frame that came late waits so long for its answer, which nobody hears


class Faults(NamedTuple):
    """Chances in percent, drawn for every request."""

    lose_request: float = 0  # it never arrives; the connection breaks
    lose_response: float = 0  # it is handled, and the connection breaks
    late: float = 0  # the connection breaks; it arrives up to `late_ms` after that
    duplicate: float = 0  # it arrives; up to `late_ms` later it arrives again, from another connection
    slow: float = 0  # its answer, and those behind it, arrive up to `slow_ms` later
    late_ms: int = 5000
    slow_ms: int = 500


HEALTHY = Faults()


class InFlight:
    __slots__ = ("is_over", "is_response_lost", "lane", "on_answer", "on_failed", "send", "slow_ms", "timer", "waiting")

    def __init__(self, send, lane, on_answer, on_failed):
        self.send = send
        self.lane = lane
        self.on_answer = on_answer
        self.on_failed = on_failed
        self.is_over = self.is_response_lost = False
        self.slow_ms = 0
        self.timer = self.waiting = None

    def end(self, callback, *arguments):
        if not self.is_over:
            self.is_over = True
            self.timer.cancel()
            callback(*arguments)


class Lane:
    """One connection and what is in flight on it."""

    def __init__(self, link):
        self.link = link
        self.client = SimClient(link.world, link.name, link.address, loop=link.loop)
        self.flights = []
        self.free_at_us = 0  # an answer is not told before those in front of it
        self.is_broken = False

    @property
    def is_open(self):
        return not self.is_broken and not self.client.is_closed

    def send(self, flight, frame):
        flight.waiting = Waiting(flight.send.request, flight.send.version, self.link.loop)
        flight.waiting.pending.is_observed = True
        flight.waiting.pending.when_done(lambda done: self.arrived(flight, done))
        self.client.send_bytes(frame, flight.waiting)

    def arrived(self, flight, done):
        if flight.waiting.response is None or flight.is_response_lost:
            self.break_off()
            return
        world = self.link.world
        self.free_at_us = max(world.now_us + flight.slow_ms * 1000, self.free_at_us)
        delay_ms = (self.free_at_us - world.now_us) // 1000
        if delay_ms:
            self.link.loop.after(delay_ms, lambda: self.tell(flight))
        else:
            self.tell(flight)

    def tell(self, flight):
        if not self.is_broken and flight in self.flights:
            self.flights.remove(flight)
            flight.end(flight.on_answer, flight.waiting.response)

    def break_off(self):
        """All that is in flight has failed, in the order in which it was sent."""
        if not self.is_broken:
            self.is_broken = True
            self.client.close()
            flights, self.flights = self.flights, []
            for flight in flights:
                flight.end(flight.on_failed)


class Link:
    """Of one life of one client: after a crash of its node there is a new one, and this one is silent."""

    def __init__(self, world, name, address, faults=HEALTHY, *, stream=None, on_error=None):
        self.world = world
        self.name = name
        self.address = address
        self.faults = faults
        self.node = world.node(name)
        self.loop = self.node.boot(on_error) if self.node.loop is None else self.node.loop
        self.stream = stream or world.rng.stream(f"link {name} {self.node.incarnation}")
        self.lanes = {}
        self.sent = 0
        self.ghosts = 0  # frames that came late, or again
        self._correlation_id = 0

    @property
    def is_alive(self):
        return self.node.loop is self.loop

    def now_ms(self):
        return self.loop.ports.clock.mono_ms()

    def send(self, send, timeout_ms, on_answer, on_failed):
        lane = self._lane(send.destination)
        flight = InFlight(send, lane, on_answer, on_failed)
        lane.flights.append(flight)
        flight.timer = self.loop.after(timeout_ms, lane.break_off)
        self.sent += 1
        self._carry(lane, flight, self._frame(send))

    def break_off(self):
        """Every connection breaks; all that is in flight has failed."""
        lanes, self.lanes = self.lanes, {}
        for lane in lanes.values():
            lane.break_off()

    def pause(self, milliseconds):
        """The client stands still, and its clock does not: what it does next, it does too late."""
        self.node.pause()
        incarnation = self.node.incarnation
        self.world.after(milliseconds * 1000, lambda: self._resume(incarnation))

    def crash(self):
        """The client is gone with all it knew. What is late may still arrive."""
        self.node.crash(silent=False)

    def _resume(self, incarnation):
        if self.node.incarnation == incarnation and self.node.is_paused:
            self.node.resume()

    def _lane(self, destination):
        lane = self.lanes.get(destination)
        if lane is None or not lane.is_open:
            if lane is not None:
                lane.break_off()
            lane = self.lanes[destination] = Lane(self)
        return lane

    def _frame(self, send):
        self._correlation_id += 1
        header = RequestHeader(
            request_api_key=send.request.api_key,
            request_api_version=send.version,
            correlation_id=self._correlation_id,
            client_id=self.name,
        )
        return b"".join(whole.encode_request(header, send.request))

    def _carry(self, lane, flight, frame):
        faults, stream = self.faults, self.stream
        if stream.chance(faults.lose_request):
            self._note("lost", flight)
            self._break_soon(lane)
        elif stream.chance(faults.late):
            self._note("late", flight)
            self._break_soon(lane)
            self._deliver_late(frame, flight)
        else:
            flight.is_response_lost = stream.chance(faults.lose_response)
            flight.slow_ms = stream.below(faults.slow_ms) if stream.chance(faults.slow) else 0
            if stream.chance(faults.duplicate):
                self._note("twice", flight)
                self._deliver_late(frame, flight)
            lane.send(flight, frame)

    def _break_soon(self, lane):
        self.loop.after(self.stream.below(BREAK_MS_MAX), lane.break_off)

    def _deliver_late(self, frame, flight):
        self.ghosts += 1
        delay_us = self.stream.below(self.faults.late_ms) * 1000
        self.world.after(delay_us, lambda: self._arrive_late(frame, flight.send))

    def _arrive_late(self, frame, send):
        Ghost(self, frame, send)

    def _note(self, fate, flight):
        self.world.note(f"{self.name} {fate} {type(flight.send.request).__name__}")


class Ghost:
    """A frame that gets to the broker on a connection that nobody listens to."""

    def __init__(self, link, frame, send):
        self.world = link.world
        self.client = SimClient(link.world, f"network of {link.name}", link.address)
        waiting = Waiting(send.request, send.version, self.client.loop)
        waiting.pending.is_observed = True
        waiting.pending.when_done(lambda done: self.client.close())
        self.client.loop.after(GHOST_MS_MAX, self.client.close)
        self.client.send_bytes(frame, waiting)


class Driver:
    """Does what a core asks for, until it is stopped or its client crashes."""

    def __init__(self, link, core, *, timeout_ms=3000, on_event=lambda: None):
        self.link = link
        self.core = core
        self.timeout_ms = timeout_ms
        self.on_event = on_event  # something has changed, and the core has been polled since
        self.is_stopped = False
        self._timer = None

    def pump(self):
        """After every call into the core."""
        if self.is_stopped or not self.link.is_alive:
            return
        for send in self.core.poll(self.link.now_ms()):
            self._send(send)
        self._set_timer()

    def stop(self):
        self.is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _send(self, send):
        def answered(response):
            if not self.is_stopped:
                self.core.answered(send.token, response, self.link.now_ms())
                self._happened()

        def failed():
            if not self.is_stopped:
                self.core.failed(send.token, self.link.now_ms())
                self._happened()

        self.link.send(send, self.timeout_ms, answered, failed)

    def _happened(self):
        self.pump()
        self.on_event()

    def _set_timer(self):
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline_ms = self.core.deadline()
        if deadline_ms is not None:
            self._timer = self.link.loop.after(max(deadline_ms - self.link.now_ms(), 0), self._happened)
