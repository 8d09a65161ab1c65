"""Metadata becomes replicas: which partitions begin, change their leader, or end here. The cost is that of the delta.

First the roles: a topic that is gone is gone, a leader that is fenced takes no more appends. A delta of a few
partitions is taken over in the call that publishes it; a large one some partitions a turn, so that nobody has to wait
for all of them. The next delta waits for that: roles change in the order of the log, and so does what others do before
and after them (`Around`).

Files follow in jobs, many at a time. What ends is asked for while the roles change, so the log manager knows of it
before anybody can ask it for a log of the same name: a topic that was deleted and made again must not find the old log.
A new partition serves from the moment its own log is open, not when all are.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from odradek.log.log import Log
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.pending import Pending
from odradek.replica.isr import Isr
from odradek.replica.partition import Partition
from odradek.replica.roles import DAMAGED, DIR_FAILED, REMOVED, Offline
from odradek.replica.topic import HostedTopic

if TYPE_CHECKING:
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage
    from odradek.metadata.partition import PartitionRegistration
    from odradek.metadata.topics import TopicsDelta
    from odradek.replica.manager import ReplicaManager

OPENED_IN_PARALLEL = 64  # partitions whose files are worked on; their jobs keep the executor busy
ROLES_PER_TURN = 256  # partitions that change their role before others get a turn of the reactor
OPENED_PER_TURN = 64

T = TypeVar("T")


class LogToOpen(NamedTuple):
    """A partition that is ours by the metadata, and whose log is to be found or made."""

    partition: Partition
    image: "PartitionRegistration"
    is_new: bool  # it has never been anywhere: it cannot lie in a dir that is offline


class Around(NamedTuple):
    """What others do with an image right before and right after its roles have changed, before any later image."""

    before_roles: Callable[[], None]
    after_roles: Callable[[], None]


async def apply(
    replicas: "ReplicaManager", delta: "MetadataDelta", image: "MetadataImage", around: Around | None = None
) -> None:
    topics = [] if delta.topics is None else list(delta.topics.changed.values())
    for changed in topics:
        # Clients hear of the topic by the metadata cache. This reason to wait for it goes when `_change_roles` has
        # added one for each of its logs, and those go when the logs are open.
        replicas.unopened_topics.add(changed.image.name)
    before, replicas.roles_changed = replicas.roles_changed, replicas.loop.pending()
    mine = replicas.roles_changed
    try:
        if before is not None:
            await before
        if around is not None:
            around.before_roles()
        ending, logs = await _change_roles(replicas, delta, image)
        if around is not None:
            around.after_roles()
    finally:
        mine.resolve(None)
        for changed in topics:
            replicas.unopened_topics.remove(changed.image.name)
    for each in ending:
        await each
    await _in_parallel(replicas, logs, lambda to_open: _open_counted(replicas, to_open))


# Roles.


async def _change_roles(
    replicas: "ReplicaManager", delta: "MetadataDelta", image: "MetadataImage"
) -> tuple[list[Pending[None]], list[LogToOpen]]:
    """What is under way with the logs that end, and what is to be opened."""
    is_first = replicas.image is None
    replicas.image = image
    if delta.topics is None:
        return [], []
    ending: list[Pending[None]] = []
    for ended in _some(_end_all(replicas, delta.topics)):
        ending.append(replicas.loop.spawn(_delete(replicas, ended)))
        if len(ended) == ROLES_PER_TURN:
            await replicas.loop.sleep(0)
    logs: list[LogToOpen] = []
    for some in _some(_begin_all(replicas, delta.topics, is_first)):
        for to_open in filter(None, some):
            replicas.unopened_topics.add(to_open.partition.topic.name)
            logs.append(to_open)
        if len(some) == ROLES_PER_TURN:
            await replicas.loop.sleep(0)
    return ending, logs


def _some(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while some := list(islice(rest, ROLES_PER_TURN)):
        yield some


def _end_all(replicas: "ReplicaManager", topics: "TopicsDelta") -> Iterator[TopicPartition]:
    """Ends partitions as they are taken from here: those whose logs have to go."""
    for topic_id in sorted(topics.deleted):
        hosted = replicas.by_id.get(topic_id)
        if hosted is not None:
            for index in sorted(hosted.partitions):
                yield _end(hosted, index)
            replicas.drop(hosted)
    for topic_id, changed in topics.changed.items():
        hosted = replicas.by_id.get(topic_id)
        for index, image in changed.changed.items():
            if hosted is not None and index in hosted.partitions and replicas.node_id not in image.replicas:
                yield _end(hosted, index)


def _end(hosted: HostedTopic, index: int) -> TopicPartition:
    hosted.partitions.pop(index).remove()
    return TopicPartition(hosted.name, index)


def _begin_all(replicas: "ReplicaManager", topics: "TopicsDelta", is_first: bool) -> Iterator[LogToOpen | None]:
    """Gives partitions their roles as they are taken from here; those without a log yet are to be opened."""
    for topic_id, changed in topics.changed.items():
        name = changed.image.name
        for index, image in sorted(changed.changed.items()):
            if replicas.node_id not in image.replicas:
                continue
            partition = _hosted(replicas, name, topic_id, index)
            partition.replicas = image.replicas
            partition.isr = image.isr
            log = partition.log
            if log is not None:
                take_role(replicas, partition, image, log)
                yield None
            else:
                is_new = not is_first and index not in changed.image.partitions
                yield LogToOpen(partition, image, is_new)


def _hosted(replicas: "ReplicaManager", name: str, topic_id: bytes, index: int) -> Partition:
    hosted = replicas.host(name, topic_id)
    partition = hosted.partitions.get(index)
    if partition is None:
        partition = hosted.partitions[index] = Partition(hosted, index)
    return partition


def take_role(replicas: "ReplicaManager", partition: Partition, image: "PartitionRegistration", log: Log) -> None:
    """Makes the partition lead or follow, as the metadata says."""
    if image.partition_epoch < partition.partition_epoch:
        return  # a later state has come while its log was being opened
    if image.leader != replicas.node_id:
        partition.make_follower(image.leader, image.leader_epoch, image.partition_epoch, log)
        return
    leader = partition.leader
    if leader is None or leader.epoch != image.leader_epoch:
        partition.make_leader(_new_isr(replicas, partition, image, log.log_end_offset), log)
    elif leader.isr.replicas != image.replicas:
        partition.make_leader(_new_isr(replicas, partition, image, leader.isr.epoch_start_offset), log)
    else:
        leader.isr_changed(image.isr, image.partition_epoch)


def _new_isr(
    replicas: "ReplicaManager", partition: Partition, image: "PartitionRegistration", epoch_start_offset: int
) -> Isr:
    """A 4.3 holds the high watermark back while there are fewer in-sync replicas than it asks for."""
    is_holding = replicas.is_min_in_sync_capped
    return Isr(
        replicas.node_id,
        image.replicas,
        image.isr,
        leader_epoch=image.leader_epoch,
        partition_epoch=image.partition_epoch,
        epoch_start_offset=epoch_start_offset,
        min_in_sync=partition.topic.effective_min_in_sync(len(image.replicas)) if is_holding else 0,
        now_ms=replicas.mono_ms(),
    )


# In jobs.


async def _in_parallel(
    replicas: "ReplicaManager", work: Iterable[T], do: Callable[[T], Coroutine[object, None, None]]
) -> None:
    """Has many workers share the work. All of them pause together: after a restart every log is there already, and none
    of them would ever wait.
    """
    queue = iter(list(work))
    done = 0
    pause: Pending[None] | None = None

    async def worker() -> None:
        nonlocal done, pause
        for each in queue:
            if pause is not None:
                await pause
            await do(each)
            done += 1
            if done % OPENED_PER_TURN == 0:
                pause = replicas.loop.sleep(0)

    workers = [replicas.loop.spawn(worker()) for _ in range(OPENED_IN_PARALLEL)]
    for each in workers:
        await each


async def _delete(replicas: "ReplicaManager", ended: list[TopicPartition]) -> None:
    """Has the logs of partitions deleted that have ended here."""
    try:
        await replicas.logs.delete_all(ended)
    except errors.KafkaError:
        return  # a dir has failed, and was taken offline by whoever noticed


async def _open_counted(replicas: "ReplicaManager", to_open: LogToOpen) -> None:
    """Opens a log, and tells whoever waits for its topic."""
    try:
        await _open(replicas, to_open)
    finally:
        replicas.unopened_topics.remove(to_open.partition.topic.name)


async def _open(replicas: "ReplicaManager", to_open: LogToOpen) -> None:
    """Opens the log and gives the partition its role. An error leaves this one offline, and the others alone."""
    partition, image, is_new = to_open
    if partition.role is REMOVED:
        return  # it was ended before its turn
    topic = partition.topic
    target_dir = replicas.preferred_dir(topic.name, partition.index) or _assigned_dir(replicas, image)
    try:
        log = await replicas.logs.get_or_create(
            topic.name, partition.index, topic.id, is_new=is_new, target_dir=target_dir
        )
        if log.is_flush_due:
            # After a kill the page cache holds what was never flushed: it is led, and shown, when it is on disk.
            await replicas.logs.flush(log)
    except errors.KafkaError:
        partition.go_offline(_why_offline(replicas, topic.name, partition.index))
        return
    if partition.role is not REMOVED and not log.is_closed:  # else it was set aside while it was flushed
        take_role(replicas, partition, image, log)
        if replicas.logs.get_future(topic.name, partition.index) is not None:
            replicas.mover.resume(partition)  # a move that the last stop has cut short
        if replicas.on_opened is not None:
            replicas.on_opened(partition)


def _why_offline(replicas: "ReplicaManager", topic: str, index: int) -> Offline:
    return DIR_FAILED if replicas.logs.dirs.find_set_aside(TopicPartition(topic, index)) is None else DAMAGED


def _assigned_dir(replicas: "ReplicaManager", image: "PartitionRegistration") -> str | None:
    """The log dir that the controller has assigned, if it is one of ours and online."""
    assigned = image.directory_of(replicas.node_id)
    for log_dir in replicas.logs.dirs.online:
        if log_dir.directory_id == assigned:
            return log_dir.path
    return None
