"""A simulated machine: its ports, the loop on its one thread, and what can happen to it.

The world turns the loop of a node when its poller has something ready or a timer is due. A turn takes some
microseconds, and as long as the disk calls in it take; the next turn comes after that. A node that is down or
was booted anew ignores what its former life had planned. A paused one does it all later, at once.
"""

from collections.abc import Callable

from odradek.broken_rule import present
from odradek.reactor.loop import Loop, OnError
from odradek.reactor.ports import Ports
from odradek.sim.clock import SimClock
from odradek.sim.crash import MIXED, CrashProfile, SimCrash
from odradek.sim.disk import SimDisk
from odradek.sim.executor import SimExecutor
from odradek.sim.fabric import Fabric
from odradek.sim.network import SimNetwork
from odradek.sim.timeline import Event, Timeline

TURN_US = (2, 40)  # a turn takes from, to
MONO_BASE_US_MAX = 10_000_000_000  # monotonic clocks of two nodes have nothing in common


class Node:
    __slots__ = (
        "_deferred",
        "_fabric",
        "_free_at_us",
        "_is_turning",
        "_stream",
        "_turn",
        "address",
        "clock",
        "disk",
        "executor",
        "incarnation",
        "is_paused",
        "is_up",
        "loop",
        "name",
        "network",
        "ports",
        "skew_ms",
        "world",
    )

    def __init__(self, world: Timeline, fabric: Fabric, name: str, address: str) -> None:
        self.world = world
        self._fabric = fabric
        self.name = name
        self.address = address
        self.incarnation = 0
        self.is_up = True
        self.is_paused = False
        self.skew_ms = 0
        self._deferred: list[Callable[[], object]] = []
        self._turn: Event | None = None
        self._free_at_us = 0
        self._is_turning = False
        self.loop: Loop | None = None
        self.disk = SimDisk(world.rng.stream(f"{name}/disk"), self._wall_ms, self._note)
        self._make_ports()

    def boot(self, on_error: OnError | None = None) -> Loop:
        """A loop that the world drives from now on. After a crash the ports are new; the disk is what was left."""
        if not self.is_up:
            self.is_up = True
            self._make_ports()
        self._note(f"boot {self.incarnation}")
        self.loop = Loop(self.ports, on_error)
        self.attend()
        return self.loop

    def crash(self, profile: CrashProfile = MIXED, *, silent: bool = True) -> None:
        """Down at once. Silent: the power went, peers hear nothing; else the kernel lives and resets connections."""
        self._note(f"crash {profile}")
        self.is_up = False
        self.is_paused = False
        self.incarnation += 1
        self._deferred.clear()
        self._turn = None
        self._free_at_us = 0
        dead, self.loop = self.loop, None  # kept until all is down: a task closes its sockets when it is collected
        self.network.go_down(silent)
        self.disk = self.disk.crash(profile)  # before the jobs: what they still do in a `finally` must not reach it
        self.executor.abandon()
        del dead

    def pause(self) -> None:
        """SIGSTOP: its clocks run on, its peers see a silent host that still acknowledges."""
        self._note("pause")
        self.is_paused = True

    def resume(self) -> None:
        self._note("resume")
        self.is_paused = False
        deferred, self._deferred = self._deferred, []
        for callback in deferred:
            self.after(0, callback)

    def after(self, delay_us: int, callback: Callable[[], object]) -> Event:
        """Something that this incarnation of the node will do."""
        incarnation = self.incarnation
        return self.world.after(delay_us, lambda: self._happen(callback, incarnation))

    def attend(self) -> None:
        """There is something for the loop to do."""
        if self.loop is not None and not self._is_turning:  # a turn looks for itself, at its end
            self._turn_at(self.world.now_us)

    def take_busy_us(self) -> int:
        """The time that disk calls have taken since the last time somebody asked."""
        busy_us, self.disk.busy_us = self.disk.busy_us, 0
        return busy_us

    def _make_ports(self) -> None:
        rng = self.world.rng.scoped(f"{self.name}/{self.incarnation}")
        self._stream = rng.stream("node")
        self.clock = SimClock(self._now_us, self._stream.below(MONO_BASE_US_MAX), self.skew_ms)
        self.network = SimNetwork(self._fabric, self, rng.stream("network"))
        self.executor = SimExecutor(self, rng.stream("executor"))
        self.ports = Ports(self.clock, rng, self.disk, self.network, self.executor)

    def _happen(self, callback: Callable[[], object], incarnation: int) -> None:
        if incarnation != self.incarnation:
            return
        if self.is_paused:
            self._deferred.append(callback)
            return
        try:
            callback()
        except SimCrash as crash:
            self._note(f"disk went down {crash}")
            self.crash()

    def _turn_at(self, at_us: int) -> None:
        at_us = max(at_us, self._free_at_us)
        if self._turn is not None:
            if self._turn.at_us <= at_us:
                return
            self._turn.cancel()
        self._turn = self.after(at_us - self.world.now_us, self._run_turn)

    def _run_turn(self) -> None:
        self._turn = None
        loop = present(self.loop, "a node that is up has a loop")
        self._note("turn")
        self._is_turning = True
        try:
            loop.turn(0)
        finally:
            self._is_turning = False
        self._free_at_us = self.world.now_us + self._stream.between(*TURN_US) + self.take_busy_us()
        if self.network.has_ready():
            self.attend()
        wait_ms = loop.wait_ms()
        if wait_ms is not None:
            self._turn_at(self.clock.world_us_at(self.clock.mono_ms() + wait_ms))

    def _now_us(self) -> int:
        """The world's time, and what the current turn or step has spent in disk calls."""
        return self.world.now_us + self.disk.busy_us

    def _wall_ms(self) -> int:
        return self.clock.wall_ms()

    def _note(self, line: str) -> None:
        self.world.note(f"{self.name} {line}")
