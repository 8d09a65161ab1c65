"""The internal topics of streams groups: made because a heartbeat found them missing, in the name of who sent it.

The member is told that they are missing and comes again; if they cannot be made it is told why as long as that is
fresh news.
"""

from odradek.handlers.auto_creation import NAMES_PER_REQUEST
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER, Configs, InterBroker
from odradek.protocol import errors
from odradek.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.reactor.loop import Loop
from odradek.security.principal import Principal

IN_FLIGHT_MAX = 10_000  # names under way; a group whose topic is beyond it comes again
FAILURES_MAX = 10_000  # remembered
REMEMBERED_FOR_HEARTBEATS = 3  # a failure, counted in heartbeat intervals of the group that asked


class StreamsTopics:
    """The creations of one broker that are under way, and what became of the last ones."""

    __slots__ = ("_configs", "_failures", "_in_flight", "_inter_broker", "_loop")

    def __init__(self, loop: Loop, inter_broker: InterBroker, configs: Configs) -> None:
        self._loop = loop
        self._inter_broker = inter_broker
        self._configs = configs
        self._in_flight: set[str] = set()
        self._failures: dict[str, tuple[int, str]] = {}  # by topic: until when it is told, and what

    def create(
        self, topics: list[CreatableTopic], heartbeat_ms: int, principal: Principal, client_id: str | None
    ) -> None:
        """Starts the creation of those that are not under way yet, in the name of this principal."""
        new = [topic for topic in topics if topic.name not in self._in_flight]
        new = new[: IN_FLIGHT_MAX - len(self._in_flight)]
        if new:
            self._in_flight.update(topic.name for topic in new)
            until_ms = self._loop.ports.clock.mono_ms() + heartbeat_ms * REMEMBERED_FOR_HEARTBEATS
            self._loop.spawn(self._send(new, until_ms, principal, client_id))

    async def _send(
        self, topics: list[CreatableTopic], until_ms: int, principal: Principal, client_id: str | None
    ) -> None:
        """A few at a time: each request is one decision of the controller, in one turn of the reactor."""
        try:
            for at in range(0, len(topics), NAMES_PER_REQUEST):
                response = await self._send_some(topics[at : at + NAMES_PER_REQUEST], principal, client_id)
                for result in response.topics:
                    self._remember(result.name, until_ms, _words(result))
        except errors.KafkaError as error:
            for topic in topics:
                self._remember(topic.name, until_ms, error.message)
        finally:
            self._in_flight.difference_update(topic.name for topic in topics)

    async def _send_some(
        self, topics: list[CreatableTopic], principal: Principal, client_id: str | None
    ) -> CreateTopicsResponse:
        config = self._configs.current.config
        wanted = [_with_replicas(topic, config["default.replication.factor"]) for topic in topics]
        request = CreateTopicsRequest(topics=wanted, timeout_ms=config["request.timeout.ms"])
        response: CreateTopicsResponse = await self._inter_broker.send(
            ACTIVE_CONTROLLER, request, principal=principal, client_id=client_id
        )
        return response

    def _remember(self, name: str, until_ms: int, words: str | None) -> None:
        self._failures.pop(name, None)
        if words is not None:
            self._failures[name] = (until_ms, words)
        if len(self._failures) > FAILURES_MAX:
            del self._failures[next(iter(self._failures))]

    def failures(self, topics: list[CreatableTopic]) -> list[str]:
        """Those of these topics that could not be made a while ago, each with the reason."""
        now_ms = self._loop.ports.clock.mono_ms()
        told = []
        for topic in topics:
            until_ms, words = self._failures.get(topic.name, (now_ms, ""))
            if until_ms > now_ms:
                told.append(f"{topic.name} ({words})")
        return told


def _with_replicas(topic: CreatableTopic, default: int) -> CreatableTopic:
    """A copy: the group keeps the topic as its topology wants it."""
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=default if topic.replication_factor == -1 else topic.replication_factor,
        configs=topic.configs,
    )


def _words(result: CreatableTopicResult) -> str | None:
    """None if it is there now, whoever made it."""
    if result.error_code in (errors.NONE, errors.TopicAlreadyExists.code):
        return None
    return result.error_message or errors.by_code(result.error_code).message
