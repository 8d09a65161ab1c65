"""Tells the controller which log dir holds each replica (KIP-858), whenever that is not what the metadata says.

A new replica has no dir on record, unless the broker has only one; a replica that was moved has another one. The
controller must know, so that a failed dir takes the leadership of its own partitions and of no others.
"""

from collections.abc import Mapping
from itertools import islice

from odradek.broker.lifecycle import BrokerLifecycle
from odradek.broker.server_log import Logger
from odradek.broker.shared import Shared
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER
from odradek.log.manager.manager import LogManager
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.versions import DIRECTORY_ASSIGNMENT
from odradek.protocol import errors

ASSIGNMENTS_PER_REQUEST_MAX = 2250
LOOKED_AT_PER_TURN = 256
RETRY_MS = 500

Replica = tuple[bytes, int]  # topic id and partition


class DirectoryAssignments:
    __slots__ = ("_is_sending", "_lifecycle", "_log", "_logs", "_pending", "_shared")

    def __init__(self, shared: Shared, logs: LogManager, lifecycle: BrokerLifecycle, log: Logger) -> None:
        self._shared = shared
        self._logs = logs
        self._lifecycle = lifecycle
        self._log = log
        self._pending: dict[Replica, None] = {}  # in the order in which they came
        self._is_sending = False

    def applied(self, delta: MetadataDelta) -> None:
        """Queues the replicas that the delta has changed; their logs are open by now."""
        for topic_id, topic in delta.topics.changed.items():
            for index in topic.changed:
                self._pending[topic_id, index] = None
        self._send_soon()

    def moved(self, topic: str, partition: int) -> None:
        """Queues a replica that was moved to another dir."""
        topic_id = self._shared.cache.topic_id(topic)
        if topic_id is not None:
            self._pending[topic_id, partition] = None
            self._send_soon()

    def _send_soon(self) -> None:
        if self._pending and not self._is_sending and self._is_supported():
            self._is_sending = True
            self._shared.loop.spawn(self._send_all())

    def _is_supported(self) -> bool:
        return self._shared.cache.metadata_version >= DIRECTORY_ASSIGNMENT

    async def _send_all(self) -> None:
        try:
            while self._pending and not self._logs.is_stopping:
                if not await self._send_some():
                    await self._shared.loop.sleep(RETRY_MS)
        finally:
            self._is_sending = False

    async def _send_some(self) -> bool:
        """Sends a part of what is queued. Whether the controller has taken it; if not, it stays queued."""
        wrong: dict[Replica, bytes] = {}
        directory_ids = self._shared.dirs.directory_ids
        while self._pending and len(wrong) + LOOKED_AT_PER_TURN <= ASSIGNMENTS_PER_REQUEST_MAX:
            for replica in list(islice(self._pending, LOOKED_AT_PER_TURN)):
                del self._pending[replica]
                directory = self._missing(replica, directory_ids)
                if directory is not None:
                    wrong[replica] = directory
            if self._pending:
                await self._shared.loop.sleep(0)
        if not wrong or await self._assign(wrong):
            return True
        self._pending = dict.fromkeys(wrong) | self._pending
        return False

    def _missing(self, replica: Replica, directory_ids: Mapping[str, bytes]) -> bytes | None:
        """The id of the dir that holds the replica, if the metadata has another one on record; else None."""
        topic = self._shared.cache.topic_by_id(replica[0])
        state = None if topic is None else topic.partitions.get(replica[1])
        log = None if topic is None else self._logs.get(topic.name, replica[1])
        if state is None or log is None or self._shared.node_id not in state.replicas:
            return None
        directory_id = directory_ids.get(self._logs.dirs.of_log(log).path)
        return directory_id if directory_id != state.directory_of(self._shared.node_id) else None

    async def _assign(self, wrong: dict[Replica, bytes]) -> bool:
        from odradek.protocol.messages import k73_assign_replicas_to_dirs as k73

        by_dir: dict[bytes, dict[bytes, list[k73.PartitionData]]] = {}
        for (topic_id, index), directory_id in wrong.items():
            partitions = by_dir.setdefault(directory_id, {}).setdefault(topic_id, [])
            partitions.append(k73.PartitionData(partition_index=index))
        directories = [
            k73.DirectoryData(
                id=directory_id,
                topics=[k73.TopicData(topic_id=topic_id, partitions=found) for topic_id, found in topics.items()],
            )
            for directory_id, topics in by_dir.items()
        ]
        request = k73.AssignReplicasToDirsRequest(
            broker_id=self._shared.node_id, broker_epoch=self._lifecycle.broker_epoch, directories=directories
        )
        try:
            response = await self._shared.inter_broker.send(ACTIVE_CONTROLLER, request)
            errors.raise_for(response.error_code)
        except errors.KafkaError as error:
            self._log.warn(
                f"The controller has not taken {len(wrong)} assignments of replicas to dirs: {error.message}"
            )
            return False
        return True
