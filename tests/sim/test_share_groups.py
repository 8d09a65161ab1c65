"""Share groups on a whole broker, under simulated time: delivery, redelivery, locks, sessions, admins, crashes."""

import pytest
from share_kit import PROPERTIES, ShareConsumer, acquired, alter, prepare, produce

from broker_kit import SimBroker, SimClient
from log_kit import append_as_leader, batch, marker
from odradek.log.append import COORDINATOR
from odradek.protocol import errors
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.k16_list_groups import ListGroupsRequest
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from odradek.protocol.messages.k77_share_group_describe import ShareGroupDescribeRequest
from odradek.protocol.messages.k83_initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from odradek.protocol.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from odradek.protocol.messages.k91_alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from odradek.protocol.messages.k92_delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from odradek.sim.crash import KILLED
from odradek.sim.world import World

ACCEPT, RELEASE, REJECT, RENEW = (1,), (2,), (3,), (4,)


@pytest.fixture
def broker():
    made = SimBroker(World(seed=7), properties=PROPERTIES).wait_until_ready()
    yield made
    assert made.errors == []


@pytest.fixture
def client(broker):
    return SimClient(broker.world, "admin", broker.address)


def validated(broker):
    """Every core holds to what it must."""
    services = broker.server.broker.services
    for shard in [*services.groups.shards, *services.shares.coordinator.shards]:
        shard.core.validate()


def offsets_of(client, *topics, group_id="g"):
    """{partition: (start offset, lag)}"""
    wanted = [DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[0]) for name in topics] or None
    group = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=wanted)
    (answer,) = client.ask(DescribeShareGroupOffsetsRequest(groups=[group]), 1).groups
    if answer.error_code:
        return answer.error_code
    return {
        each.partition_index: each.error_code or (each.start_offset, each.lag)
        for topic in answer.topics
        for each in topic.partitions
    }


def test_records_are_shared_and_acknowledged(broker, client):
    prepare(client)
    produce(client, batch(b"a", b"b", b"c"))
    one, two = ShareConsumer(broker, "one").join(), ShareConsumer(broker, "two").join()
    (place,) = one.assigned
    assert two.assigned == [place]
    assert one.poll() == ([(0, 2, 1)], [b"a", b"b", b"c"])
    waiting = two.send_fetch(max_wait_ms=5000)
    broker.world.run_for(1000)
    assert not waiting.is_done
    produce(client, batch(b"d"))
    assert acquired(two.client.wait(waiting)) == ([(3, 3, 1)], [b"d"])
    assert one.codes((place, 0, 2, ACCEPT)) == [0]
    assert two.poll((place, 3, 3, ACCEPT), max_wait_ms=0) == ([], [])
    validated(broker)
    assert offsets_of(client) == {0: (0, 0)} or offsets_of(client) == {0: (3, 0)}


def test_what_is_released_goes_to_whoever_waits(broker, client):
    prepare(client)
    produce(client, batch(b"a", b"b"))
    one, two = ShareConsumer(broker, "one").join(), ShareConsumer(broker, "two").join()
    (place,) = one.assigned
    assert one.poll()[0] == [(0, 1, 1)]
    waiting = two.send_fetch(max_wait_ms=5000)
    assert one.codes((place, 0, 0, RELEASE)) == [0]
    assert acquired(two.client.wait(waiting)) == ([(0, 0, 2)], [b"a"])
    assert one.codes((place, 1, 1, REJECT)) == [0]
    assert two.codes((place, 0, 0, ACCEPT)) == [0]
    assert two.poll(max_wait_ms=0) == ([], [])


def test_a_lock_ends_and_can_be_renewed(broker, client):
    prepare(client, share_record_lock_duration_ms="15000")
    produce(client, batch(b"a", b"b"))
    one = ShareConsumer(broker, "one").join()
    (place,) = one.assigned
    assert one.fetch().acquisition_lock_timeout_ms == 15000
    broker.world.run_for(10_000)
    assert one.codes((place, 1, 1, RENEW), is_renew_ack=True) == [0]
    broker.world.run_for(6_000)
    assert one.codes((place, 0, 0, ACCEPT)) == [errors.InvalidRecordState.code]
    assert one.codes((place, 1, 1, ACCEPT)) == [0]
    assert one.poll() == ([(0, 0, 2)], [b"a"])


def test_the_last_delivery_is_the_last(broker, client):
    prepare(client, share_delivery_count_limit="2")
    produce(client, batch(b"poison", b"b"))
    one = ShareConsumer(broker, "one").join()
    (place,) = one.assigned
    assert one.poll()[0] == [(0, 1, 1)]
    assert one.poll((place, 0, 0, RELEASE))[0] == [(0, 0, 2)]
    assert one.codes((place, 0, 0, RELEASE)) == [0]
    assert one.poll(max_wait_ms=0) == ([], [])
    assert one.codes((place, 1, 1, ACCEPT)) == [0]


def test_a_connection_that_breaks_gives_back_what_it_had(broker, client):
    prepare(client)
    produce(client, batch(b"a"))
    one, two = ShareConsumer(broker, "one").join(), ShareConsumer(broker, "two").join()
    assert one.poll()[0] == [(0, 0, 1)]
    waiting = two.send_fetch(max_wait_ms=5000)
    one.client.close()
    assert acquired(two.client.wait(waiting)) == ([(0, 0, 2)], [b"a"])


def test_a_fetch_whose_reader_is_gone_takes_nothing(broker, client):
    prepare(client)
    one, two = ShareConsumer(broker, "one").join(), ShareConsumer(broker, "two").join()
    one.send_fetch(max_wait_ms=60_000)
    broker.world.run_for(100)
    one.client.close()
    broker.world.run_for(100)
    produce(client, batch(b"a"))
    assert two.poll() == ([(0, 0, 1)], [b"a"])


@pytest.mark.parametrize("how", ["stop", "crash"])
def test_the_state_outlives_the_broker(broker, client, how):
    prepare(client)
    produce(client, batch(b"a", b"b", b"c", b"d"))
    one = ShareConsumer(broker, "one").join()
    (place,) = one.assigned
    assert one.poll()[0] == [(0, 3, 1)]
    assert one.codes((place, 0, 0, ACCEPT)) == [0]
    assert one.codes((place, 2, 2, RELEASE)) == [0]
    broker.world.run_for(20_000)  # everything is on disk
    broker.stop() if how == "stop" else broker.crash(KILLED)
    broker.restart()
    again = ShareConsumer(broker, "again").join()
    assert again.assigned == [place]
    told, values = again.poll()
    # 1 and 3 were with a member that nobody heard of again; only what was written is known of them
    assert (told[0][0], told[-1][1], values) == (1, 3, [b"b", b"c", b"d"])
    assert (2, 2, 2) in told or any(low <= 2 <= high and count == 2 for low, high, count in told)
    assert again.codes((place, 1, 3, ACCEPT)) == [0]
    validated(broker)


def test_a_leader_whose_state_was_set_up_anew_reads_it_again(broker, client):
    """What it had in memory counts no more: neither what was acquired nor what is acknowledged."""
    prepare(client)
    produce(client, batch(b"a", b"b"))
    one = ShareConsumer(broker, "one").join()
    (place,) = one.assigned
    assert one.poll()[0] == [(0, 1, 1)]
    topic_id, index = place
    partition = PartitionData(partition=index, state_epoch=99, start_offset=1)
    anew = [InitializeStateData(topic_id=topic_id, partitions=[partition])]
    answer = client.ask(InitializeShareGroupStateRequest(group_id="g", topics=anew), 0)
    assert answer.results[0].partitions[0].error_code == 0
    assert one.codes((place, 0, 0, ACCEPT)) == [errors.NotLeaderOrFollower.code]
    assert one.poll() == ([(1, 1, 1)], [b"b"])
    assert one.codes((place, 1, 1, ACCEPT)) == [0]
    validated(broker)


def test_what_could_not_be_written_has_not_happened(broker, client):
    """The share coordinator is away: the record stays with its member, and comes again when the lock ends."""
    prepare(client, share_record_lock_duration_ms="30000")
    produce(client, batch(b"a"))
    one = ShareConsumer(broker, "one").join()
    (place,) = one.assigned
    assert one.poll()[0] == [(0, 0, 1)]
    shards = broker.server.broker.services.shares.coordinator.shards
    away, shards._by_index = shards._by_index, {}
    assert one.codes((place, 0, 0, ACCEPT)) == [errors.CoordinatorNotAvailable.code]
    shards._by_index = away
    broker.world.run_for(30_000)
    assert one.poll() == ([(0, 0, 2)], [b"a"])
    assert one.codes((place, 0, 0, ACCEPT)) == [0]


def test_a_session_that_is_opened_again_and_again_leaves_nothing_behind(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    for _ in range(50):
        assert one.client.ask(one.request(epoch=0, max_wait_ms=0), 2).error_code == 0
    manager = broker.server.broker.services.shares.partitions
    assert len(manager.sessions) == 1
    one.client.close()
    broker.world.run_for(1000)
    assert len(manager.sessions) == 0 and not manager._led


def test_records_that_are_not_for_consumers(broker, client):
    """Control batches to nobody; aborted records only to those that do not mind."""
    prepare(client)
    produce(client, batch(b"a"))
    partition = broker.server.broker.replicas.partition("t", 0)
    now_ms = broker.world.wall_ms() if hasattr(broker.world, "wall_ms") else 1_700_000_000_000
    append_as_leader(partition.log, batch(b"x", b"y", producer=7, sequence=0, transactional=True), 0, now_ms)
    append_as_leader(partition.log, marker(7, commit=False), 0, now_ms, origin=COORDINATOR)
    partition.leader.advance_high_watermark()
    produce(client, batch(b"b"))
    one = ShareConsumer(broker, "one").join()
    assert one.poll() == ([(0, 2, 1), (4, 4, 1)], [b"a", b"x", b"y", b"b"])
    one.close()
    alter(client, share_isolation_level="read_committed")
    assert one.join().poll() == ([(0, 0, 2), (4, 4, 2)], [b"a", b"b"])


def test_a_limit_of_records(broker, client):
    prepare(client)
    for each in (b"a", b"b", b"c"):
        produce(client, batch(each, each))
    one = ShareConsumer(broker, "one").join()
    assert one.poll(max_records=1)[0] == [(0, 1, 1)]
    assert one.poll(max_records=1, share_acquire_mode=1)[0] == [(2, 2, 1)]
    assert one.poll(max_records=10, batch_size=1)[0] == [(3, 3, 1), (4, 5, 1)]


def test_the_first_answer_does_not_wait_for_every_partition_to_be_opened(broker, client):
    """As in Kafka, whose clients count on it: one share-partition after the other is read from its coordinator."""
    prepare(client, partitions=2)
    for index in (0, 1):
        produce(client, batch(b"%d" % index), partition=index)
    one = ShareConsumer(broker, "one").join(2)
    assert sorted(one.poll()[1] + one.poll()[1]) == [b"0", b"1"]


def test_min_bytes_are_waited_for(broker, client):
    prepare(client)
    produce(client, batch(b"a"))
    one = ShareConsumer(broker, "one").join()
    waiting = one.send_fetch(min_bytes=100, max_wait_ms=5000)
    broker.world.run_for(1000)
    assert not waiting.is_done
    produce(client, batch(b"b"))
    assert acquired(one.client.wait(waiting))[0] == [(0, 1, 1)]


def test_where_a_group_begins(broker, client):
    prepare(client, share_auto_offset_reset="latest")
    produce(client, batch(b"old"))
    one = ShareConsumer(broker, "one").join()
    assert one.poll(max_wait_ms=0) == ([], [])
    broker.world.run_for(1000)
    produce(client, batch(b"new"))
    assert one.poll() == ([(1, 1, 1)], [b"new"])


# Sessions


def test_sessions_have_epochs(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    (place,) = one.assigned
    code = lambda **fields: one.client.ask(one.request(**fields), 2).error_code  # noqa: E731
    assert code(epoch=1) == errors.ShareSessionNotFound.code
    assert code(epoch=-1) == errors.ShareSessionNotFound.code
    assert code(epoch=0, acknowledged=[(place, 0, 0, ACCEPT)]) == errors.InvalidRequest.code
    assert code(epoch=0, max_wait_ms=0) == 0
    assert code(epoch=2, max_wait_ms=0) == errors.InvalidShareSessionEpoch.code
    assert code(epoch=1, max_wait_ms=0) == 0
    assert one.acknowledge(epoch=0).error_code == errors.InvalidShareSessionEpoch.code
    assert one.acknowledge(epoch=1).error_code == errors.InvalidShareSessionEpoch.code
    assert one.acknowledge(epoch=2).error_code == 0
    assert code(epoch=-1) == 0
    assert one.acknowledge(epoch=3).error_code == errors.ShareSessionNotFound.code


def test_too_many_sessions():
    properties = {**PROPERTIES, "group.share.max.share.sessions": "1"}
    broker = SimBroker(World(seed=7), properties=properties).wait_until_ready()
    prepare(SimClient(broker.world, "admin", broker.address))
    one, two = ShareConsumer(broker, "one").join(), ShareConsumer(broker, "two").join()
    assert one.fetch(max_wait_ms=0).error_code == 0
    assert two.client.ask(two.request(), 2).error_code == errors.ShareSessionLimitReached.code
    one.client.close()
    broker.world.run_for(100)
    assert two.fetch(max_wait_ms=0).error_code == 0


@pytest.mark.parametrize(
    ("first", "last", "types", "code"),
    [
        (1, 0, ACCEPT, errors.InvalidRequest.code),
        (0, 1, (), errors.InvalidRequest.code),
        (0, 1, (1, 1, 1), errors.InvalidRequest.code),
        (0, 1, (5,), errors.InvalidRequest.code),
        (0, 1, (-1,), errors.InvalidRequest.code),
        (0, 1, RENEW, errors.InvalidRequest.code),  # without the flag
        (0, 2**62, ACCEPT, errors.InvalidRequest.code),
        (-5, -1, ACCEPT, errors.InvalidRequest.code),
        (0, 1, ACCEPT, 0),
    ],
)
def test_acknowledgements_that_make_no_sense(broker, client, first, last, types, code):
    prepare(client)
    produce(client, batch(b"a", b"b"))
    one = ShareConsumer(broker, "one").join()
    (place,) = one.assigned
    one.poll()
    assert one.codes((place, first, last, types)) == [code]
    validated(broker)


def test_what_is_not_there(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    ((topic_id, _),) = one.assigned
    nowhere, beyond = (b"x" * 16, 0), (topic_id, 9)
    one.assigned = [nowhere, beyond]
    answer = one.fetch()
    codes = {(bytes(t.topic_id), p.partition_index): p.error_code for t in answer.responses for p in t.partitions}
    assert codes == {nowhere: errors.UnknownTopicId.code, beyond: errors.UnknownTopicOrPartition.code}
    assert one.codes((nowhere, 0, 0, ACCEPT)) == [errors.UnknownTopicId.code]


def test_a_partition_that_nobody_set_up_is_told_so_and_not_tried_for_ever(broker, client):
    prepare(client)
    stranger = ShareConsumer(broker, "one", group_id="nobody")
    stranger.assigned = ShareConsumer(broker, "two").join().assigned
    answer = stranger.fetch(max_wait_ms=60_000)
    assert answer.responses[0].partitions[0].error_code == errors.UnknownTopicOrPartition.code


@pytest.mark.parametrize("member_id", ["vm/kOtMmS+OMpy/g9uONrQ", "x" * 36, "x"])
def test_a_member_id_is_the_members_choice(broker, client, member_id):
    """Java's consumers take one in Kafka's form, librdkafka's one in another."""
    prepare(client)
    one = ShareConsumer(broker, "one")
    one.member_id = member_id
    assert one.join().fetch(max_wait_ms=0).error_code == 0


@pytest.mark.parametrize("member_id", ["", None, "x" * 37])
def test_a_member_id_that_is_none(broker, client, member_id):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    one.member_id = member_id
    assert one.client.ask(one.request(), 2).error_code == errors.InvalidRequest.code


# Members


def test_members_that_are_not_who_they_say(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one")
    assert one.heartbeat(epoch=3).error_code == errors.GroupIdNotFound.code
    assert one.heartbeat(epoch=-2).error_code == errors.InvalidRequest.code
    one.join()
    epoch = one.member_epoch
    assert one.heartbeat(epoch=epoch + 1).error_code == errors.FencedMemberEpoch.code
    other = ShareConsumer(broker, "two")
    assert other.heartbeat(epoch=1).error_code == errors.UnknownMemberId.code
    assert other.heartbeat(epoch=-1).error_code == errors.UnknownMemberId.code
    again = one.heartbeat(epoch=epoch - 1)  # the answer to the last one was lost
    assert again.error_code == 0 and again.assignment is not None


def test_a_silent_member_is_out_and_what_it_read_goes_to_others(broker, client):
    prepare(client, partitions=2)
    one, two = ShareConsumer(broker, "one").join(2), ShareConsumer(broker, "two").join(1)
    broker.world.run_for(2000)
    one.heartbeat()
    assert {*one.assigned, *two.assigned} == {(one.assigned[0][0], 0), (one.assigned[0][0], 1)}
    for _ in range(10):
        broker.world.run_for(5000)
        two.heartbeat()
    assert len(two.assigned) == 2
    assert one.heartbeat().error_code == errors.UnknownMemberId.code


def test_a_topic_grows(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    client.ask(
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=3, assignments=None)], timeout_ms=1000), 3
    )
    assert len(one.join(3).assigned) == 3
    validated(broker)


def test_a_topic_goes(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    one.poll(max_wait_ms=0)
    topic = DeleteTopicState(name="t")
    client.ask(DeleteTopicsRequest(topics=[topic], timeout_ms=5000), 6)
    broker.world.run_for(6000)
    one.heartbeat()
    assert one.assigned == []
    (coordinator,) = broker.server.broker.services.shares.coordinator.shards
    assert coordinator.core.states == {}
    assert offsets_of(client) == {}


def test_an_id_names_one_group(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    commit = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])])
    code = client.ask(commit, 9).topics[0].partitions[0].error_code
    assert code == errors.GroupIdNotFound.code
    commit.group_id = "classic"
    assert client.ask(commit, 9).topics[0].partitions[0].error_code == 0
    one.group_id, one.member_epoch = "classic", 0
    assert one.heartbeat().error_code == errors.GroupIdNotFound.code


# Admins


def test_what_admins_see(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    (listed,) = client.ask(ListGroupsRequest(types_filter=["share"]), 5).groups
    assert (listed.group_id, listed.group_type, listed.protocol_type, listed.group_state) == (
        *("g", "share", "share", "Stable"),
    )
    (told,) = client.ask(ShareGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert (told.group_state, told.assignor_name, told.members[0].member_id) == ("Stable", "simple", one.member_id)
    assert [topic.topic_name for topic in told.members[0].assignment.topic_partitions] == ["t"]
    (missing,) = client.ask(ShareGroupDescribeRequest(group_ids=["nobody"]), 1).groups
    assert missing.error_code == errors.GroupIdNotFound.code


def reset(client, offset, group_id="g", topic="t", partition=0):
    wanted = AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)
    topics = [AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[wanted])]
    answer = client.ask(AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics), 0)
    return answer.error_code or answer.responses[0].partitions[0].error_code


def forget(client, topic="t"):
    topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic)]
    answer = client.ask(DeleteShareGroupOffsetsRequest(group_id="g", topics=topics), 0)
    return answer.error_code or answer.responses[0].error_code


def delete(client, group_id="g"):
    return client.ask(DeleteGroupsRequest(groups_names=[group_id]), 2).results[0].error_code


def test_offsets_are_set_and_forgotten_while_nobody_reads(broker, client):
    prepare(client)
    produce(client, batch(b"a", b"b", b"c"))
    one = ShareConsumer(broker, "one").join()
    (place,) = one.assigned
    one.poll()
    one.codes((place, 0, 2, ACCEPT))
    for refused in (reset(client, 1), forget(client), delete(client)):
        assert refused == errors.NonEmptyGroup.code
    one.close()
    assert reset(client, 1, topic="nowhere") == errors.UnknownTopicOrPartition.code
    assert reset(client, 1, partition=9) == errors.UnknownTopicOrPartition.code
    assert reset(client, 1) == 0
    assert offsets_of(client) == {0: (1, 2)}
    assert one.join().poll() == ([(1, 2, 1)], [b"b", b"c"])
    one.close()
    assert forget(client, "nowhere") == errors.UnknownTopicOrPartition.code
    assert forget(client) == 0
    assert offsets_of(client) == {}
    assert offsets_of(client, "t", "nowhere") == {0: (-1, -1)}
    assert forget(client) == errors.UnknownTopicOrPartition.code
    assert one.join().poll() == ([(0, 2, 1)], [b"a", b"b", b"c"])
    validated(broker)


def test_offsets_of_a_group_that_is_not_there_make_it(broker, client):
    prepare(client)
    produce(client, batch(b"a", b"b"))
    assert reset(client, 1) == 0
    assert offsets_of(client) == {0: (1, 1)}
    assert ShareConsumer(broker, "one").join().poll() == ([(1, 1, 1)], [b"b"])


def test_a_group_is_deleted_with_its_state(broker, client):
    prepare(client)
    one = ShareConsumer(broker, "one").join()
    one.poll(max_wait_ms=0)
    one.close()
    assert delete(client) == 0
    assert delete(client) == errors.GroupIdNotFound.code
    assert offsets_of(client) == {}
    (coordinator,) = broker.server.broker.services.shares.coordinator.shards
    assert coordinator.core.states == {}
    broker.stop()
    broker.restart()
    validated(broker)
    (shard,) = broker.server.broker.services.groups.shards
    assert shard.core.shares.groups == {}
