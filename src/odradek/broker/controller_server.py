"""The controller of a node: Kafka's ControllerServer, with the quorum and the metadata log below it.

start   metadata log and quorum ─ the controller takes over when this node leads ─ its listener serves
stop    listener ─ controller ─ quorum
"""

from typing import TYPE_CHECKING

from odradek.broker.controller_registration import ControllerRegistration
from odradek.broker.dynamic_config import concerns_network
from odradek.broker.failures import OnFatal
from odradek.broker.listening import bind
from odradek.broker.node_dirs import NodeDirs
from odradek.broker.shared import Shared
from odradek.broker.start_refused import StartRefused
from odradek.config.listeners import Endpoint, controller_names, endpoints
from odradek.controller.config import ControllerConfig, SnapshotConfig
from odradek.controller.quorum_controller import QuorumController
from odradek.controller.snapshots import SnapshotGenerator
from odradek.handlers.dispatch import Dispatcher
from odradek.handlers.services import ControllerServices
from odradek.log.failure import is_for_want_of_space, remedy_for, with_remedy
from odradek.metadata.bootstrap import BootstrapMetadata, bootstrap_of_release, read_bootstrap
from odradek.metadata.loader import MetadataLoader
from odradek.metadata.quorum_config import METADATA_LOG, quorum_of
from odradek.metadata.record_versions import Versioned
from odradek.metadata.snapshot_file import CorruptSnapshot
from odradek.network.socket_server import SocketServer
from odradek.protocol import errors, releases
from odradek.protocol.uuids import format_uuid
from odradek.raft.client import RaftClient
from odradek.raft.config import RaftConfig
from odradek.raft.core.voters import Voter, VoterEndpoint, VoterSet
from odradek.raft.keys import NO_DIRECTORY, ReplicaKey
from odradek.raft.settings import RaftSettings
from odradek.reactor.loop import Loop
from odradek.reactor.ports import Disk, JobOf

if TYPE_CHECKING:
    from odradek.raft.driver.exchange import VoterConnections

FETCH, VOTE = 1, 52
PRE_VOTE_FROM = 2  # the version of Vote that has it
FIRST_RECORDS_MAX = 100  # in a log that is longer, they have been written long ago


class ControllerServer:
    __slots__ = ("_log", "_on_fatal", "_shared", "controller", "endpoints", "services", "socket_server")

    def __init__(self, shared: Shared, on_fatal: OnFatal) -> None:
        """Binds the listeners. Raises StartRefused if one cannot be had."""
        self._shared = shared
        self._on_fatal = on_fatal
        self._log = shared.log.logger("kafka.server.ControllerServer", f"[ControllerServer id={shared.node_id}] ")
        self.socket_server = SocketServer(
            shared.loop, shared.config, shared.metrics, tls=shared.tls, poisons=shared.poisons
        )
        self.endpoints = self._listen()
        self.controller: QuorumController | None = None
        self.services: ControllerServices | None = None  # what its handlers work with, from `start` on
        self._make_quorum()

    def _listen(self) -> list[Endpoint]:
        names = controller_names(self._shared.config)
        return [
            bind(self.socket_server, endpoint, "control")
            for endpoint in endpoints(self._shared.config, "listeners")
            if endpoint.listener in names
        ]

    def _make_quorum(self) -> None:
        shared = self._shared
        versions = shared.release.api_versions(releases.CONTROLLER)
        settings = RaftSettings(
            directory=f"{shared.dirs.metadata_dir}/{METADATA_LOG}",
            me=ReplicaKey(shared.node_id, shared.dirs.metadata_directory_id or NO_DIRECTORY),
            cluster_id=shared.cluster_id,
            voters=self._configured_voters(),
            config=RaftConfig.from_config(shared.config),
            has_pre_vote=versions[VOTE][1] >= PRE_VOTE_FROM,
            fetch_version=versions[FETCH][1],
        )
        shared.raft = RaftClient(
            shared.loop,
            shared.jobs,
            settings,
            connect=lambda: _connections(shared.loop, settings),
            metrics=shared.metrics,
            on_fatal=self._quorum_failed,
        )
        shared.loader = MetadataLoader(
            shared.loop, high_watermark=lambda: shared.raft.high_watermark, on_fault=self._metadata_failed
        )
        shared.loader.add_publisher(shared.cache)

    def _configured_voters(self) -> VoterSet | None:
        voters = quorum_of(self._shared.config).voters
        name = controller_names(self._shared.config)[0]
        named = [Voter(id=each.id, endpoints=(VoterEndpoint(name, each.host, each.port),)) for each in voters]
        return VoterSet(named) if named else None

    # Start and stop

    async def start(self) -> None:
        self._log.info("Starting controller")
        shared = self._shared
        self._ensure_voters()
        await self._ensure_log()
        try:
            with shared.waits.on(lambda: f"the metadata log in {shared.dirs.metadata_dir} to be read"):
                await shared.raft.start()
        except errors.KafkaError as error:
            raise StartRefused(not_opened(error)) from error
        self._ensure_alone()
        controller = self.controller = await self._make_controller()
        controller.start()
        shared.raft.register(shared.loader)
        self._serve_with(controller)
        with shared.waits.on(lambda: "this node to lead its quorum, and to read the metadata log"):
            await controller.until_active()
        self._ensure_supported(controller)
        self.socket_server.enable()
        self._add_publishers()

    def _serve_with(self, controller: QuorumController) -> None:
        shared = self._shared
        self.services = ControllerServices(shared.services(), controller=controller)
        dispatcher = Dispatcher(self.services, shared.faults)
        self.socket_server.serve_with(dispatcher.serve)
        shared.inter_broker.attach(releases.CONTROLLER, dispatcher, self.endpoints[0].listener)

    def _ensure_voters(self) -> None:
        """Refuses dirs without ids and a config without voters: nobody would know who the voters are.

        Release 3.3 gave its dirs no ids and kept the voters in its config; later ones look for them in the log."""
        shared = self._shared
        is_older = shared.release.has_directory_id and shared.dirs.metadata_directory_id is None
        if is_older and not quorum_of(shared.config).voters:
            raise self._unserved(
                "it was formatted at release 3.3, whose voters stand in controller.quorum.voters, where release "
                f"{shared.release.name} finds none"
            )

    async def _ensure_log(self) -> None:
        """Refuses dirs whose metadata log is gone, before an empty one is made in its place."""
        shared = self._shared
        disk, voters = shared.loop.ports.disk, quorum_of(shared.config).voters
        try:
            reason = await shared.loop.submit(_look_for_log(disk, shared.dirs, has_voters=bool(voters)))
        except OSError as error:
            raise StartRefused(f"The log dirs cannot be read: {with_remedy(error)}") from error
        if reason is not None:
            raise StartRefused(reason)

    def _ensure_alone(self) -> None:
        """Refuses other voters: they would elect a leader, but a broker asks no controller on another node yet."""
        voters, me = self._shared.raft.voters, self._shared.raft.me
        if not voters.is_sole(me):
            raise StartRefused(
                f"The voters in the metadata log of {self._shared.dirs.metadata_dir} are {_listed(voters)}, "
                f"and this is {_shown(me)}: a quorum of others comes with the cluster, which is not built yet. "
                "Give this node a directory that was formatted for it alone."
            )

    def _ensure_supported(self, controller: QuorumController) -> None:
        """Refuses features that this release does not know: it might read wrongly what another has written."""
        reason = controller.core.features.reason_not_to_serve(self._shared.raft.kraft_version)
        if reason is not None:
            raise self._unserved(reason)

    def _unserved(self, reason: str) -> StartRefused:
        return StartRefused(
            f"{self._shared.dirs.metadata_dir} cannot be served: {reason}. Start it at the release that has written it "
            "(leave --release-version out), or give this one another directory (--data)."
        )

    def _add_publishers(self) -> None:
        shared = self._shared
        shared.configs.listen(concerns_network, lambda layers: self.socket_server.update_config(layers.config))
        snapshots = SnapshotGenerator(
            shared.loop, shared.raft, shared.release, SnapshotConfig.from_config(shared.config)
        )
        shared.loader.add_publisher(snapshots)
        name = "kafka.server.ControllerRegistrationManager"
        log = shared.log.logger(name, f"[ControllerRegistrationManager id={shared.node_id}] ")
        shared.loader.add_publisher(ControllerRegistration(shared, self.endpoints, log))

    async def _make_controller(self) -> QuorumController:
        shared = self._shared
        return QuorumController(
            shared.loop,
            shared.raft,
            node_id=shared.node_id,
            cluster_id=shared.cluster_id,
            release=shared.release,
            static_configs=shared.configs.static,
            config=ControllerConfig.from_config(shared.config),
            bootstrap=await self._bootstrap_records(),
            on_fault=self._metadata_failed,
            is_own_lock_held=lambda: shared.dirs.metadata_dir in shared.dirs.locked,
        )

    async def _bootstrap_records(self) -> list[Versioned]:
        """The records that formatting has left in a file, for the first controller of an empty metadata log."""
        if self._shared.raft.high_watermark > FIRST_RECORDS_MAX:
            return []
        try:
            found = await self._shared.loop.submit(
                _read_bootstrap(self._shared.loop.ports.disk, self._shared.dirs.metadata_dir)
            )
        except (CorruptSnapshot, OSError) as error:
            raise StartRefused(f"The bootstrap records cannot be read: {with_remedy(error)}") from error
        return (found or bootstrap_of_release(self._shared.release)).records

    async def stop(self) -> None:
        self._log.info("shutting down")
        await self.socket_server.stop(drain_ms=0)
        if self.controller is not None:
            self.controller.stop()
        await self._shared.raft.shutdown()

    # What goes wrong

    def _quorum_failed(self, error: BaseException) -> None:
        self._on_fatal(f"The metadata log has failed: {with_remedy(error)}")

    def _metadata_failed(self, error: BaseException) -> None:
        self._on_fatal(f"The metadata log cannot be applied: {error}")


def _connections(loop: Loop, settings: RaftSettings) -> "VoterConnections":
    """Imported when there is another voter: a node that is its whole quorum needs no client."""
    from odradek.raft.driver.voter_channel import VoterChannel

    return VoterChannel(loop, settings.me.id, settings.config)


def not_opened(error: errors.KafkaError) -> str:
    reason = f"The metadata log cannot be opened: {str(error.message).rstrip('.')}."
    if is_for_want_of_space(error):
        return f"{reason} The disk is full, and nothing is damaged: free some space and start again."
    remedy = remedy_for(error)
    if remedy is not None:
        return f"{reason} Nothing is damaged: {remedy}, and start again."
    return (
        f"{reason} 'odradek log repair' leaves it alone, as it is the quorum's: bring its directory back from a copy, "
        "or with more controllers from one of the others."
    )


def _look_for_log(disk: Disk, dirs: NodeDirs, *, has_voters: bool) -> JobOf[str | None]:
    yield 0
    if disk.exists(f"{dirs.metadata_dir}/{METADATA_LOG}"):
        return None
    from odradek.metadata.lost_log import lost_log  # it knows of records, which a sound start does not need yet

    return lost_log(disk, dirs.metadata_dir, sorted(dirs.locked), has_voters=has_voters)


def _read_bootstrap(disk: Disk, directory: str) -> JobOf[BootstrapMetadata | None]:
    found = read_bootstrap(disk, directory)
    yield 0
    return found


def _listed(voters: VoterSet) -> str:
    return ", ".join(_shown(voter.key) for voter in voters)


def _shown(replica: ReplicaKey) -> str:
    known = replica.directory_id != NO_DIRECTORY
    return f"{replica.id} (directory {format_uuid(replica.directory_id)})" if known else str(replica.id)
