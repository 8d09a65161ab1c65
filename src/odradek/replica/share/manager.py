"""Kafka's SharePartitionManager: the share-partitions that this broker leads, who reads them, and in which sessions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicIdPartition
from odradek.reactor.pending import Pending
from odradek.replica.partition import Partition
from odradek.replica.share.config import GROUP_RESOURCE, ShareGroupConfig
from odradek.replica.share.led_share_partition import LedSharePartition
from odradek.replica.share.partition import RENEW, Acknowledgement
from odradek.replica.share.persisted import Persister, SharePartitionKey
from odradek.replica.share.sessions import INITIAL_EPOCH, ShareSession, ShareSessions

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

Acknowledgements = Mapping[TopicIdPartition, Sequence[Acknowledgement]]
Results = dict[TopicIdPartition, errors.KafkaError | None]


class SharePartitionManager:
    __slots__ = ("_config", "_led", "_persister", "replicas", "sessions")

    def __init__(self, replicas: "ReplicaManager", persister: Persister, config: Mapping[str, Any]) -> None:
        """`config` has the broker's configs by name. Any: each of the type that its definition gives it."""
        self.replicas = replicas
        self._persister = persister
        self._config = config
        self._led: dict[SharePartitionKey, LedSharePartition] = {}
        self.sessions = ShareSessions(config["group.share.max.share.sessions"])

    def config_of(self, group_id: str) -> ShareGroupConfig:
        image = self.replicas.image
        return ShareGroupConfig(self._config, {} if image is None else image.configs.of(GROUP_RESOURCE, group_id))

    # Share-partitions

    def led(self, group_id: str, place: TopicIdPartition) -> LedSharePartition:
        """Opened if need be. Why it is not here is raised."""
        topic_id, index = place
        partition = self.replicas.led_partition(topic_id, index)
        key = SharePartitionKey(group_id, topic_id, index)
        found = self._led.get(key)
        if found is not None and found.partition is partition and found.leader_epoch == partition.leader_epoch:
            return found
        if found is not None:
            found.end()
        return self._open(partition, key)

    def _open(self, partition: Partition, key: SharePartitionKey) -> LedSharePartition:
        made = self._led[key] = LedSharePartition(
            self.replicas, self._persister, partition, key, lambda: self.config_of(key.group_id), self._ended
        )
        made.start()
        return made

    def _ended(self, led: LedSharePartition) -> None:
        if self._led.get(led.key) is led:
            del self._led[led.key]

    def stop(self) -> None:
        for led in list(self._led.values()):
            led.end()

    # Sessions

    def session(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """The one that a request opens, goes on with, or closes."""
        if epoch != INITIAL_EPOCH:
            return self.sessions.next(group_id, member_id, epoch)
        before = self.sessions.get(group_id, member_id)
        if before is not None:
            self.sessions.remove(before)  # what the member has acquired stays with it
        return self.sessions.open(group_id, member_id)

    def close(self, session: ShareSession) -> None:
        """Gives back what the member has; the last one of a group leaves nothing here."""
        if not self.sessions.remove(session):
            return
        for key, led in list(self._led.items()):
            if key.group_id == session.group_id:
                led.give_back(session.member_id)
        if not self.sessions.has_group(session.group_id):
            self._forget(session.group_id)

    def _forget(self, group_id: str) -> None:
        """Nobody reads here: whoever comes next reads the state again, which an admin may have changed meanwhile."""
        for key, led in list(self._led.items()):
            if key.group_id == group_id:
                led.end_when_idle()

    # Acknowledgements

    async def acknowledge(self, group_id: str, member_id: str, wanted: Acknowledgements) -> Results:
        """What became of each; None is well."""
        results: Results = {}
        written = []
        for place, acknowledgements in wanted.items():
            try:
                written.append((place, await self._acknowledge(group_id, member_id, place, acknowledgements)))
            except errors.KafkaError as error:
                results[place] = error
        for place, pending in written:
            try:
                await pending
                results[place] = None
            except errors.KafkaError as error:
                results[place] = error
        return results

    async def _acknowledge(
        self, group_id: str, member_id: str, place: TopicIdPartition, acknowledgements: Sequence[Acknowledgement]
    ) -> Pending[None]:
        config = self.config_of(group_id)
        if not config.may_renew and any(RENEW in each.types for each in acknowledgements):
            raise errors.InvalidRequest("This group may not renew locks: share.renew.acknowledge.enable is false.")
        led = self.led(group_id, place)
        await led.loaded
        now_ms = self.replicas.mono_ms()
        transition = led.loaded_core.acknowledge(member_id, acknowledgements, now_ms, config.lock_duration_ms)
        led.arm()
        return led.change(transition)
