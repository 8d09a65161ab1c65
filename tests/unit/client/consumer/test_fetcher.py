"""The fetcher's stories: what is asked of whom, and what becomes of the answers."""

import pytest

from fetch_kit import EPOCHS, FETCH, LIST_OFFSETS, WALL_MS, FetchStory
from odradek.client.consumer.assigned_partition import AssignedPartition
from odradek.client.consumer.fetch_config import FetchConfig
from odradek.client.consumer.fetch_errors import (
    CorruptRecords,
    FetchOffsetOutOfRange,
    LogTruncation,
    NoOffsetForPartition,
    RecordDeserializationError,
    RecordTooLargeToFetch,
)
from odradek.client.consumer.fetcher import DRAIN_MS
from odradek.client.consumer.offset_reset import EARLIEST, LATEST, NONE, ResetStrategy
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import EpochEndOffset as DivergingEpoch
from odradek.protocol.messages.k01_fetch import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.protocol.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.contract("B24", "B25", "B26", "B27", "B29", "B55")
def test_a_request_says_what_the_configs_say():
    config = FetchConfig(min_bytes=7, max_bytes=5000, max_wait_ms=123, partition_max_bytes=2000, rack="r1")
    story = FetchStory({"t": 2}, config=config).begin(T0, T1)
    (out,) = story.out
    request = out.request
    assert (request.min_bytes, request.max_wait_ms, request.rack_id) == (7, 123, "r1")
    assert request.max_bytes == 4000  # what two partitions can bring
    assert (request.isolation_level, request.session_id, request.session_epoch) == (0, 0, 0)
    assert [each.partition_max_bytes for topic in request.topics for each in topic.partitions] == [2000, 2000]
    assert [topic.topic_id for topic in request.topics] == [story.cluster.topic_ids["t"]]


@pytest.mark.contract("B57", "B55")
def test_a_session_names_what_has_changed():
    story = FetchStory({"t": 3}).begin(T0, T1)
    story.log(*T0).append(2)
    story.answer()
    (out,) = story.out
    assert (out.request.session_id, out.request.session_epoch) == (101, 1)
    assert [(topic.partitions[0].partition, topic.partitions[0].fetch_offset) for topic in out.request.topics] == [
        (0, 2)
    ]
    story.answer()
    assert [(out.request.session_epoch, out.request.topics) for out in story.out] == [(2, [])]
    story.subscriptions.assign([T1, TopicPartition("t", 2)])
    story.subscriptions.seek(TopicPartition("t", 2), 0)
    story.answer()
    (out,) = story.out
    assert [topic.partitions for topic in out.request.forgotten_topics_data] == [[0]]
    assert [each.partition for topic in out.request.topics for each in topic.partitions] == [2]
    assert story.cluster.brokers[1].sessions[101][1].keys() == {T0, T1}
    story.answer()
    assert story.cluster.brokers[1].sessions[101][1].keys() == {T1, TopicPartition("t", 2)}


def test_one_request_is_in_flight_per_node():
    story = FetchStory({"t": 4}, nodes=2).begin(*[("t", number) for number in range(4)])
    assert sorted(out.node_id for out in story.out) == [1, 2]
    story.wait(10_000)
    assert len(story.out) == 2


@pytest.mark.contract("B58", "B60")
def test_at_most_so_many_records_are_handed_out_and_the_position_moves_over_them():
    story = FetchStory({"t": 1})
    story.log(*T0).append(10)
    story.begin(T0).answer()
    assert story.subscriptions.position(T0) == 0
    assert story.take(4) == {T0: [0, 1, 2, 3]}
    assert story.subscriptions.position(T0) == 4
    assert story.take(100) == {T0: [4, 5, 6, 7, 8, 9]}
    assert story.subscriptions.position(T0) == 10
    assert story.take(100) == {}


def test_what_follows_is_asked_for_while_something_is_buffered():
    story = FetchStory({"t": 1})
    story.log(*T0).append(3)
    story.begin(T0).answer()
    assert story.out[0].request.topics[0].partitions[0].fetch_offset == 3
    story.log(*T0).append(2)
    story.answer()
    assert story.take() == {T0: [0, 1, 2, 3, 4]}


def test_a_partition_has_at_most_twice_its_share_buffered():
    config = FetchConfig(partition_max_bytes=500)
    story = FetchStory({"t": 1}, config=config)
    for _ in range(20):
        story.log(*T0).append(1, size=300)
    story.begin(T0)
    while story.out:
        story.answer()
    state = story.subscriptions.get(T0)
    assert 500 < state.buffered_bytes <= 1000
    assert story.buffer.wants_room
    woken = []
    story.buffer.on_room = lambda: woken.append(1)
    assert story.take(1) == {T0: [0]}
    assert woken
    assert len(story.out) == 1


def test_a_partition_whose_share_is_full_holds_the_others_up_only_for_a_moment():
    config = FetchConfig(partition_max_bytes=500)
    story = FetchStory({"t": 2}, config=config)
    for _ in range(20):
        story.log(*T0).append(1, size=400)
    story.begin(T0, T1)
    while story.out:
        story.answer()
    assert story.subscriptions.get(T0).buffered_bytes > 500
    story.wait(DRAIN_MS - 1)
    assert not story.out
    story.wait(1)
    (out,) = story.out
    assert out.request.max_wait_ms == DRAIN_MS
    assert [topic.partitions for topic in out.request.forgotten_topics_data] == [[0]]
    story.take(1)
    story.answer()
    (out,) = story.out
    assert out.request.max_wait_ms == config.max_wait_ms
    assert [each.partition for topic in out.request.topics for each in topic.partitions] == [0]


@pytest.mark.contract("B63")
def test_a_paused_partition_keeps_what_is_buffered_and_does_not_hold_up_its_node():
    config = FetchConfig(partition_max_bytes=500)
    story = FetchStory({"t": 2}, config=config)
    for _ in range(20):
        story.log(*T0).append(1, size=400)
    story.begin(T0, T1).answer()
    story.subscriptions.pause([T0])
    assert story.subscriptions.paused() == {T0}
    assert story.take() == {}
    story.answer()
    (out,) = story.out
    assert out.request.max_wait_ms == config.max_wait_ms
    story.log(*T1).append(1)
    story.answer()
    assert story.take() == {T1: [0]}
    story.subscriptions.resume([T0])
    assert story.take() == {T0: [0, 1]}


def test_what_a_paused_partition_has_is_there_at_once_when_it_is_resumed():
    story = FetchStory({"t": 1})
    story.log(*T0).append(3)
    story.begin(T0).answer()
    story.take(1)
    story.subscriptions.pause([T0])
    story.take()
    assert not story.buffer.has_data
    told = []
    story.buffer.on_data = lambda: told.append(1)
    story.subscriptions.resume([T0])
    assert told and story.buffer.has_data
    assert story.take() == {T0: [1, 2]}


@pytest.mark.contract("B62", "B65", "B66")
def test_a_seek_drops_what_is_buffered_and_what_is_on_its_way():
    story = FetchStory({"t": 1})
    story.log(*T0).append(3).append(3).append(3)
    story.begin(T0)
    story.subscriptions.seek(T0, 4)
    story.answer()
    assert not story.buffer.has_data
    story.answer()
    assert story.take() == {T0: [4, 5, 6, 7, 8]}
    story.subscriptions.seek(T0, 1)
    story.answer()
    story.answer()
    assert story.take()[T0][0] == 1
    assert story.validate() is not None


def test_a_partition_that_may_go_is_neither_handed_out_nor_fetched_and_nothing_is_lost():
    story = FetchStory({"t": 1})
    story.log(*T0).append(3)
    story.begin(T0).answer()
    story.subscriptions.mark_revoking([T0])
    assert story.take() == {}
    story.answer()
    assert [out.request.session_epoch for out in story.out] == []
    story.subscriptions.unmark_revoking([T0])
    assert story.take() == {T0: [0, 1, 2]}
    assert len(story.out) == 1


def test_what_stays_assigned_keeps_its_state_and_what_goes_is_dropped():
    story = FetchStory({"t": 2})
    story.log(*T0).append(2)
    story.log(*T1).append(2)
    story.begin(T0, T1).answer()
    story.assign(T1)
    assert story.take() == {T1: [0, 1]}
    story.assign(T0, T1)
    assert story.subscriptions.position(T0) is None
    assert story.subscriptions.needing_position() == [T0]
    assert story.subscriptions.position(T1) == 2


def test_a_partition_that_went_and_came_back_is_told_of_again():
    story = FetchStory({"t": 1}).begin(T0)
    story.answer()
    assert story.subscriptions.lag(T0) == 0
    story.assign()  # a rebalance takes it away while a fetch of it is on its way, and gives it back
    story.assign(T0)
    story.subscriptions.seek(T0, 0)
    story.answer()
    (out,) = story.out
    assert out.request.session_epoch == 0, "the session has it, and the broker has nothing new to say"
    story.answer()
    assert story.subscriptions.lag(T0) == 0


# Where to begin


def test_a_partition_without_a_position_waits_for_what_was_committed():
    story = FetchStory({"t": 2}, reset=LATEST).assign(T0, T1).pump()
    story.log(*T0).append(5)
    story.log(*T1).append(5)
    assert not story.out
    assert story.subscriptions.needing_position() == [T0, T1]
    story.subscriptions.set_position(T0, OffsetAndMetadata(3, "", 0))
    story.subscriptions.reset_missing()
    story.pump().settle()
    assert story.take() == {T0: [3, 4]}
    assert story.subscriptions.position(T1) == 5


def test_without_a_policy_a_missing_position_is_an_error():
    story = FetchStory({"t": 1}, reset=NONE).assign(T0)
    with pytest.raises(NoOffsetForPartition, match="t-0"):
        story.subscriptions.reset_missing()


@pytest.mark.parametrize(
    ("strategy", "position"),
    [
        (EARLIEST, 2),
        (LATEST, 10),
        (ResetStrategy.parse("by_duration:PT0.004S"), 6),
        (ResetStrategy.at_time(WALL_MS + 7), 7),
        (ResetStrategy.at_time(WALL_MS + 70), 10),
    ],
)
@pytest.mark.contract("B62", "B11")
def test_a_position_is_looked_up_by_a_strategy(strategy, position):
    story = FetchStory({"t": 1}).assign(T0)
    story.log(*T0).append(10).start = 2
    story.now_ms = 10
    story.subscriptions.request_reset([T0], strategy)
    story.pump().settle()
    assert story.subscriptions.position(T0) == position


@pytest.mark.contract("B101")
def test_the_end_for_a_reader_of_what_is_committed_is_the_last_stable_offset():
    config = FetchConfig(is_read_committed=True)
    story = FetchStory({"t": 1}, config=config).assign(T0)
    story.log(*T0).append(10).stable = 4
    story.subscriptions.request_reset([T0], LATEST)
    story.pump().answer()
    assert story.subscriptions.position(T0) == 4


def test_a_lookup_that_fails_is_tried_again_after_a_moment():
    story = FetchStory({"t": 1}).assign(T0)
    story.subscriptions.request_reset([T0])
    story.pump().fail()
    assert not story.out
    assert story.updates
    assert story.resolver.deadline() is not None
    story.wait(1000).answer()
    assert story.subscriptions.position(T0) == 0


def test_a_seek_while_a_position_is_looked_up_wins():
    story = FetchStory({"t": 1}).assign(T0)
    story.log(*T0).append(5)
    story.subscriptions.request_reset([T0])
    story.pump()
    story.subscriptions.seek(T0, 3)
    story.answer()
    assert story.subscriptions.position(T0) == 3


# What the log is like


@pytest.mark.contract("B102")
def test_lag_is_measured_against_what_can_be_read():
    for is_read_committed, lag in ((False, 6), (True, 2)):
        story = FetchStory({"t": 1}, config=FetchConfig(is_read_committed=is_read_committed))
        story.log(*T0).append(4).append(2).append(4).stable = 6
        story.begin(T0).answer()
        assert story.take(4) == {T0: [0, 1, 2, 3]}
        assert story.subscriptions.lag(T0) == lag
        assert story.subscriptions.lead(T0) == 4
        assert story.subscriptions.high_watermark(T0) == 10
        assert story.subscriptions.last_stable_offset(T0) == 6


@pytest.mark.contract("B97", "B100", "B103")
def test_a_reader_of_what_is_committed_gets_no_aborted_record_and_no_marker():
    story = FetchStory({"t": 1}, config=FetchConfig(is_read_committed=True))
    log = story.log(*T0)
    log.append(2, producer=7).append(1).append(2, producer=8)  # 0-1, 2, 3-4
    log.end_transaction(7, is_commit=False, first=0)  # 5
    log.end_transaction(8, is_commit=True)  # 6
    log.append(1, producer=7).end_transaction(7, is_commit=True)  # 7, 8
    story.begin(T0).answer()
    assert story.take() == {T0: [2, 3, 4, 7]}
    assert story.subscriptions.position(T0) == 9


@pytest.mark.contract("B103")
def test_markers_are_not_handed_out_and_the_position_passes_over_them():
    story = FetchStory({"t": 1})
    story.log(*T0).append(1, producer=7).end_transaction(7, is_commit=False, first=0)
    story.begin(T0).answer()
    assert story.take() == {T0: [0]}
    assert story.subscriptions.position(T0) == 2


def test_markers_alone_move_the_position_and_what_is_to_be_committed():
    story = FetchStory({"t": 1})
    story.log(*T0).end_transaction(7, is_commit=True)
    story.begin(T0).answer()
    records = story.buffer.take(10)
    assert len(records) == 0
    assert records.next_offsets() == {T0: OffsetAndMetadata(1, "", 0)}
    assert records.partitions() == []


# Errors of the session


@pytest.mark.contract("B57")
@pytest.mark.parametrize("error", [errors.FetchSessionIdNotFound, errors.InvalidFetchSessionEpoch])
def test_a_session_that_the_broker_does_not_know_begins_anew_at_once(error):
    story = FetchStory({"t": 2}).begin(T0, T1)
    story.answer()
    story.answer(FetchResponse(error_code=error.code))
    (out,) = story.out
    assert out.request.session_epoch == 0
    assert out.request.session_id == (0 if error is errors.FetchSessionIdNotFound else 101)
    assert len([each for topic in out.request.topics for each in topic.partitions]) == 2
    story.log(*T0).append(1)
    story.answer()
    assert story.take() == {T0: [0]}


def test_a_session_that_fails_again_and_again_waits():
    story = FetchStory({"t": 1}).begin(T0)
    story.answer(FetchResponse(error_code=errors.FetchSessionIdNotFound.code))
    assert story.out
    story.answer(FetchResponse(error_code=errors.FetchSessionIdNotFound.code))
    assert not story.out
    assert story.fetcher.deadline() is not None
    assert story.wait(1000).out


def test_a_topic_id_that_the_broker_does_not_know_asks_for_metadata():
    story = FetchStory({"t": 1}).begin(T0)
    story.answer()
    before = story.updates
    story.answer(FetchResponse(error_code=errors.FetchSessionTopicIdError.code))
    assert story.updates > before
    assert not story.out
    assert story.wait(1000).out[0].request.session_epoch == 0


def test_an_answer_about_something_else_ends_the_session():
    story = FetchStory({"t": 2}).begin(T0)
    stray = FetchableTopicResponse(
        topic="t", topic_id=story.cluster.topic_ids["t"], partitions=[PartitionData(partition_index=1, records=b"")]
    )
    story.answer(FetchResponse(session_id=5, responses=[stray]))
    story.wait(1000)
    assert story.out[0].request.session_epoch == 0


def test_a_lost_answer_ends_the_session():
    story = FetchStory({"t": 1}).begin(T0)
    story.answer()
    story.fail()
    assert not story.out
    story.wait(1000)
    assert (story.out[0].request.session_id, story.out[0].request.session_epoch) == (101, 0)


def test_sessions_are_ended_when_the_fetcher_closes():
    story = FetchStory({"t": 2}, nodes=2).begin(T0, T1)
    story.answer()
    story.answer()
    story.fetcher.close()
    assert not story.fetcher.is_closed
    story.out.clear()
    story.pump()
    assert [(out.request.session_id, out.request.session_epoch) for out in story.out] == [(101, -1), (201, -1)]
    story.answer(FetchResponse())
    story.fail()
    assert story.fetcher.is_closed
    assert not story.wait(10_000).out


def test_a_node_that_is_not_read_from_any_more_is_told_so():
    story = FetchStory({"t": 2}, nodes=2).begin(T0, T1)
    story.answer()
    story.answer()
    story.assign(T0)
    story.answer(at=1)
    ends = [out for out in story.out if out.node_id == 2]
    assert [(out.request.session_id, out.request.session_epoch) for out in ends] == [(201, -1)]


# Topic ids


def test_names_are_used_where_ids_are_not_known_and_the_session_changes_with_it():
    story = FetchStory({"t": 1, "u": 1})
    u_id = story.cluster.topic_ids.pop("u")
    story.refresh().begin(T0)
    story.answer()
    assert story.out[0].version == 17
    story.assign(T0, ("u", 0))
    story.subscriptions.seek(TopicPartition("u", 0), 0)
    story.log("u", 0).append(1)
    story.answer()
    (out,) = story.out
    assert (out.version, out.request.session_id, out.request.session_epoch) == (12, 101, 0)
    assert [topic.topic for topic in out.request.topics] == ["t", "u"]
    story.answer()
    assert story.take() == {TopicPartition("u", 0): [0]}
    story.cluster.topic_ids["u"] = u_id
    story.refresh().answer()
    assert (story.out[0].version, story.out[0].request.session_epoch) == (17, 0)


def test_a_topic_that_was_created_anew_is_replaced_in_the_session():
    story = FetchStory({"t": 1}).begin(T0)
    old = story.cluster.topic_ids["t"]
    story.answer()
    story.cluster.topic_ids["t"] = new = bytes([9] * 16)
    story.refresh().answer(FetchResponse(session_id=101))
    (out,) = story.out
    assert [topic.topic_id for topic in out.request.topics] == [new]
    assert [(topic.topic_id, topic.partitions) for topic in out.request.forgotten_topics_data] == [(old, [0])]


@pytest.mark.parametrize("version", [4, 6, 7, 11, 12, 13, 17])
def test_old_brokers_are_read_too(version):
    story = FetchStory({"t": 2}, versions={FETCH: version, LIST_OFFSETS: 1 if version < 10 else 7})
    story.log(*T0).append(3)
    story.log(*T1).append(3)
    story.assign(T0, T1)
    story.subscriptions.request_reset([T0, T1])
    story.pump().settle()
    assert story.take() == {T0: [0, 1, 2], T1: [0, 1, 2]}
    story.log(*T1).append(1)
    story.settle()
    assert story.take() == {T1: [3]}


# Errors of a partition


@pytest.mark.parametrize(
    "error",
    [errors.NotLeaderOrFollower, errors.FencedLeaderEpoch, errors.UnknownLeaderEpoch, errors.UnknownTopicOrPartition],
)
def test_what_passes_asks_for_metadata_and_is_tried_again(error):
    story = FetchStory({"t": 2}).begin(T0, T1)
    story.log(*T0).append(1)
    story.log(*T1).append(1)
    story.cluster.errors[T0] = error.code
    story.answer()
    assert story.updates
    assert story.take() == {T1: [0]}
    story.cluster.errors.clear()
    story.wait(1000).settle()
    assert story.take() == {T0: [0]}


def test_what_does_not_pass_is_raised_once_after_what_was_buffered():
    story = FetchStory({"t": 1}).begin(T0)
    story.log(*T0).append(2)
    story.answer()
    story.cluster.errors[T0] = errors.TopicAuthorizationFailed.code
    story.answer()
    assert not story.out
    assert story.take() == {T0: [0, 1]}
    with pytest.raises(errors.TopicAuthorizationFailed, match="t-0"):
        story.buffer.take(10)
    assert story.take() == {}
    story.cluster.errors.clear()
    story.log(*T0).append(1)
    story.wait(1000).settle()
    assert story.take() == {T0: [2]}


def test_an_error_waits_for_the_records_of_other_partitions():
    story = FetchStory({"t": 2}).begin(T0, T1)
    story.cluster.errors[T0] = errors.TopicAuthorizationFailed.code
    story.log(*T1).append(2)
    story.answer()
    outcomes = []
    for _ in range(2):
        try:
            outcomes.append(story.take())
        except errors.TopicAuthorizationFailed:
            outcomes.append("refused")
    assert sorted(map(str, outcomes)) == sorted(map(str, ["refused", {T1: [0, 1]}]))


@pytest.mark.parametrize("policy", [EARLIEST, LATEST])
def test_an_offset_out_of_range_is_reset_by_the_policy(policy):
    story = FetchStory({"t": 1}, reset=policy)
    story.log(*T0).append(5).trim(3)
    story.log(*T0).batches = []
    story.begin(T0, at=1).answer()
    assert story.out[0].api_key == LIST_OFFSETS
    story.answer()
    assert story.subscriptions.position(T0) == (3 if policy == EARLIEST else 5)


def test_an_offset_out_of_range_without_a_policy_is_raised():
    story = FetchStory({"t": 1}, reset=NONE).begin(T0, at=9)
    story.answer()
    with pytest.raises(FetchOffsetOutOfRange, match="t-0 at 9") as raised:
        story.buffer.take(1)
    assert raised.value.offsets == {T0: 9}
    story.subscriptions.seek(T0, 0)
    story.log(*T0).append(1)
    story.pump().settle()
    assert story.take() == {T0: [0]}


def test_what_is_buffered_is_handed_out_before_an_offset_is_reset():
    story = FetchStory({"t": 1}).begin(T0)
    story.log(*T0).append(2)
    story.answer()
    story.log(*T0).end = 10
    story.log(*T0).trim(5)
    story.answer()
    assert story.take() == {T0: [0, 1]}
    story.wait(1000).settle()
    assert story.subscriptions.position(T0) == 5


def test_a_damaged_batch_is_raised_behind_the_sound_ones_and_fetched_again():
    story = FetchStory({"t": 1})
    log = story.log(*T0).append(2).append(2)
    first, last, epoch, data = log.batches[1]
    log.batches[1] = (first, last, epoch, data[:-1] + b"!")
    story.begin(T0).answer()
    assert story.take() == {T0: [0, 1]}
    with pytest.raises(CorruptRecords, match="t-0, at or after offset 2"):
        story.buffer.take(10)
    log.batches[1] = (first, last, epoch, data)
    log.append(1)
    for _ in range(3):
        story.wait(1000).settle()
    assert story.take() == {T0: [2, 3, 4]}
    story.validate()


@pytest.mark.contract("B29")
def test_without_check_crcs_a_damaged_value_goes_through():
    story = FetchStory({"t": 1}, checks_crc=False)
    log = story.log(*T0).append(1)
    log.batches[0] = (*log.batches[0][:3], log.batches[0][3][:-2] + b"!" + log.batches[0][3][-1:])
    story.begin(T0).answer()
    (record,) = story.buffer.take(10)
    assert record.value.endswith(b"!")


def test_a_batch_that_is_cut_off_is_too_large():
    story = FetchStory({"t": 1}, versions={FETCH: 4})
    log = story.log(*T0).append(1, size=100)
    log.batches[0] = (*log.batches[0][:3], log.batches[0][3][:-20])
    story.begin(T0).answer()
    with pytest.raises(RecordTooLargeToFetch, match="does not fit"):
        story.buffer.take(1)


@pytest.mark.contract("B59")
def test_deserializers_are_applied_and_an_error_names_the_record():
    def number(topic, headers, data):
        return None if data is None else int(data.strip(b"."))

    story = FetchStory({"t": 1}, value_deserializer=number)
    story.log(*T0).append(2).append(1, value=b"no").append(1)
    story.begin(T0).answer()
    assert [record.value for record in story.buffer.take(10)] == [0, 1]
    for _ in range(2):
        with pytest.raises(RecordDeserializationError, match="t-0, offset 2") as raised:
            story.buffer.take(10)
        assert (raised.value.offset, raised.value.value) == (2, b"no")
    story.subscriptions.seek(T0, 3)
    story.pump().settle()
    assert [record.value for record in story.buffer.take(10)] == [3]


# Leaders and followers


def test_a_new_leader_is_asked_and_its_log_compared():
    story = FetchStory({"t": 1}, nodes=2)
    story.log(*T0).append(3)
    story.begin(T0).answer()
    story.take()
    story.cluster.move(T0, 2)
    story.answer()
    assert not story.out
    story.refresh().wait(1000)
    assert (story.out[0].api_key, story.out[0].node_id) == (EPOCHS, 2)
    assert [(out.node_id, out.request.session_epoch) for out in story.fetches()] == [(1, -1)]
    story.answer()
    out = story.fetches()[-1]
    assert out.node_id == 2
    assert out.request.topics[0].partitions[0].current_leader_epoch == 1
    story.log(*T0).append(1)
    story.settle()
    assert story.take() == {T0: [3]}


def test_what_is_handed_out_while_a_new_leader_is_asked_is_not_taken_for_truncated():
    """The answer is for the epoch of the position before: that of what was handed out meanwhile is another one."""
    story = FetchStory({"t": 1})
    story.log(*T0).append(3)
    story.log(*T0).epoch = 1
    story.log(*T0).append(3)
    story.refresh().begin(T0).answer()
    assert story.take(3) == {T0: [0, 1, 2]}
    story.log(*T0).epoch = 2
    story.refresh().wait(0)
    at = [out.api_key for out in story.out].index(EPOCHS)
    assert story.take() == {T0: [3, 4, 5]}
    story.answer(at=at)
    assert story.subscriptions.position(T0) == 6
    story.log(*T0).append(1)
    for _ in range(6):
        story.wait(200).settle()
    assert story.take() == {T0: [6]}


def test_a_truncated_log_goes_on_where_it_parts():
    story = FetchStory({"t": 1})
    story.log(*T0).append(3).append(3)
    story.begin(T0).answer()
    story.take()
    story.log(*T0).truncate(3)
    story.log(*T0).append(1)
    story.refresh().wait(0)
    while story.out and story.subscriptions.position(T0) == 6:
        story.answer()
    assert story.subscriptions.position(T0) == 3
    story.wait(1000).settle()
    assert story.take() == {T0: [3]}


def test_a_truncated_log_without_a_policy_is_raised_with_where_it_parts():
    story = FetchStory({"t": 1}, reset=NONE)
    story.log(*T0).append(3).append(3)
    story.begin(T0).answer()
    story.take()
    story.log(*T0).truncate(3)
    story.refresh().wait(0)
    while [out for out in story.out if out.api_key == EPOCHS]:
        story.answer(at=[out.api_key for out in story.out].index(EPOCHS))
    with pytest.raises(LogTruncation, match="from offset 3") as raised:
        story.buffer.take(1)
    assert (raised.value.divergent_offset, raised.value.position) == (3, 6)


def test_what_is_buffered_and_was_truncated_is_fetched_again():
    story = FetchStory({"t": 1})
    story.log(*T0).append(3).append(3)
    story.begin(T0).answer()
    story.take(2)
    story.log(*T0).truncate(3)
    story.log(*T0).append(2)
    story.refresh().wait(0)
    for _ in range(6):
        story.wait(200).settle()
    assert story.take() == {T0: [2, 3, 4]}


def test_an_answer_with_a_diverging_epoch_is_a_truncation():
    story = FetchStory({"t": 1})
    story.log(*T0).append(3).append(3)
    story.begin(T0).answer()
    story.take()
    data = PartitionData(partition_index=0, records=b"", diverging_epoch=DivergingEpoch(epoch=0, end_offset=3))
    topic = FetchableTopicResponse(topic="t", topic_id=story.cluster.topic_ids["t"], partitions=[data])
    story.answer(FetchResponse(session_id=101, responses=[topic]))
    assert story.subscriptions.position(T0) == 3


def test_a_committed_position_with_an_epoch_is_compared_before_it_is_fetched():
    story = FetchStory({"t": 1}).assign(T0)
    story.log(*T0).append(5)
    story.subscriptions.set_position(T0, OffsetAndMetadata(2, "", 0))
    story.pump()
    assert [out.api_key for out in story.out] == [EPOCHS]
    story.answer()
    assert [out.api_key for out in story.out] == [FETCH]


def test_a_broker_that_cannot_compare_is_believed():
    story = FetchStory({"t": 1}).assign(T0)
    story.versions[EPOCHS] = 1
    story.subscriptions.set_position(T0, OffsetAndMetadata(2, "", 0))
    sends = story.resolver.poll(0)
    with pytest.raises(errors.UnsupportedVersion):
        sends[0].request.build(1)
    story.resolver.failed(sends[0].token, 0)
    story.pump()
    assert [out.api_key for out in story.out] == [FETCH]


def test_a_follower_is_read_from_until_it_lacks_the_offset_or_the_time_is_over():
    config = FetchConfig(rack="r", preferred_replica_ms=5000)
    story = FetchStory({"t": 1}, nodes=2, config=config)
    story.cluster.followers[T0] = [2]
    story.cluster.preferred[T0] = 2
    story.log(*T0).append(2)
    story.begin(T0).answer()
    assert story.subscriptions.preferred_read_replica(T0, 0) == 2
    assert [out.node_id for out in story.fetches()] == [2]
    story.answer()
    assert story.take() == {T0: [0, 1]}
    story.wait(6000).answer()
    assert [(out.node_id, out.request.session_epoch) for out in story.fetches()] == [(1, 1), (2, -1)]


def test_an_offset_out_of_range_at_a_follower_goes_back_to_the_leader():
    story = FetchStory({"t": 1}, nodes=2)
    story.cluster.followers[T0] = [2]
    story.cluster.preferred[T0] = 2
    story.log(*T0).append(2)
    story.begin(T0).answer()
    assert [out.node_id for out in story.fetches()] == [2]
    data = PartitionData(partition_index=0, records=b"", error_code=errors.OffsetOutOfRange.code)
    topic = FetchableTopicResponse(topic="t", topic_id=story.cluster.topic_ids["t"], partitions=[data])
    story.cluster.preferred.clear()
    story.answer(FetchResponse(responses=[topic]))
    assert story.subscriptions.position(T0) == 0
    assert [out.node_id for out in story.fetches()] == [1]
    story.answer()
    assert story.take() == {T0: [0, 1]}


def test_a_topic_that_was_created_anew_has_epochs_of_its_own():
    story = FetchStory({"t": 1})
    story.log(*T0).epoch = 5
    story.log(*T0).append(4)
    story.refresh().begin(T0).answer()
    story.take()
    story.cluster.logs[T0] = type(story.log(*T0))().append(2)
    story.cluster.topic_ids["t"] = bytes([9] * 16)
    story.answer(FetchResponse(error_code=errors.UnknownTopicId.code))
    story.refresh().wait(1000).settle()
    assert story.take() == {T0: [0, 1]}  # the position was out of range


# Memory


def test_what_is_asked_for_and_buffered_is_within_the_bound():
    config = FetchConfig(partition_max_bytes=1000, buffer_bytes=2500)
    story = FetchStory({"t": 6}, nodes=3, config=config)
    for number in range(6):
        for _ in range(20):
            story.log("t", number).append(1, size=300)
    story.begin(*[("t", number) for number in range(6)])
    for _ in range(30):
        assert story.validate() <= 2500
        if story.out:
            story.answer()
        story.wait(DRAIN_MS)
    assert not story.out
    assert story.buffer.wants_room
    seen = {}
    for _ in range(400):
        for place, offsets in story.take(1).items():
            seen.setdefault(place, []).extend(offsets)
        story.wait(DRAIN_MS)
        assert story.validate() <= 2500
        if story.out:
            story.answer()
    assert seen == {TopicPartition("t", number): list(range(20)) for number in range(6)}


def test_one_batch_that_is_larger_than_everything_passes_alone():
    config = FetchConfig(partition_max_bytes=100, buffer_bytes=150)
    story = FetchStory({"t": 1}, config=config)
    story.log(*T0).append(1, size=1000).append(1, size=1000)
    story.begin(T0).answer()
    assert not story.out
    assert story.take() == {T0: [0]}
    story.answer()
    assert story.take() == {T0: [1]}


def test_a_slow_reader_of_many_partitions_stays_within_the_bound_and_gets_all():
    config = FetchConfig(partition_max_bytes=1000, buffer_bytes=20_000)
    places = [TopicPartition("t", number) for number in range(300)]
    story = FetchStory({"t": 300}, nodes=6, config=config)
    for place in places:
        for _ in range(2):
            story.log(*place).append(2, size=300)
    story.begin(*places)
    seen = {place: [] for place in places}
    for step in range(4000):
        assert story.validate() <= config.buffer_bytes
        if story.out:
            story.answer()
        if step % 3 == 0:
            for place, offsets in story.take(7).items():
                seen[place] += offsets
        story.wait(DRAIN_MS)
        if sum(map(len, seen.values())) == 4 * len(places):
            break
    assert all(offsets == [0, 1, 2, 3] for offsets in seen.values())


def test_nothing_is_looked_at_while_every_broker_is_asked(monkeypatch):
    """A consumer of a thousand partitions is polled often: what it does then must not grow with them."""
    story = FetchStory({"t": 50}, nodes=2).begin(*[("t", number) for number in range(50)])
    assert len(story.out) == 2
    monkeypatch.setattr(type(story.subscriptions), "__iter__", None)
    assert story.fetcher.poll(story.now_ms) == []


def test_room_that_is_made_while_it_is_looked_for_is_told_of(monkeypatch):
    story = FetchStory({"t": 1}, config=FetchConfig(partition_max_bytes=100))
    story.log(*T0).append(1, size=500)
    story.begin(T0)
    told = []
    story.buffer.on_room = lambda: told.append("room")
    buffered = AssignedPartition.buffered_bytes.fget

    def looked_at(state):
        """The caller takes everything right after the fetcher has seen that the partition is full."""
        found = buffered(state)
        if found and not story.buffer._taking_records.stretches and story.buffer.has_data:
            story.buffer.take(10)
        return found

    monkeypatch.setattr(AssignedPartition, "buffered_bytes", property(looked_at))
    story.answer()
    assert story.subscriptions.position(T0) == 1
    assert told == ["room"]
