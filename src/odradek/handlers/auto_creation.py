"""Topics that come into being because somebody asked for them (`auto.create.topics.enable`).

The one who asked is told UNKNOWN_TOPIC_OR_PARTITION and will come again; the creation goes to the controller in the
name of the caller, once for all who ask while it is under way.
"""

from collections.abc import Callable

from odradek.config.errors import one_line
from odradek.config.parsed import Config
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER, Configs, InterBroker
from odradek.handlers.internal_topics import INTERNAL, InternalTopic, reason_not_creatable
from odradek.metadata.cache import MetadataCache
from odradek.protocol import errors
from odradek.protocol.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.reactor.loop import Loop
from odradek.security.principal import Principal

NAMES_PER_REQUEST = 100
TOLD_AGAIN_MS = 30_000
IN_FLIGHT_MAX = 100_000  # names under way; a name beyond it is told unknown and comes again

_THERE = (errors.NONE, errors.TopicAlreadyExists.code)

# What the coordinators want of the topics that they keep their state in.
_OFFSETS_CONFIGS = {"cleanup.policy": "compact", "compression.type": "producer"}
_STATE_CONFIGS = {
    "cleanup.policy": "compact",
    "compression.type": "uncompressed",
    "unclean.leader.election.enable": "false",
}
_SHARE_CONFIGS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "retention.ms": "-1",
}


class AutoCreation:
    """The topics that this broker is having created, because somebody asked for them."""

    __slots__ = ("_configs", "_in_flight", "_inter_broker", "_loop", "_metadata", "_silent_until_ms", "_warn")

    def __init__(
        self,
        loop: Loop,
        inter_broker: InterBroker,
        configs: Configs,
        metadata: MetadataCache,
        warn: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._inter_broker = inter_broker
        self._configs = configs
        self._metadata = metadata
        self._warn = warn
        self._in_flight: set[str] = set()
        self._silent_until_ms: dict[str, int] = {}  # by internal topic; of others, by error

    def create(self, names: list[str], principal: Principal, client_id: str | None) -> None:
        """Starts the creation of those that are not under way yet; whoever asked need not wait for it."""
        new = [name for name in names if name not in self._in_flight]
        new = new[: IN_FLIGHT_MAX - len(self._in_flight)]
        if new:
            self._in_flight.update(new)
            self._loop.spawn(self._send(new, principal, client_id))

    def create_internal(self, name: str, client_id: str | None) -> None:
        """Starts the creation of a coordinator's topic, in the broker's name: whoever asks need not be allowed to."""
        if name not in self._in_flight:
            self._in_flight.add(name)
            self._loop.spawn(self._send([name], None, client_id))

    async def _send(self, names: list[str], principal: Principal | None, client_id: str | None) -> None:
        """A few at a time: each request is one decision of the controller, in one turn of the reactor."""
        try:
            for at in range(0, len(names), NAMES_PER_REQUEST):
                await self._send_some(names[at : at + NAMES_PER_REQUEST], principal, client_id)
        except errors.KafkaError:
            pass  # no controller now: whoever wants the topic asks again
        finally:
            self._in_flight.difference_update(names)

    async def _send_some(self, names: list[str], principal: Principal | None, client_id: str | None) -> None:
        config = self._configs.current.config
        request = CreateTopicsRequest(
            topics=[creatable(name, config) for name in names], timeout_ms=config["request.timeout.ms"]
        )
        response: CreateTopicsResponse = await self._inter_broker.send(
            ACTIVE_CONTROLLER, request, principal=principal, client_id=client_id
        )
        for result in response.topics:
            if result.error_code not in _THERE:
                self._tell_of(INTERNAL.get(result.name), result)

    def _tell_of(self, topic: InternalTopic | None, result: CreatableTopicResult) -> None:
        """Logs why a topic is not created, now and then: clients see UNKNOWN_TOPIC_OR_PARTITION alone, or of an
        internal topic COORDINATOR_NOT_AVAILABLE, and try for ever.
        """
        error = errors.by_code(result.error_code).name
        if not self._may_tell(error if topic is None else topic.name):
            return
        config, brokers = self._configs.current.config, len(self._metadata.image.cluster.brokers)
        answer = f"{error}: {result.error_message}"
        if topic is not None:
            known = reason_not_creatable(topic, config, brokers)
            self._warn(known or f"{topic.whose} wait for {topic.name}, which cannot be created: {answer}")
        else:
            known = reason_not_created(config, brokers)
            self._warn(f"the topic {one_line(result.name)}, which a client asks for, is not created: {known or answer}")

    def _may_tell(self, what: str) -> bool:
        now_ms = self._loop.ports.clock.mono_ms()
        if now_ms < self._silent_until_ms.get(what, now_ms):
            return False
        self._silent_until_ms[what] = now_ms + TOLD_AGAIN_MS
        return True


def reason_not_created(config: Config, brokers: int) -> str | None:
    """Why these configs create no topic that a client asks for, and what to set; None if they do, or shall not."""
    replicas = config["default.replication.factor"]
    if not config["auto.create.topics.enable"] or replicas <= brokers:
        return None
    there = "there is 1" if brokers == 1 else f"there are {brokers}"
    return (
        f"default.replication.factor={replicas} needs as many brokers, and {there}; "
        f"set default.replication.factor={brokers}"
    )


def creatable(name: str, config: Config) -> CreatableTopic:
    """The topic with the partitions, replicas and configs that the broker's configs say."""
    if name == OFFSETS_TOPIC:
        return _internal(
            name,
            config["offsets.topic.num.partitions"],
            config["offsets.topic.replication.factor"],
            {**_OFFSETS_CONFIGS, "segment.bytes": str(config["offsets.topic.segment.bytes"])},
        )
    if name == TRANSACTION_STATE_TOPIC:
        return _internal(
            name,
            config["transaction.state.log.num.partitions"],
            config["transaction.state.log.replication.factor"],
            {
                **_STATE_CONFIGS,
                "min.insync.replicas": str(config["transaction.state.log.min.isr"]),
                "segment.bytes": str(config["transaction.state.log.segment.bytes"]),
            },
        )
    if name == SHARE_STATE_TOPIC and "share.coordinator.state.topic.num.partitions" in config:
        return _internal(
            name,
            config["share.coordinator.state.topic.num.partitions"],
            config["share.coordinator.state.topic.replication.factor"],
            {
                **_SHARE_CONFIGS,
                "min.insync.replicas": str(config["share.coordinator.state.topic.min.isr"]),
                "segment.bytes": str(config["share.coordinator.state.topic.segment.bytes"]),
            },
        )
    return CreatableTopic(
        name=name, num_partitions=config["num.partitions"], replication_factor=config["default.replication.factor"]
    )


def _internal(name: str, partitions: int, replicas: int, configs: dict[str, str]) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
