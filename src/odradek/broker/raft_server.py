"""A node of a KRaft cluster: Kafka's KafkaRaftServer, here with both roles in one process.

    start   configs ─ dirs locked, formatted if they are fresh ─ quorum ─ controller ─ broker ─ "Kafka Server started"
    stop    broker ─ controller ─ quorum ─ locks let go of

Everything outside comes from the loop's ports and the arguments, so that the same node runs in a simulation.
"""

from collections.abc import Callable, Mapping, Sequence

from odradek.broken_rule import present
from odradek.broker import start_checks
from odradek.broker.broker_server import BrokerServer
from odradek.broker.controller_server import ControllerServer
from odradek.broker.dynamic_config import DynamicBrokerConfig
from odradek.broker.formatting import format_fresh_dirs, release_of
from odradek.broker.http import HttpServer
from odradek.broker.lifecycle import NOT_RUNNING, RUNNING
from odradek.broker.listening import HostName, shown
from odradek.broker.monitoring import pages
from odradek.broker.node_dirs import NodeDirs, dirs_of, reason_of
from odradek.broker.server_log import ServerLog, Sink
from odradek.broker.shared import Shared
from odradek.broker.start_refused import BadConfig, StartRefused
from odradek.broker.start_waits import StartWaits
from odradek.config.errors import ConfigError
from odradek.config.legacy_cluster import refuse_legacy_cluster
from odradek.handlers.faults import Faults
from odradek.network.listener_security import MakeTlsContext
from odradek.protocol.releases import Release, by_name
from odradek.reactor.called import name_of
from odradek.reactor.coroutine_task import Task
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled
from odradek.version import VERSION

__all__ = ["BadConfig", "KafkaRaftServer", "StartRefused"]

NAME = "kafka.server.KafkaRaftServer"


class KafkaRaftServer:
    __slots__ = (
        "_dirs",
        "_failure",
        "_faults",
        "_formats_fresh_dirs",
        "_host_name",
        "_http",
        "_log",
        "_metrics_listen",
        "_on_fatal",
        "_poisons",
        "_properties",
        "_release",
        "_starting",
        "_stopping",
        "_tls",
        "_waits",
        "broker",
        "config_warnings",
        "controller",
        "log",
        "loop",
        "shared",
        "stopped",
    )

    def __init__(
        self,
        loop: Loop,
        properties: Mapping[str, str],
        *,
        release: str | None = None,
        formats_fresh_dirs: bool = False,
        metrics_listen: tuple[str, int] | None = None,
        host_name: HostName = lambda: "localhost",
        sink: Sink = lambda *line: None,
        on_fatal: Callable[[str], None] = lambda reason: None,
        on_wait: Callable[[str], None] = lambda line: None,
        tls: MakeTlsContext | None = None,
        faults: Faults | None = None,
        poisons: bool = False,
    ) -> None:
        """`release` is what fresh dirs are formatted at, or what the dirs are opened as, if not as the release that
        formatted them; `on_fatal` is told why the node gives up.

        `on_wait` is told what a start that takes long is waiting for; the server log gets the same line.

        `tls` makes the contexts of TLS listeners: the adapter's function, which loads OpenSSL when it is called.
        `faults` is asked before every request of a peer is handled; see `testing/`. `poisons` overwrites
        what was received as soon as it is dead: for tests and simulation.
        """
        self.loop = loop
        self._properties = properties
        self._release = release
        self._formats_fresh_dirs = formats_fresh_dirs
        self._metrics_listen = metrics_listen
        self._host_name = host_name
        self._on_fatal = on_fatal
        self._tls = tls
        self._faults = faults
        self._poisons = poisons
        self._failure: str | None = None
        self.log = ServerLog(loop.ports.clock.wall_ms, sink)
        self._log = self.log.logger(NAME)
        self._waits = StartWaits(loop, self._log, on_wait)
        self._dirs: NodeDirs | None = None
        self._http: HttpServer | None = None
        self._starting: Task[None] | None = None
        self._stopping: Task[None] | None = None
        self.config_warnings: tuple[str, ...] = ()  # names that no config has, what has no effect, and the like
        self.shared: Shared | None = None
        self.controller: ControllerServer | None = None
        self.broker: BrokerServer | None = None
        self.stopped: Pending[None] = loop.pending()

    # Start

    async def start(self) -> None:
        """Done when requests are served. StartRefused if it cannot be; Cancelled if it was stopped meanwhile."""
        self._starting = self.loop.spawn(self._start())
        try:
            await self._starting
        except ConfigError as error:
            await self.stop()
            raise BadConfig(str(error)) from None
        except StartRefused:
            await self.stop()
            raise

    async def _start(self) -> None:
        shared = self.shared = await self._make_shared()
        self._log = self.log.logger(NAME, f"[KafkaRaftServer nodeId={shared.node_id}] ")
        self.controller = ControllerServer(shared, self._fatal)
        self.broker = BrokerServer(shared, self._host_name, self._fatal)
        self._monitor(shared)
        await self.controller.start()
        await self.broker.start()
        self._warn(self.broker.topic_warnings())
        app = self.log.logger("org.apache.kafka.common.utils.AppInfoParser")
        app.info(f"Kafka version: {shared.release.name} (odradek {VERSION})")
        self._log.info("Kafka Server started")

    async def _make_shared(self) -> Shared:
        refuse_legacy_cluster(self._properties)
        start_checks.check_roles(self._properties)
        dirs = self._dirs = NodeDirs(*dirs_of(self._properties))
        with self._waits.on(lambda: "the disk, to look at the log dirs"):
            await self.loop.submit(dirs.look_job(self.loop.ports.disk))
        for path, error in dirs.unusable.items():
            self._log.error(f"The log dir {path} cannot be used: {reason_of(path, error)}")
        release = release_of(dirs) if self._release is None else by_name(self._release)
        configs = self._configs(release.name)
        start_checks.check(configs.config)
        self._warn(start_checks.warnings(configs.config))
        if self._formats_fresh_dirs and dirs.unformatted:
            with self._waits.on(lambda: "the disk, to format the log dirs"):
                await format_fresh_dirs(self.loop, dirs, configs.config, release)
        dirs.verify(configs.config["node.id"])
        self.loop.ports.executor.resize(configs.config["num.io.threads"])
        return self._shared_of(configs, dirs, release)

    def _configs(self, release: str) -> DynamicBrokerConfig:
        try:
            return DynamicBrokerConfig(self._properties, release, self.log.logger("kafka.server.DynamicBrokerConfig"))
        except ConfigError:
            start_checks.check_login(self._properties, release)
            raise

    def _shared_of(self, configs: DynamicBrokerConfig, dirs: NodeDirs, release: Release) -> Shared:
        return Shared(
            self.loop,
            self.log,
            configs,
            release,
            dirs,
            self._waits,
            self._tls,
            self._poisons,
            self._faults,
            on_error=self._request_failed,
            warn=self.log.logger("kafka.server.KafkaApis").warn,
        )

    def _warn(self, warnings: Sequence[str]) -> None:
        log = self.log.logger("kafka.server.KafkaConfig")
        self.config_warnings += tuple(warnings)
        for warning in warnings:
            log.warn(warning)

    def _monitor(self, shared: Shared) -> None:
        if self._metrics_listen is None:
            return
        host, port = self._metrics_listen
        log = self.log.logger("odradek.broker.HttpServer")
        try:
            self._http = HttpServer(
                self.loop, host, port, pages(self, shared.metrics), lambda error: log.error("A page failed.", error)
            )
            log.info(f"Serving metrics on http://{self.metrics_address}/metrics")
        except OSError as error:
            raise StartRefused(
                f"cannot serve metrics on {shown(host, port)}: {error.strerror}; set another --metrics"
            ) from error

    # What it is

    @property
    def bootstrap(self) -> str:
        """The addresses for clients, of the first listener that they may use."""
        endpoint = present(self.broker, "its listeners are bound once it has begun to start").advertised[0]
        return shown(endpoint.host, endpoint.port)

    @property
    def metrics_address(self) -> str | None:
        """Where metrics are served, with the port that it got; None if they are not."""
        return None if self._http is None else shown(*self._http.address)

    @property
    def cluster_id(self) -> str:
        return self._known_dirs().cluster_id

    @property
    def log_dirs(self) -> tuple[str, ...]:
        return self._known_dirs().log_dirs

    def _known_dirs(self) -> NodeDirs:
        return present(self._dirs, "its dirs have been looked at once it has begun to start")

    @property
    def is_ready(self) -> bool:
        return self.broker is not None and self.broker.lifecycle.state is RUNNING and self._stopping is None

    @property
    def state_name(self) -> str:
        """Kafka's word for where the broker is in its life."""
        return (NOT_RUNNING if self.broker is None else self.broker.lifecycle.state).name

    @property
    def failure(self) -> str | None:
        """Why it has given up."""
        return self._failure

    @property
    def unclosed(self) -> list[str]:
        """After a stop: what could not be closed cleanly, a line for each log dir."""
        return [] if self.broker is None else self.broker.unclosed

    # Stop

    async def stop(self) -> None:
        """A clean stop, however far the start has come; a second call waits for the first."""
        if self._stopping is None:
            self._stopping = self.loop.spawn(self._stop())
        await self._stopping

    async def _stop(self) -> None:
        try:
            await self._stop_parts()
        except BaseException as error:
            self.stopped.fail(error)  # the process waits for it, and would wait for ever
            raise
        self._log.info("Kafka Server stopped")
        self.stopped.resolve(None)

    async def _stop_parts(self) -> None:
        await self._end_start()
        if self._http is not None:
            self._http.close()
        if self.broker is not None:
            await self.broker.stop(is_controlled=self._failure is None)
        if self.controller is not None:
            await self.controller.stop()
        if self._dirs is not None:
            self._dirs.release()

    async def _end_start(self) -> None:
        starting = self._starting
        if starting is None or starting.is_done:
            return
        starting.cancel()
        try:
            await starting
        except (Cancelled, StartRefused, ConfigError):
            return

    # What goes wrong

    def _fatal(self, reason: str) -> None:
        if self._failure is None:
            self._failure = reason
            self._log.fatal(reason)
            self._on_fatal(reason)

    def _request_failed(self, call: object, error: BaseException) -> None:
        self.log.logger("kafka.server.KafkaApis").error(f"Unexpected error handling request {call!r}", error)

    def unexpected(self, error: BaseException, source: object) -> None:
        """Logs the error of a callback or a task that nobody waits for; the loop calls it."""
        self._log.error(f"Unexpected error in {source!r}", error)

    def slow_turn(self, took_ms: int, slowest: object) -> None:
        """Logs a long turn of the reactor: as a warning, unless the node is starting and no client waits yet."""
        log = self.log.logger("odradek.reactor.Loop")
        most = "in many short steps" if slowest is None else f"most of it in {name_of(slowest)}"
        (log.warn if self.is_ready else log.info)(f"A turn of the reactor took {took_ms} ms, {most}")
