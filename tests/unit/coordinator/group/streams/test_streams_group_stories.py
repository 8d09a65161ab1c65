"""The life of streams groups (KIP-1071), one situation per story. What is expected is what a Kafka 4.3.0 answered."""

import pytest

from odradek.coordinator.group.listing import GroupFilter
from odradek.protocol import errors
from odradek.protocol.errors import CoordinatorNotAvailable
from odradek.protocol.messages import k88_streams_group_heartbeat as k88
from streams_kit import JOIN, LEAVE, READS_A, StreamsStory, internal, subtopology, topology


@pytest.fixture
def story():
    return StreamsStory({"a": 2, "b": 3})


def record_types(story, since=0):
    return [record.key.api_key for record, _ in story.log[since:]]


# Joining


def test_the_first_member_gets_everything_at_once(story):
    assert story.joins("m") == "2: 0:0,1"
    assert story.epochs() == "Stable 2/2"
    assert record_types(story) == [19, 23, 17, 21, 20, 22], (
        "member, topology, group, its target, the target, what it has"
    )


def test_a_member_that_has_all_is_told_nothing_new(story):
    story.joins("m")
    written = len(story.log)
    assert story.says("m", 2, "0:0,1") == "2"
    assert story.says("m", 2) == "2"
    assert len(story.log) == written, "a heartbeat that changes nothing writes nothing"


def test_a_second_member_waits_until_the_first_has_given_back(story):
    story.joins("m")
    assert story.joins("n") == "3:"
    assert story.epochs() == "Reconciling 3/3"
    assert story.says("m", 2) == "2: 0:0", "told to give back, and at its old epoch until it has"
    assert story.says("n", 3) == "3"
    assert story.says("m", 2, "0:0,1") == "2"
    assert story.says("m", 2, "0:0") == "3"
    assert story.says("n", 3) == "3: 0:1"
    assert story.epochs() == "Stable 3/3"


def test_who_has_to_give_back_twice_goes_up_by_one_epoch_in_between():
    story = StreamsStory({"a": 4})
    story.joins("m")
    story.joins("n")
    assert story.says("m", 2) == "2: 0:0,1"
    story.joins("o")
    story.joins("p")
    assert story.says("m", 2, "0:0,1") == "3: 0:0", "what it gave back first is behind epoch 3, the target's is 5"
    assert story.says("m", 3, "0:0") == "5"


def test_two_subtopologies_are_dealt_out_side_by_side(story):
    both = topology(subtopology("0", "a"), subtopology("1", "b"))
    assert story.joins("m", both) == "2: 0:0,1 1:0,1,2"
    story.joins("n", both)
    assert (story.target("m"), story.target("n")) == ("0:0,1 1:0", "1:1,2")


def test_a_member_that_joins_again_is_told_what_it_has(story):
    story.joins("m")
    assert story.joins("m") == "2: 0:0,1"
    assert story.epochs() == "Stable 2/2"


def test_any_news_of_a_member_assigns_anew(story):
    story.joins("m")
    assert story.says("m", 2, rack_id="r") == "3"
    assert story.says("m", 3, client="another") == "4"


def test_a_lost_answer_is_forgiven_once_the_member_shows_what_it_has(story):
    story.joins("m")
    story.joins("n")
    story.says("m", 2)
    story.says("m", 2, "0:0")
    assert story.says("m", 2, "0:0") == "3", "it has not seen its epoch 3"
    assert story.says("m", 2) == "FENCED_MEMBER_EPOCH"
    assert story.says("m", 2, "0:1") == "FENCED_MEMBER_EPOCH", "that is not its own any more"
    assert story.says("m", 4) == "FENCED_MEMBER_EPOCH"


def test_assignments_are_gathered_for_the_interval():
    story = StreamsStory({"a": 2}, interval_ms=3000)
    story.joins("m")
    assert story.joins("n") == "2: (delayed)"
    assert story.says("m", 2) == "2 (delayed)"
    story.advance(3000)
    assert story.says("m", 2) == "2: 0:0"


def test_a_new_group_waits_for_those_who_start_together():
    story = StreamsStory({"a": 2}, delay_ms=2000)
    assert story.joins("m") == "1: (delayed)"
    assert story.says("m", 1) == "1 (delayed)"
    assert story.joins("n") == "1: (delayed)"
    assert story.epochs() == "Assigning 3/1"
    story.advance(2000)
    assert story.epochs() == "Reconciling 3/3", "the delay's end makes the target, without a heartbeat"
    assert (story.says("m", 1), story.says("n", 1)) == ("3: 0:0", "3: 0:1")


def test_the_end_of_a_delay_that_knows_no_topics_leaves_the_target_to_the_next_heartbeat():
    story = StreamsStory({"a": 2}, delay_ms=2000)
    story.joins("m")
    story.advance(2000)
    assert story.epochs() == "Assigning 2/1"
    assert story.says("m", 1) == "2: 0:0,1"


def test_a_group_that_was_empty_waits_again():
    story = StreamsStory({"a": 2}, delay_ms=2000)
    story.joins("m")
    story.advance(2000)
    story.says("m", 1)
    story.says("m", LEAVE)
    assert story.joins("m") == "2: (delayed)"
    story.says("m", LEAVE)
    story.advance(2000)
    assert story.epochs().startswith("Empty")


def test_a_group_may_have_a_delay_of_its_own():
    story = StreamsStory({"a": 2}, delay_ms=2000)
    story.set_group_config("streams.initial.rebalance.delay.ms", "0")
    assert story.joins("m") == "2: 0:0,1"


# Topologies


def test_what_is_missing_is_told_and_to_be_made(story):
    stateful = topology(
        subtopology("0", "a", sinks="r"),
        subtopology("1", repartition=[internal("r")], changelogs=[internal("c", replicas=3, cleanup_policy="compact")]),
    )
    beaten = story.streams_beat("m", JOIN, "", topology=stateful, timeout_ms=1, process="p")
    assert beaten.response.status[0].status_detail == "Internal topics are missing: c, r"
    made = {topic.name: (topic.num_partitions, topic.replication_factor) for topic in beaten.missing}
    assert made == {"c": (2, 3), "r": (2, -1)}
    assert [(each.name, each.value) for each in beaten.missing[0].configs] == [("cleanup.policy", "compact")]
    assert story.epochs() == "NotReady 2/2"
    story.create_topics(c=2, r=2)
    assert story.says("m", 2) == "3: 0:0,1 1:0,1"
    assert story.epochs() == "Stable 3/3"


def test_a_source_topic_is_waited_for(story):
    assert story.joins("m", topology(subtopology("0", "late"))) == "2: (no source)"
    story.create_topics(late=3)
    assert story.says("m", 2) == "3: 0:0,1,2"
    story.delete_topic("late")
    assert story.says("m", 3) == "3: (no source)"
    assert story.says("m", 3, "") == "4 (no source)"
    assert story.epochs() == "NotReady 4/4"


def test_a_topic_that_grows_brings_tasks(story):
    story.joins("m")
    story.grow("a", 4)
    assert story.says("m", 2) == "3: 0:0,1,2,3"


def test_a_topic_that_nobody_reads_changes_nothing(story):
    story.joins("m")
    written = len(story.log)
    story.create_topics(other=5)
    assert story.says("m", 2) == "2"
    assert len(story.log) == written


def test_topics_that_do_not_fit_are_told(story):
    assert story.joins("m", topology(subtopology("0", "a b", together=[((0, 1), ())]))) == "2: (wrong partitions)"


def test_the_topology_stays(story):
    story.joins("m", topology(subtopology("0", "a"), epoch=3))
    assert story.joins("n", topology(subtopology("0", "b"), epoch=3)) == "INVALID_REQUEST"
    assert story.joins("n", topology(subtopology("0", "b"), epoch=4)) == "INVALID_REQUEST"
    assert story.joins("n", topology(subtopology("0", "b"), epoch=2)) == "3: (stale)"
    assert story.says("n", 3) == "3 (stale)"


def test_a_topology_that_can_never_run_makes_no_group(story):
    assert story.joins("m", topology(subtopology("0", repartition=[internal("r")]))) == "STREAMS_INVALID_TOPOLOGY"
    assert story.log == []


def test_a_task_that_there_is_not_is_refused(story):
    story.joins("m")
    assert story.says("m", 2, "0:2") == "INVALID_REQUEST"
    assert story.says("m", 2, "0:-1") == "INVALID_REQUEST"
    assert story.says("m", 2, "1:0") == "INVALID_REQUEST"


# Standby tasks


STATEFUL = topology(subtopology("0", "a", changelogs=[internal("c")]))


@pytest.fixture
def standby():
    return StreamsStory({"a": 2, "c": 2}, group_streams_num_standby_replicas=1)


def test_copies_are_kept_in_another_process(standby):
    assert standby.joins("m", STATEFUL) == "2: 0:0,1", "there is no other yet"
    assert standby.joins("n", STATEFUL) == "3: | 0:0"
    assert standby.says("m", 2) == "2: 0:0"
    assert standby.says("m", 2, "0:0") == "3", "the copy of the other has to wait: it runs nowhere else yet"
    assert standby.says("n", 3) == "3: 0:1 | 0:0"
    assert standby.says("m", 3) == "3: 0:0 | 0:1"
    assert standby.epochs() == "Stable 3/3"


def test_threads_of_one_process_keep_no_copies_for_each_other(standby):
    standby.joins("m", STATEFUL, process="p")
    assert standby.joins("n", STATEFUL, process="p") == "3:"
    assert standby.streams_group().target["n"].standby == {}


def test_another_number_of_copies_assigns_anew(standby):
    standby.joins("m", STATEFUL)
    standby.set_group_config("streams.num.standby.replicas", "0")
    assert standby.says("m", 2) == "3"
    assert standby.joins("n", STATEFUL) == "4:"


def test_a_copy_becomes_the_task_when_its_runner_is_gone(standby):
    standby.joins("m", STATEFUL)
    standby.joins("n", STATEFUL)
    standby.says("m", LEAVE)
    assert standby.says("n", 3) == "3:", "first it lets go of the copy"
    assert standby.says("n", 3, "") == "4: 0:1", "its own copy is on the way out until that is written"
    assert standby.says("n", 4) == "4: 0:0,1"
    assert standby.epochs() == "Stable 4/4"


# Leaving


def test_who_leaves_leaves_its_tasks(story):
    story.joins("m")
    story.joins("n")
    written = len(story.log)
    assert story.says("m", LEAVE) == "-1"
    assert record_types(story, written) == [22, 21, 19, 17]
    assert story.says("n", 3) == "4: 0:0,1"
    assert story.says("m", 2) == "UNKNOWN_MEMBER_ID"
    assert story.says("m", LEAVE) == "UNKNOWN_MEMBER_ID"


def test_a_silent_member_is_out_after_its_session(story):
    story.joins("m")
    story.advance(44_999)
    story.joins("n")
    story.advance(1)
    assert set(story.streams_group().members) == {"n"}


def test_who_does_not_give_back_in_time_is_out(story):
    story.joins("m", timeout_ms=1000)
    story.joins("n")
    story.says("m", 2)
    story.advance(1000)
    assert story.says("m", 2) == "UNKNOWN_MEMBER_ID"
    assert story.says("n", 3) == "4: 0:0,1"


def test_the_whole_application_shuts_down_until_all_are_gone(story):
    story.joins("m")
    story.joins("n")
    assert story.says("m", 2, shutdown_application=True) == "2: 0:0 (shutdown)"
    assert story.says("n", 3) == "3 (shutdown)"
    story.says("m", LEAVE)
    assert story.says("n", 3) == "4: 0:0,1 (shutdown)"
    story.says("n", LEAVE)
    assert story.joins("m") == "6: 0:0,1"


def test_who_asks_for_the_shutdown_may_leave_with_it(story):
    story.joins("m")
    story.joins("n")
    story.says("m", LEAVE, shutdown_application=True)
    assert story.says("n", 3) == "4: 0:0,1 (shutdown)"


# Endpoints


def endpoints(response):
    return [
        (each.user_endpoint.host, [(topic.topic, topic.partitions) for topic in each.active_partitions])
        for each in response.partitions_by_user_endpoint
    ]


def test_where_state_can_be_queried_is_told_when_it_changes(story):
    first = story.streams_beat("m", JOIN, "", topology=READS_A, timeout_ms=1, process="p", endpoint="h").response
    assert endpoints(first) == [("h", [("a", [0, 1])])]
    assert first.endpoint_information_epoch == 0
    assert story.streams_beat("m", 2).response.partitions_by_user_endpoint is None
    other = story.streams_beat("n", JOIN, "", topology=READS_A, timeout_ms=1, process="q", endpoint="i").response
    assert endpoints(other) == [("h", [("a", [0, 1])]), ("i", [])], "itself last"
    assert other.endpoint_information_epoch == 1
    assert story.streams_beat("n", 3, endpoint_information_epoch=1).response.partitions_by_user_endpoint is None
    assert endpoints(story.streams_beat("m", 2, endpoint_information_epoch=1).response)[1] == ("h", [("a", [0])])


# Offsets


def test_whose_commits_count(story):
    story.joins("m")
    story.joins("n")
    story.says("m", 2)
    story.says("m", 2, "0:0")
    at = {"topic": "a", "version": 9}
    assert story.commit(5, generation=3, member_id="m", **at) == "ok"
    assert story.commit(6, generation=2, member_id="m", **at) == "ok", "it has had the task since then"
    assert story.commit(6, generation=2, member_id="m", partition=1, **at) == "STALE_MEMBER_EPOCH"
    assert story.commit(6, generation=1, member_id="m", **at) == "STALE_MEMBER_EPOCH"
    assert story.commit(6, generation=4, member_id="m", **at) == "STALE_MEMBER_EPOCH"
    assert story.commit(6, generation=2, member_id="m", topic="b", version=9) == "STALE_MEMBER_EPOCH"
    assert story.commit(6, generation=3, member_id="x", **at) == "UNKNOWN_MEMBER_ID"
    assert story.commit(6, **at) == "UNKNOWN_MEMBER_ID"
    assert story.commit(6, generation=3, member_id="m", topic="a", version=8) == "UNSUPPORTED_VERSION"
    assert story.commit(7, topic="a", producer=1) == "ok", "a transactional producer that is no member"
    assert story.committed(topic="a") == 6


def test_who_names_a_member_to_fetch_has_to_be_it(story):
    story.joins("m")
    story.core.streams.check_fetch("g", None, -1)
    story.core.streams.check_fetch("g", "m", 2)
    with pytest.raises(errors.StaleMemberEpoch):
        story.core.streams.check_fetch("g", "m", 1)
    with pytest.raises(errors.UnknownMemberId):
        story.core.streams.check_fetch("g", "x", 2)


def test_offsets_expire_once_nobody_reads_the_topic_and_the_group_with_them():
    story = StreamsStory({"a": 2}, offsets_retention_minutes=1, offsets_retention_check_interval_ms=1000)
    story.joins("m")
    assert story.commit(5, generation=2, member_id="m", topic="a", version=9) == "ok"
    for _ in range(4):
        story.advance(30_000)
        story.says("m", 2)
    assert story.committed(topic="a") == 5, "it is read"
    story.says("m", LEAVE)
    story.advance(2000)
    assert "g" not in story.core.streams.groups
    assert story.committed(topic="a") is None


# Other types of groups


def test_an_id_names_one_group(story):
    story.joins("m")
    assert ConsumerOf(story).joins("c") == "GROUP_ID_NOT_FOUND"
    assert story.join("j").error_code == errors.InconsistentGroupProtocol.code
    assert story.join("k", "somebody").error_code == errors.InconsistentGroupProtocol.code
    described = story.event(lambda core: core.describe("g", tells_missing=True))
    assert described.error_message == "Group g is not a classic group."


class ConsumerOf:
    """The consumer protocol in a story of the streams protocol."""

    def __init__(self, story):
        self.story = story

    def joins(self, member, group="g"):
        return super(StreamsStory, self.story).says(member, JOIN, "", names="a", timeout_ms=5000, group=group)


def test_a_consumer_group_is_no_streams_group_even_if_it_is_empty(story):
    assert ConsumerOf(story).joins("c") == "2: a[0 1]"
    assert story.joins("m") == "GROUP_ID_NOT_FOUND"
    assert story.says("m", 1) == "GROUP_ID_NOT_FOUND"
    super(StreamsStory, story).says("c", LEAVE)
    assert story.joins("m") == "GROUP_ID_NOT_FOUND"


def test_a_classic_group_that_only_keeps_offsets_is_taken_over(story):
    assert story.commit(5, topic="a") == "ok"
    assert story.joins("m") == "2: 0:0,1"
    assert story.committed(topic="a") == 5
    assert "g" not in story.core.classic.groups


def test_an_empty_streams_group_gives_way_to_a_classic_one(story):
    story.joins("m")
    story.says("m", LEAVE)
    story.join_new("j")
    assert "g" not in story.core.streams.groups
    assert story.core.classic.groups["g"].members
    story.reload()
    assert "g" not in story.core.streams.groups


def test_listing(story):
    def listed(states=(), types=()):
        found = story.event(lambda core: core.list_groups(GroupFilter(states, types)))
        return [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in found]

    story.joins("m", topology(subtopology("0", "late")))
    assert listed() == [("g", "streams", "NotReady", "streams")]
    assert listed(types=("Streams",)) == listed(states=("not_ready",)) == listed()
    assert listed(types=("consumer",)) == listed(states=("NotReady",)) == listed(states=("stable",)) == []


def test_deleting(story):
    story.joins("m")
    assert story.event(lambda core: core.delete("g")) == errors.NonEmptyGroup.code
    assert story.event(lambda core: core.delete_offsets("g", [("a", 0), ("b", 0)])) == [
        errors.GroupSubscribedToTopic.code,
        0,
    ]
    story.says("m", LEAVE)
    assert story.event(lambda core: core.delete("g")) == 0
    assert story.described().error_message == "Group g not found."
    story.reload()
    assert not story.core.has_group("g")


def test_describing(story):
    chained = topology(subtopology("1", "a", changelogs=[internal("c")]), subtopology("0", "b"))
    tags = [k88.KeyValue(key="z", value="1"), k88.KeyValue(key="a", value="2")]
    story.joins("m", chained, endpoint="h", client_tags=tags, rack_id="r")
    described = story.described()
    assert [each.subtopology_id for each in described.topology.subtopologies] == ["0", "1"]
    assert described.topology.subtopologies[1].state_changelog_topics[0].partitions == 0, "not known to run yet"
    member = described.members[0]
    assert (member.process_id, member.rack_id, member.user_endpoint.host) == ("process of m", "r", "h")
    assert [(tag.key, tag.value) for tag in member.client_tags] == [("a", "2"), ("z", "1")]
    story.create_topics(c=2)
    story.says("m", 2)
    assert story.described().topology.subtopologies[1].state_changelog_topics[0].partitions == 2


# Failures


def test_another_coordinator_knows_what_is_in_the_log(story):
    story.joins("m")
    story.joins("n")
    story.says("m", 2)
    story.reload()
    assert story.epochs() == "Reconciling 3/3"
    assert story.says("m", 2, "0:0") == "3"
    assert story.says("n", 3) == "3: 0:1"


def test_who_had_to_give_back_still_has_to_after_a_failover(story):
    story.joins("m", timeout_ms=1000)
    story.joins("n")
    story.says("m", 2)
    story.reload()
    story.advance(1000)
    assert set(story.streams_group().members) == {"n"}


def test_an_append_that_fails_changes_nothing(story):
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.joins("m")
    story.refusal = None
    assert story.joins("m") == "2: 0:0,1"
    story.create_topics(other=1)
    story.grow("a", 3)
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.says("m", 2)
    story.refusal = None
    assert story.says("m", 2) == "3: 0:0,1,2"


def test_a_member_whose_end_could_not_be_written_is_tried_again(story):
    story.joins("m")
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.advance(45_000)
    assert story.core.streams.has_members("g")
    story.refusal = None
    story.advance(1000)
    assert not story.core.streams.has_members("g")


def test_a_full_group():
    story = StreamsStory({"a": 2}, group_streams_max_size=1)
    story.joins("m")
    assert story.joins("n") == "GROUP_MAX_SIZE_REACHED"


BAD = {
    "MemberId can't be empty.": {"member": ""},
    "GroupId can't be empty.": {"group": ""},
    "RackId can't be empty.": {"rack_id": ""},
    "Static membership is not yet supported.": {"instance_id": "i"},
    "TaskOffsets are not supported yet.": {"task_offsets": []},
    "TaskEndOffsets are not supported yet.": {"task_end_offsets": []},
    "RebalanceTimeoutMs must be provided in first request.": {"timeout_ms": -1},
    "ActiveTasks must be empty when (re-)joining.": {"owns": "0:0"},
    "StandbyTasks must be empty when (re-)joining.": {"standby": "0:0"},
    "Topology must be non-null when (re-)joining.": {"topology": None},
    "Topology can only be provided when (re-)joining.": {"epoch": 1},
    "MemberEpoch is -3, but must be greater than or equal to -2.": {"epoch": -3},
    "InstanceId can't be null.": {"epoch": -2},
    "Regular expressions for source topics are not supported yet.": {
        "topology": topology(k88.Subtopology(subtopology_id="0", source_topic_regex=["a.*"]))
    },
}


@pytest.mark.parametrize("message", BAD)
def test_a_request_that_is_wrong_whatever_the_group(story, message):
    fields = {"member": "m", "epoch": JOIN, "owns": "", "topology": READS_A, "timeout_ms": 1, **BAD[message]}
    response = story.streams_beat(fields.pop("member"), fields.pop("epoch"), fields.pop("owns"), **fields).response
    assert (response.error_code, response.error_message) == (errors.InvalidRequest.code, message)
    assert story.log == []


def test_one_kind_of_tasks_alone_says_nothing(story):
    story.joins("m")
    request = k88.StreamsGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=2, active_tasks=[])
    beaten = story.event(lambda core: core.streams.heartbeat(story.now, request, None))
    assert beaten.response.error_message == "If one task-type is non-null, all must be non-null."


UNEXPECTED = [
    topology(subtopology("0", "a"), epoch=-1),
    topology(subtopology("0", "a"), subtopology("0", "b")),
    topology(subtopology("0", "a", together=[((1,), ())])),
    topology(subtopology("0", "a", repartition=[internal("r", -1)])),
]


@pytest.mark.parametrize("runs", UNEXPECTED, ids=["epoch", "twice", "place", "negative"])
def test_what_kafka_does_not_expect_gets_its_answer_for_that(story, runs):
    assert story.joins("m", runs) == "UNKNOWN_SERVER_ERROR"
    assert story.log == []
