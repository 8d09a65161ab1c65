"""A log manager on a simulated machine, driven by hand: boot, run a coroutine to its end, crash, boot again."""

from log_kit import append_as_leader, batch, read_bytes, read_records
from odradek.config.sources import BrokerLayers
from odradek.log.manager.manager import LogManager
from odradek.log.read import LOG_END
from odradek.reactor.adapters import system_ports
from odradek.reactor.loop import Loop
from odradek.sim.crash import MIXED, SimCrash
from odradek.sim.world import World

BROKER = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "2@localhost:9093",
}
TOPIC_ID = bytes(range(16))
OTHER_ID = bytes(range(16, 32))
DIRS = ("data/a", "data/b")


class CrashedError(Exception):
    """The machine went down while a test waited."""


def layers(release="4.3", **configs):
    return BrokerLayers(
        {**BROKER, **{name.replace("_", "."): str(value) for name, value in configs.items()}}, release=release
    )


class SimBroker:
    def __init__(self, seed=1, dirs=DIRS, topic_overrides=None, release="4.3", **configs):
        self.world = World(seed)
        self.node = self.world.node("broker")
        self.dirs = list(dirs)
        self.layers = layers(release, **configs)
        self.topic_overrides = topic_overrides or {}
        self.failed = []  # (path, is_last) of the dirs that have failed
        self.set_aside = []  # the partitions that are damaged
        self.loop = None
        self.boots = 0

    @property
    def disk(self):
        return self.node.disk

    def boot(self, dirs=None, **options):
        """A manager that is not started."""
        self.loop = self.node.boot()
        self.boots += 1
        self.loop.ports.rng = self.world.rng.scoped(f"boot {self.boots}")  # a new process draws new ids
        self.manager = LogManager(
            self.loop, self.layers, log_dirs=dirs or self.dirs, topic_overrides=self.topic_overrides, **options
        )
        self.manager.dirs.listen(lambda log_dir, is_last: self.failed.append((log_dir.path, is_last)))
        self.manager.dirs.listen_to_damage(lambda log_dir, found: self.set_aside.append(found.topic_partition))
        return self.manager

    def start(self, **options):
        self.boot()
        self.run(self.manager.start(**options))
        return self.manager

    def spawn(self, coroutine):
        try:
            task = self.loop.spawn(coroutine)
        except SimCrash:
            self.node.crash()
            raise CrashedError from None
        task.is_observed = True
        self.node.attend()
        return task

    def run(self, coroutine):
        task = self.spawn(coroutine)
        assert self.world.run_until(lambda: task.is_done or not self.node.is_up), "it never ends"
        if not self.node.is_up:
            raise CrashedError
        return task.value()

    def on_reactor(self, work):
        """What a handler would do, in a turn of the reactor's thread."""
        try:
            result = work()
        except SimCrash:
            self.node.crash()
            raise CrashedError from None
        self.node.attend()
        return result

    def sleep(self, milliseconds):
        self.world.run_for(milliseconds)
        if not self.node.is_up:
            raise CrashedError

    def stop(self, broker_epoch=-1):
        self.run(self.manager.stop(broker_epoch))

    def restart(self, **options):
        self.stop()
        return self.start(**options)

    def crash(self, profile=MIXED):
        self.node.crash(profile)

    # Logs.

    def create(self, topic="topic", partition=0, topic_id=TOPIC_ID, **options):
        return self.run(self.manager.get_or_create(topic, partition, topic_id, **options))

    def append(self, log, *values, **fields):
        now_ms = self.manager.now_ms
        made = batch(*(value.encode() for value in values), timestamp=fields.pop("timestamp", now_ms), **fields)

        def work():
            info = append_as_leader(log, made, 0, now_ms)
            log.update_high_watermark(log.log_end_offset)
            return info

        return self.on_reactor(work)

    def flush(self, log):
        task = self.on_reactor(lambda: self.manager.flush(log))
        task.is_observed = True
        assert self.world.run_until(lambda: task.is_done or not self.node.is_up)
        if not self.node.is_up:
            raise CrashedError
        task.value()

    def files(self, path=""):
        return sorted(name for name in self.disk.snapshot() if name.startswith(f"/{path}"))

    def names(self, path):
        return self.disk.list(path)


def values(log):
    return [bytes(record.value).decode() for record in read_records(log)]


def copy(current, future, now_ms):
    """What a mover does: appends to the copy what it reads from the log."""
    while future.log_end_offset < current.log_end_offset:
        data = read_bytes(current, future.log_end_offset, isolation=LOG_END)
        future.append_as_follower(bytearray(data), now_ms)


class RealBroker:
    """The same on this machine's disk, in a directory of the test's."""

    def __init__(self, *dirs, release="4.3", topic_overrides=None, **configs):
        self.ports = system_ports(threads=4)
        self.loop = Loop(self.ports)
        self.manager = LogManager(
            self.loop,
            layers(release, **configs),
            log_dirs=[str(path) for path in dirs],
            topic_overrides=topic_overrides,
        )

    def run(self, coroutine):
        return self.loop.run_until(self.loop.spawn(coroutine))

    def close(self):
        self.ports.executor.close()
        self.loop.close()
