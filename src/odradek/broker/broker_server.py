"""The broker of a node: Kafka's BrokerServer, in the same order.

start   listeners bound ─ registered ─ caught up with the metadata log ─ logs loaded ─ first image applied ─
        unfenced ─ requests are served
stop    controlled shutdown ─ listeners drained ─ replicas and logs closed cleanly ─ no more heartbeats
"""

from odradek.broker import node_metrics
from odradek.broker.coordinators import Coordinators
from odradek.broker.directory_assignments import DirectoryAssignments
from odradek.broker.failures import DirFailures, OnFatal
from odradek.broker.full_dirs import FullDirs
from odradek.broker.lifecycle import BrokerLifecycle, LifecycleConfig, Registration
from odradek.broker.listening import HostName, advertised_endpoints, bind
from odradek.broker.load_report import LoadReport
from odradek.broker.metadata_publisher import BrokerMetadataPublisher
from odradek.broker.producer_ids import ProducerIds
from odradek.broker.reconfiguration import tell_of_changes
from odradek.broker.server_log import Logger
from odradek.broker.shared import Shared
from odradek.broker.start_refused import StartRefused
from odradek.broker.unenforced import Unenforced
from odradek.config.listeners import Endpoint, controller_names, endpoints, inter_broker_listener
from odradek.config.vocabulary import TOPIC
from odradek.handlers.auto_creation import reason_not_created
from odradek.handlers.dispatch import Dispatcher
from odradek.handlers.internal_topics import INTERNAL, reason_not_creatable
from odradek.handlers.services import BrokerServices
from odradek.log.log import Log
from odradek.log.manager.log_dir import LogDirRefused
from odradek.log.manager.manager import LogManager
from odradek.metadata.image import MetadataImage
from odradek.network.socket_server import SocketServer
from odradek.protocol import errors, releases
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.replica.config import ReplicaConfig
from odradek.replica.manager import ReplicaManager

CONTROLLED_SHUTDOWN_MS_MAX = 10_000  # the controller is in this process: it answers at once or never
DRAIN_MS = 200


class BrokerServer:
    __slots__ = (
        "_coordinators",
        "_log",
        "_on_fatal",
        "_shared",
        "advertised",
        "lifecycle",
        "logs",
        "replicas",
        "services",
        "socket_server",
        "unclosed",
    )

    def __init__(self, shared: Shared, host_name: HostName, on_fatal: OnFatal) -> None:
        """Binds the listeners before anything is written: a port may be taken. Then it raises StartRefused."""
        self._shared = shared
        self._on_fatal = on_fatal
        self._log = self._logger("kafka.server.BrokerServer")
        self.socket_server = SocketServer(
            shared.loop, shared.config, shared.metrics, tls=shared.tls, poisons=shared.poisons
        )
        self.advertised = self._listen(host_name)
        self.lifecycle = self._make_lifecycle()
        self.logs: LogManager | None = None
        self.replicas: ReplicaManager | None = None
        self.services: BrokerServices | None = None  # what its handlers work with, once the logs are loaded
        self._coordinators: Coordinators | None = None
        self.unclosed: list[str] = []  # what a stop has to say of the dirs that it could not close cleanly

    def _listen(self, host_name: HostName) -> list[Endpoint]:
        config = self._shared.config
        of_controllers = set(controller_names(config))
        bound = {
            endpoint.listener: bind(self.socket_server, endpoint, "data")
            for endpoint in endpoints(config, "listeners")
            if endpoint.listener not in of_controllers
        }
        return advertised_endpoints(config, bound, host_name)

    def _make_lifecycle(self) -> BrokerLifecycle:
        shared = self._shared
        registration = Registration(
            shared.node_id,
            shared.cluster_id,
            shared.loop.ports.rng.stream("incarnation").bytes(16),
            shared.release,
            self.advertised,
            list(shared.dirs.directory_ids.values()),
            shared.dirs.previous_broker_epoch,
        )
        return BrokerLifecycle(
            shared.loop,
            shared.inter_broker,
            registration,
            LifecycleConfig.from_config(shared.config),
            self._logger("kafka.server.BrokerLifecycleManager"),
            lambda: shared.cache.image.offset,
            self._cordoned_ids,
        )

    def _cordoned_ids(self) -> list[bytes]:
        cordoned = () if self.logs is None else self.logs.dirs.cordoned
        return [directory for path, directory in self._shared.dirs.directory_ids.items() if path in cordoned]

    # Start

    async def start(self) -> None:
        self._log.info("Transition from SHUTDOWN to STARTING")
        self._log.info("Starting broker")
        self._shared.loader.add_publisher(_LifecycleTeller(self.lifecycle))
        waits = self._shared.waits
        await self._register()
        logs = await self._load_logs()
        with waits.on(lambda: "the replicas that the metadata names to be opened"):
            await self._follow_metadata(logs)
        self._ensure_protected()
        watcher = _UnfencedWatcher(self._shared.loop, self._shared.node_id)
        self._shared.loader.add_publisher(watcher)
        with waits.on(lambda: f"the controller to unfence this broker: {self.lifecycle.last_answer}"):
            await self.lifecycle.set_ready_to_unfence()
            await watcher.unfenced  # our partitions get their leader with that record; before, nobody could write
        self.socket_server.enable()
        self._log.info("Transition from STARTING to STARTED")

    async def _register(self) -> None:
        self.lifecycle.start()
        try:
            with self._shared.waits.on(lambda: f"the controller to register this broker: {self.lifecycle.last_answer}"):
                await self.lifecycle.initial_catch_up
        except errors.KafkaError as error:
            raise StartRefused(
                f"The controller has not registered this broker: {error.name}: {error.message}; it was asked for "
                f"initial.broker.registration.timeout.ms={self._shared.config['initial.broker.registration.timeout.ms']}"
            ) from error

    def _ensure_protected(self) -> None:
        """Refuses to serve if the metadata log sets a config that asks for protection which is not built.

        It may have been set while another broker served this directory."""
        reason = self._shared.configs.missing_protection
        if reason is not None:
            raise StartRefused(f"The metadata log sets a config of this broker that cannot be honoured: {reason}")

    def topic_warnings(self) -> list[str]:
        """Warnings about topics that cannot be created: clients would wait for them in vain."""
        config, brokers = self._shared.config, len(self._shared.cache.image.cluster.brokers)
        missing = [topic for name, topic in INTERNAL.items() if self._shared.cache.topic(name) is None]
        warnings = [reason_not_creatable(topic, config, brokers) for topic in missing]
        reason = reason_not_created(config, brokers)
        if reason is not None:
            warnings.append(f"topics that clients ask for will not be created: {reason}")
        return [warning for warning in warnings if warning is not None]

    async def _load_logs(self) -> LogManager:
        shared = self._shared
        of_topics = shared.cache.image.configs.by_resource.items()
        logs = self.logs = LogManager(
            shared.loop,
            shared.configs.current,
            log_dirs=shared.dirs.log_dirs,
            topic_overrides={name: configs for (kind, name), configs in of_topics if kind == TOPIC},
            jobs=shared.jobs,
        )
        failures = DirFailures(
            shared.dirs.metadata_dir,
            shared.dirs.directory_ids,
            self.lifecycle,
            self._log,
            self._on_fatal,
        )
        logs.dirs.listen(failures.failed)
        logs.dirs.listen_when_full(FullDirs(shared.loop, logs, self._log).refused)
        logs.dirs.listen_to_damage(failures.damaged)
        try:
            report = LoadReport(self._logger("kafka.log.LogManager"))
            logs.on_reindexed = report.reindexed
            with shared.waits.on(lambda: f"the logs to be loaded: {report.state}"):
                await logs.start(is_stray=self._is_stray, on_progress=report.tell, looked_at=shared.dirs.looked_at)
        except (LogDirRefused, errors.KafkaStorageError) as error:
            raise StartRefused(str(error)) from error
        failures.tell_damaged_checkpoints(logs.dirs.online)
        failures.tell_strays(logs.dirs.online)
        return logs

    def _is_stray(self, topic: str, partition: int, topic_id: bytes | None) -> bool:
        """Whether the metadata knows no such replica of this broker. Then its directory is renamed and not served."""
        found = self._shared.cache.topic(topic)
        if found is None or (topic_id is not None and found.id != topic_id):
            return True
        state = found.partitions.get(partition)
        return state is None or self._shared.node_id not in state.replicas

    async def _follow_metadata(self, logs: LogManager) -> None:
        shared = self._shared
        replicas = self.replicas = ReplicaManager(
            shared.loop,
            logs,
            shared.node_id,
            ReplicaConfig.from_config(shared.config),
            shared.metrics,
            release=shared.release,
        )
        node_metrics.register(shared, self.lifecycle, logs)
        coordinators = self._serve_with(logs, replicas)
        self._tell_of_changes(logs, replicas, coordinators)
        log = self._logger("kafka.server.metadata.BrokerMetadataPublisher")
        publisher = BrokerMetadataPublisher(shared, logs, replicas, self._assign_dirs(logs), coordinators, log)
        shared.loader.add_publisher(publisher)
        shared.loader.add_publisher(Unenforced(shared.release, self._logger("kafka.server.KafkaConfig")))
        await publisher.first_published

    def _serve_with(self, logs: LogManager, replicas: ReplicaManager) -> Coordinators:
        """Makes what handlers work with and the dispatcher. Clients are served once the listeners are enabled."""
        shared = self._shared
        producer_ids = ProducerIds(
            shared.loop, shared.inter_broker, shared.node_id, lambda: self.lifecycle.broker_epoch
        )
        coordinators = self._coordinators = Coordinators(shared, replicas, producer_ids, self._logger)
        self.services = BrokerServices(
            shared.services(),
            logs=logs,
            replicas=replicas,
            groups=coordinators.groups,
            transactions=coordinators.transactions,
            shares=coordinators.shares,
            inter_broker=shared.inter_broker,
            producer_ids=producer_ids,
        )
        dispatcher = Dispatcher(self.services, shared.faults)
        self.socket_server.serve_with(dispatcher.serve)
        shared.inter_broker.attach(releases.BROKER, dispatcher, inter_broker_listener(shared.config))
        return coordinators

    def _tell_of_changes(self, logs: LogManager, replicas: ReplicaManager, coordinators: Coordinators) -> None:
        tell_of_changes(
            self._shared.configs,
            executor=self._shared.loop.ports.executor,
            logs=logs,
            lifecycle=self.lifecycle,
            socket_server=self.socket_server,
            replicas=replicas,
            groups=coordinators.groups,
        )

    def _assign_dirs(self, logs: LogManager) -> DirectoryAssignments:
        log = self._logger("org.apache.kafka.server.AssignmentsManager")
        assignments = DirectoryAssignments(self._shared, logs, self.lifecycle, log)
        take_over = logs.on_replaced

        def replaced(topic_partition: TopicPartition, log: Log) -> None:
            if take_over is not None:
                take_over(topic_partition, log)
            assignments.moved(*topic_partition)

        logs.on_replaced = replaced
        return assignments

    def _logger(self, name: str) -> Logger:
        return self._shared.log.logger(name, f"[{name.rpartition('.')[2]} id={self._shared.node_id}] ")

    # Stop

    async def stop(self, *, is_controlled: bool) -> None:
        self._log.info("Transition from STARTED to SHUTTING_DOWN")
        self._log.info("shutting down")
        if is_controlled and self._shared.config["controlled.shutdown.enable"]:
            await self._controlled_shutdown()
        if self._coordinators is not None:
            self._coordinators.stop()
        await self.socket_server.stop(drain_ms=DRAIN_MS)
        if self.replicas is not None:
            await self.replicas.stop()
        if self.logs is not None:
            await self.logs.stop(self.lifecycle.broker_epoch)
            self._tell_unclosed(self.logs)
        self.lifecycle.close()
        self._log.info("shut down completed")
        self._log.info("Transition from SHUTTING_DOWN to SHUTDOWN")

    def _tell_unclosed(self, logs: LogManager) -> None:
        for path, reason in logs.unclosed.items():
            line = f"The log dir {path} was not closed cleanly, and the next start has to recover it: {reason}"
            self._log.error(line)
            self.unclosed.append(line)

    async def _controlled_shutdown(self) -> None:
        allowed: Pending[None] = self.lifecycle.begin_controlled_shutdown()
        timer = self._shared.loop.after(CONTROLLED_SHUTDOWN_MS_MAX, lambda: allowed.resolve(None))
        await allowed
        timer.cancel()


class _LifecycleTeller:
    """A publisher that tells the lifecycle of every image. The others of the broker come behind it, once the lifecycle
    has caught up.
    """

    __slots__ = ("_lifecycle",)

    def __init__(self, lifecycle: BrokerLifecycle) -> None:
        self._lifecycle = lifecycle

    def publish(self, delta: object, image: MetadataImage) -> None:
        self._lifecycle.metadata_applied()


class _UnfencedWatcher:
    """A publisher that resolves `unfenced` when an image has this broker unfenced. It has to be the last one: by then
    the replicas have their roles by that image, and whoever connects finds leaders, however long the others took.
    """

    __slots__ = ("_node_id", "unfenced")

    def __init__(self, loop: Loop, node_id: int) -> None:
        self._node_id = node_id
        self.unfenced: Pending[None] = loop.pending()

    def publish(self, delta: object, image: MetadataImage) -> None:
        broker = image.cluster.brokers.get(self._node_id)
        if broker is not None and not broker.fenced and not self.unfenced.is_done:
            self.unfenced.resolve(None)
