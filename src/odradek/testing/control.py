"""What a test may ask of a running broker beside the protocol: faults, topics without a client. Runs on its loop."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from odradek.broken_rule import present
from odradek.protocol import errors
from odradek.protocol.declare import Request
from odradek.protocol.json_value import JsonObject
from odradek.testing.fault_plan import FaultPlan
from odradek.testing.fault_rule import FaultRule

if TYPE_CHECKING:
    from odradek.broker.raft_server import KafkaRaftServer
    from odradek.broker.shared import Shared
    from odradek.replica.manager import ReplicaManager

CONTROLLER = -1  # the node id that stands for whoever is the active controller
TIMEOUT_MS = 10_000
POLL_MS = 2


class Control:
    __slots__ = ("faults", "server")

    def __init__(self) -> None:
        self.faults = FaultPlan()
        self.server: KafkaRaftServer | None = None

    @property
    def _running(self) -> "KafkaRaftServer":
        return present(self.server, "commands come once the broker serves")

    @property
    def _shared(self) -> "Shared":
        return present(self._running.shared, "commands come to a node that is a broker")

    @property
    def _replicas(self) -> "ReplicaManager":
        broker = present(self._running.broker, "commands come to a node that is a broker")
        return present(broker.replicas, "a broker that serves has replicas")

    async def answer(self, command: str, values: JsonObject) -> object:
        """The result of a command, which is a method below, of that method's type; KafkaError if it fails."""
        result = _COMMANDS[command](self, **values)
        return await result if hasattr(result, "__await__") else result

    def install_fault(self, number: int, **rule: Any) -> None:
        """Any: each of the type that FaultRule gives its field."""
        self.faults.install(number, FaultRule(**rule))

    def clear_faults(self, number: int | None) -> None:
        self.faults.clear(number)

    def fault_hits(self, number: int | None) -> int:
        return self.faults.hits(number)

    def config_warnings(self) -> list[str]:
        return list(self._running.config_warnings)

    async def create_topic(self, name: str, partitions: int, config: dict[str, str]) -> None:
        """Done when it can be written and read."""
        from odradek.protocol.messages.k19_create_topics import (
            CreatableTopic,
            CreatableTopicConfig,
            CreateTopicsRequest,
        )

        configs = [CreatableTopicConfig(name=key, value=value) for key, value in config.items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
        response = await self._send(CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
        errors.raise_for(response.topics[0].error_code, response.topics[0].error_message)
        await self._until_hosted(name, response.topics[0].num_partitions)

    async def delete_topic(self, name: str) -> None:
        from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState

        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=TIMEOUT_MS)
        response = await self._send(request)
        errors.raise_for(response.responses[0].error_code, response.responses[0].error_message)

    async def _send(self, request: Request) -> Any:  # Any: the response that belongs to the request
        return await self._shared.inter_broker.send(CONTROLLER, request)

    async def _until_hosted(self, name: str, partitions: int) -> None:
        """The controller has decided; the broker hears of it through its metadata log, and opens the logs."""
        loop, replicas = self._running.loop, self._replicas
        deadline_ms = loop.ports.clock.mono_ms() + TIMEOUT_MS
        while not all(_is_led(replicas, name, index) for index in range(partitions)):
            if loop.ports.clock.mono_ms() > deadline_ms:
                raise errors.RequestTimedOut(f"The topic {name} was created, but its partitions are not there yet.")
            await loop.sleep(POLL_MS)


def _is_led(replicas: "ReplicaManager", topic: str, index: int) -> bool:
    try:
        replicas.led_partition(topic, index)
    except errors.KafkaError:
        return False
    return True


_COMMANDS: dict[str, Callable[..., object]] = {
    command.__name__: command
    for command in (
        Control.install_fault,
        Control.clear_faults,
        Control.fault_hits,
        Control.config_warnings,
        Control.create_topic,
        Control.delete_topic,
    )
}
