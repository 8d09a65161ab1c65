"""The life of a broker as the controller sees it: registration, heartbeats, fencing, controlled shutdown.

    NOT_RUNNING ── start ──> STARTING ── caught up ──> RECOVERY ── unfenced ──> RUNNING
                                                                                   │ begin_controlled_shutdown
    NOT_RUNNING <── closed ── SHUTTING_DOWN <── the controller agrees ── PENDING_CONTROLLED_SHUTDOWN

A broker registers until it succeeds, gets its epoch, and from then on sends heartbeats. It asks to stay fenced until
everything that it needs to serve is ready (`set_ready_to_unfence`); RUNNING means that the controller has made it
visible to clients. Whatever changes what the next heartbeat would say sends it at once: waiting for the interval would
be most of the time that a start takes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from odradek.broker.inter_broker import InterBroker
from odradek.broker.server_log import Logger
from odradek.config.broker import TABLE
from odradek.config.listeners import PROTOCOLS, Endpoint
from odradek.config.snapshot import Snapshot, field, optional
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER
from odradek.protocol import errors
from odradek.protocol.declare import Request, Uuid
from odradek.protocol.messages.k62_broker_registration import BrokerRegistrationRequest, Feature, Listener
from odradek.protocol.messages.k63_broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.releases import CONTROLLER, Release
from odradek.protocol.uuids import format_uuid
from odradek.reactor.coroutine_task import Task
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled

RETRY_MS_MIN, RETRY_MS_MAX = 100, 1000
NO_EPOCH = -1
CORDONED_FROM = 2  # the version of BrokerHeartbeat that tells them
_ALL_FEATURES, _FEATURES_FROM_1 = 4, 3  # as in ApiVersions: older readers reject a lowest level of 0


class BrokerState:
    """`value` is what Kafka's BrokerState metric shows."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: int) -> None:
        self.name = name
        self.value = value

    def __repr__(self) -> str:
        return self.name


NOT_RUNNING = BrokerState("NOT_RUNNING", 0)
STARTING = BrokerState("STARTING", 1)
RECOVERY = BrokerState("RECOVERY", 2)
RUNNING = BrokerState("RUNNING", 3)
PENDING_CONTROLLED_SHUTDOWN = BrokerState("PENDING_CONTROLLED_SHUTDOWN", 6)
SHUTTING_DOWN = BrokerState("SHUTTING_DOWN", 7)


class LifecycleConfig(Snapshot, of=TABLE):
    heartbeat_interval_ms = field("broker.heartbeat.interval.ms", int)
    initial_registration_timeout_ms = field("initial.broker.registration.timeout.ms", int)
    rack = optional("broker.rack", str)


class Registration:
    """What a broker tells the controller about itself; it does not change while the broker runs."""

    __slots__ = (
        "cluster_id",
        "directories",
        "endpoints",
        "incarnation_id",
        "node_id",
        "previous_broker_epoch",
        "release",
    )

    def __init__(
        self,
        node_id: int,
        cluster_id: str,
        incarnation_id: bytes,
        release: Release,
        endpoints: Sequence[Endpoint],
        directories: Sequence[bytes],
        previous_broker_epoch: int,
    ) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.release = release
        self.endpoints = endpoints
        self.directories = directories
        self.previous_broker_epoch = previous_broker_epoch

    def request(self, rack: str | None) -> BrokerRegistrationRequest:
        version = self.release.api_versions(CONTROLLER)[62][1]
        features = self.release.supported_features(_ALL_FEATURES if version >= 4 else _FEATURES_FROM_1)
        return BrokerRegistrationRequest(
            broker_id=self.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=[_listener(endpoint) for endpoint in self.endpoints],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in features.items()
            ],
            rack=rack,
            log_dirs=sorted(self.directories),
            previous_broker_epoch=self.previous_broker_epoch,
        )


def _listener(endpoint: Endpoint) -> Listener:
    protocol = PROTOCOLS.index(endpoint.protocol)
    return Listener(name=endpoint.listener, host=endpoint.host, port=endpoint.port, security_protocol=protocol)


class BrokerLifecycle:
    __slots__ = (
        "_config",
        "_cordoned",
        "_inter_broker",
        "_log",
        "_loop",
        "_metadata_offset",
        "_offline",
        "_ready_to_unfence",
        "_registration",
        "_send_now",
        "_task",
        "_tells_cordoned",
        "broker_epoch",
        "controlled_shutdown",
        "initial_catch_up",
        "initial_unfence",
        "is_fenced",
        "last_answer",
        "state",
    )

    def __init__(
        self,
        loop: Loop,
        inter_broker: InterBroker,
        registration: Registration,
        config: LifecycleConfig,
        log: Logger,
        metadata_offset: Callable[[], int],
        cordoned: Callable[[], list[bytes]] = list,
    ) -> None:
        """`metadata_offset` tells up to where this broker has applied the metadata log, `cordoned` the ids of the
        log dirs that get no new partitions.
        """
        self._loop = loop
        self._inter_broker = inter_broker
        self._registration = registration
        self._config = config
        self._log = log
        self._metadata_offset = metadata_offset
        self._cordoned = cordoned
        self._tells_cordoned = registration.release.api_versions(CONTROLLER)[63][1] >= CORDONED_FROM
        self._offline: set[bytes] = set()
        self._ready_to_unfence = False
        self._send_now: Pending[None] = loop.pending()
        self._task: Task[None] | None = None
        self.state = NOT_RUNNING
        self.broker_epoch = NO_EPOCH
        self.is_fenced = True
        self.last_answer = "it has not answered yet"  # for whoever waits
        self.initial_catch_up: Pending[None] = loop.pending()
        self.initial_unfence: Pending[None] = loop.pending()
        self.controlled_shutdown: Pending[None] = loop.pending()

    @property
    def incarnation_id(self) -> bytes:
        return self._registration.incarnation_id

    def start(self) -> None:
        self.state = STARTING
        own = self._registration
        self._log.info(
            f"Incarnation {format_uuid(own.incarnation_id)} of broker {own.node_id} in cluster {own.cluster_id} "
            "is now STARTING."
        )
        self._task = self._loop.spawn(self._run())

    def set_ready_to_unfence(self) -> Pending[None]:
        """Called when everything is ready to serve; done when clients can see this broker."""
        self._ready_to_unfence = True
        self.communicate_now()
        return self.initial_unfence

    def metadata_applied(self) -> None:
        """Called after every image. The broker may have caught up, or may stop now: a heartbeat asks the controller."""
        is_starting = self.state is STARTING and self.broker_epoch != NO_EPOCH
        if is_starting or self.state is PENDING_CONTROLLED_SHUTDOWN:
            self.communicate_now()

    def dir_failed(self, directory_id: bytes) -> None:
        self._offline.add(directory_id)
        self.communicate_now()

    def begin_controlled_shutdown(self) -> Pending[None]:
        """Asks the controller for leave to stop; done when that is given, or at once if clients never saw us."""
        if self.state is RUNNING:
            self._log.info("Beginning controlled shutdown.")
            self.state = PENDING_CONTROLLED_SHUTDOWN
            self.communicate_now()
        elif self.state is not PENDING_CONTROLLED_SHUTDOWN:
            self._begin_shutting_down()
        return self.controlled_shutdown

    def close(self) -> None:
        self._begin_shutting_down()
        if self._task is not None:
            self._task.cancel()
        for waiting in (self.initial_catch_up, self.initial_unfence):
            waiting.cancel()
        self.state = NOT_RUNNING

    def communicate_now(self) -> None:
        self._send_now.resolve(None)

    # The conversation

    async def _run(self) -> None:
        try:
            await self._register()
            while self.state is not SHUTTING_DOWN:
                is_answered = await self._heartbeat()
                await self._wait(self._config.heartbeat_interval_ms if is_answered else RETRY_MS_MIN)
        except Cancelled:
            return

    async def _register(self) -> None:
        retry_ms = RETRY_MS_MIN
        give_up_ms = self._loop.ports.clock.mono_ms() + self._config.initial_registration_timeout_ms
        while True:
            error = await self._try_to_register()
            if error is None:
                return
            if self._loop.ports.clock.mono_ms() >= give_up_ms:
                self.initial_catch_up.fail(error)
                raise Cancelled
            await self._loop.sleep(retry_ms)
            retry_ms = min(RETRY_MS_MAX, 2 * retry_ms)

    async def _try_to_register(self) -> errors.KafkaError | None:
        try:
            response = await self._ask(self._registration.request(self._config.rack))
            errors.raise_for(response.error_code)
        except errors.KafkaError as error:
            self.last_answer = f"{error.name}: {error.message}"
            self._log.info(f"Unable to register broker {self._registration.node_id}: {error.name}: {error.message}")
            return error
        self.broker_epoch = response.broker_epoch
        self.last_answer = f"it is registered with epoch {self.broker_epoch}, and has to catch up with the metadata log"
        self._log.info(
            f"Successfully registered broker {self._registration.node_id} with broker epoch {self.broker_epoch}"
        )
        return None

    async def _heartbeat(self) -> bool:
        request = BrokerHeartbeatRequest(
            broker_id=self._registration.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._metadata_offset(),
            want_fence=not self._ready_to_unfence,
            want_shut_down=self.state is PENDING_CONTROLLED_SHUTDOWN,
            offline_log_dirs=sorted(self._offline),
        )
        if self._tells_cordoned:
            request.cordoned_log_dirs = sorted(map(Uuid, self._cordoned()))
        try:
            response: BrokerHeartbeatResponse = await self._ask(request)
            errors.raise_for(response.error_code)
        except errors.KafkaError as error:
            self.last_answer = f"{error.name}: {error.message}"
            self._log.warn(
                f"Broker {self._registration.node_id} sent a heartbeat request but received error {error.name}."
            )
            return False
        self._take_answer(response)
        return True

    def _ask(self, request: Request) -> Pending[Any]:  # Any: the response that belongs to the request
        self._send_now = self._loop.pending()  # what comes in from now on is not in this request
        return self._inter_broker.send(ACTIVE_CONTROLLER, request)

    async def _wait(self, delay_ms: int) -> None:
        send_now = self._send_now
        timer = self._loop.after(delay_ms, lambda: send_now.resolve(None))
        try:
            await send_now
        finally:
            timer.cancel()

    # What the controller says

    def _take_answer(self, response: BrokerHeartbeatResponse) -> None:
        self.is_fenced = response.is_fenced
        self.last_answer = "it has heard of it, and lets it wait"
        if self.state is STARTING and response.is_caught_up:
            self._log.info("The broker has caught up. Transitioning from STARTING to RECOVERY.")
            self.state = RECOVERY
            self.initial_catch_up.resolve(None)
        elif self.state is RECOVERY and not response.is_fenced:
            self._log.info("The broker has been unfenced. Transitioning from RECOVERY to RUNNING.")
            self.state = RUNNING
            self.initial_unfence.resolve(None)
        elif self.state is PENDING_CONTROLLED_SHUTDOWN and response.should_shut_down:
            self._log.info("The controller has asked us to exit controlled shutdown.")
            self._begin_shutting_down()

    def _begin_shutting_down(self) -> None:
        if self.state is not SHUTTING_DOWN and self.state is not NOT_RUNNING:
            self._log.info(f"Transitioning from {self.state.name} to SHUTTING_DOWN.")
            self.state = SHUTTING_DOWN
        self.controlled_shutdown.resolve(None)
        self.communicate_now()
