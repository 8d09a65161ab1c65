"""The offsets that groups have committed: listed, set, deleted."""

from collections.abc import Iterable, Mapping

from odradek.channel.core import ByVersion, Destination
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.results import Results
from odradek.client.admin.routing import COORDINATOR_PASSING, at_coordinators, coordinator_of
from odradek.client.consumer.commits import NAMES_TOPICS, SEVERAL_GROUPS
from odradek.client.consumer.subscription import by_topic
from odradek.client.core import GROUP
from odradek.client.offsets import OffsetAndMetadata, with_metadata
from odradek.protocol.errors import KafkaError, UnstableOffsetCommit, UnsupportedVersion, by_code, raise_for
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from odradek.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.protocol.topic_partition import TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata]


async def list_group_offsets(
    asker: Asker,
    groups: str | Iterable[str] | Mapping[str, Iterable[TopicPartition] | None],
    *,
    require_stable: bool = False,
    timeout: float | None = None,
) -> Results[str, Offsets]:
    """All that each group has committed, or of the partitions that a mapping names for it.

    With `require_stable` UnstableOffsetCommit is waited out: no offset is told that an open transaction may change.
    """
    wanted = _wanted(groups)

    async def ask(where: Destination, some: list[str], timeout_ms: int) -> dict[str, Offsets | KafkaError]:
        try:
            return await asked_at_once(where, some, timeout_ms)
        except UnsupportedVersion:
            if len(some) == 1:
                raise
        found = {}
        for group in some:  # an old broker: one at a time
            found.update(await asked_at_once(where, [group], timeout_ms))
        return found

    async def asked_at_once(where: Destination, some: list[str], timeout_ms: int) -> dict[str, Offsets | KafkaError]:
        def request(version: int) -> OffsetFetchRequest:
            return _fetch_request(version, {group: wanted[group] for group in some}, require_stable=require_stable)

        asked = ByVersion(OffsetFetchRequest.api_key, request, NAMES_TOPICS)
        response = await asker.send(where, asked, OffsetFetchResponse, timeout_ms)
        if response.groups:
            return {each.group_id: _offsets(each.error_code, each.topics) for each in response.groups}
        return {some[0]: _offsets(response.error_code, response.topics)}

    passing = (*COORDINATOR_PASSING, UnstableOffsetCommit)
    return await at_coordinators(asker, GROUP, wanted, ask, timeout, passing)


async def alter_group_offsets(
    asker: Asker,
    group: str,
    offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
    *,
    timeout: float | None = None,
) -> Results[TopicPartition, None]:
    """Sets where a group goes on. It must have no members: UnknownMemberId if it has."""
    wanted = {place: with_metadata(offset) for place, offset in offsets.items()}

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, KafkaError | None]:
        topics = [
            OffsetCommitRequestTopic(
                name=name, partitions=[_committed(number, wanted[TopicPartition(name, number)]) for number in numbers]
            )
            for name, numbers in by_topic(some).items()
        ]
        request = OffsetCommitRequest(group_id=group, topics=topics)
        asked = ByVersion(OffsetCommitRequest.api_key, lambda _: request, NAMES_TOPICS)
        where = await coordinator_of(asker, GROUP, group, timeout_ms)
        response = await asker.send(where, asked, OffsetCommitResponse, timeout_ms)
        return {
            TopicPartition(topic.name, each.partition_index): outcome(each.error_code, None, None)
            for topic in response.topics
            for each in topic.partitions
        }

    return await asker.each(wanted, attempt, timeout=timeout, passing=COORDINATOR_PASSING)


async def delete_group_offsets(
    asker: Asker, group: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
) -> Results[TopicPartition, None]:
    """GroupSubscribedToTopic for a topic that a member still reads."""

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, KafkaError | None]:
        topics = [
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers]
            )
            for name, numbers in by_topic(some).items()
        ]
        where = await coordinator_of(asker, GROUP, group, timeout_ms)
        request = OffsetDeleteRequest(group_id=group, topics=topics)
        response = await asker.send(where, request, OffsetDeleteResponse, timeout_ms)
        raise_for(response.error_code)
        return {
            TopicPartition(topic.name, each.partition_index): outcome(each.error_code, None, None)
            for topic in response.topics
            for each in topic.partitions
        }

    return await asker.each(partitions, attempt, timeout=timeout, passing=COORDINATOR_PASSING)


def _wanted(
    groups: str | Iterable[str] | Mapping[str, Iterable[TopicPartition] | None],
) -> dict[str, list[TopicPartition] | None]:
    """None for all partitions of a group."""
    if isinstance(groups, Mapping):
        return {group: None if places is None else list(places) for group, places in groups.items()}
    return dict.fromkeys([groups] if isinstance(groups, str) else groups)


def _fetch_request(
    version: int, wanted: Mapping[str, list[TopicPartition] | None], *, require_stable: bool
) -> OffsetFetchRequest:
    if version >= SEVERAL_GROUPS:
        asked = [
            OffsetFetchRequestGroup(
                group_id=group,
                topics=None
                if places is None
                else [
                    OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
                    for name, numbers in by_topic(places).items()
                ],
            )
            for group, places in wanted.items()
        ]
        return OffsetFetchRequest(groups=asked, require_stable=require_stable)
    if len(wanted) > 1:
        raise UnsupportedVersion
    ((group, places),) = wanted.items()
    topics = (
        None
        if places is None
        else [
            OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name, numbers in by_topic(places).items()
        ]
    )
    return OffsetFetchRequest(group_id=group, topics=topics, require_stable=require_stable)


def _offsets(code: int, topics: Iterable[OffsetFetchResponseTopics | OffsetFetchResponseTopic]) -> Offsets | KafkaError:
    """A partition for which nothing is committed is left out; an error of one is that of the group."""
    if code:
        return by_code(code)()
    found = {}
    for topic in topics:
        for each in topic.partitions:
            if each.error_code:
                return by_code(each.error_code)(
                    f"{topic.name}-{each.partition_index}: {by_code(each.error_code).message}"
                )
            if each.committed_offset >= 0:
                place = TopicPartition(topic.name, each.partition_index)
                found[place] = OffsetAndMetadata(
                    each.committed_offset, each.metadata or "", each.committed_leader_epoch
                )
    return found


def _committed(partition: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )
