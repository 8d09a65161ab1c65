"""The life of consumer groups (KIP-848), one situation per story. What is expected is what a Kafka 4.3.0 answered."""

import pytest

from consumer_kit import JOIN, LEAVE, ConsumerStory
from odradek.protocol.errors import CoordinatorNotAvailable


@pytest.fixture
def story():
    return ConsumerStory()


def record_types(story, since=0):
    return [record.key.api_key for record, _ in story.log[since:]]


# Joining


def test_the_first_member_gets_everything_at_once(story):
    assert story.joins("m1", "a b") == "2: a[0 1 2 3] b[0 1]"
    assert story.epochs() == "Stable 2/2"
    assert record_types(story) == [5, 3, 7, 6, 8], "member, group, target of the member, target, what it has"


def test_a_member_that_has_all_is_told_nothing_new(story):
    story.joins("m1")
    written = len(story.log)
    assert story.says("m1", 2, "a[0 1 2 3]") == "2"
    assert story.says("m1", 2) == "2"
    assert len(story.log) == written, "a heartbeat that changes nothing writes nothing"


def test_a_full_request_gets_a_full_answer(story):
    story.joins("m1")
    assert story.says("m1", 2, "a[0 1 2 3]", names="a", timeout_ms=5000) == "2: a[0 1 2 3]"
    assert story.says("m1", 2, "a[0 1 2 3]", names="a") == "2", "without the timeout it is not full"


def test_a_second_member_waits_until_the_first_has_given_back(story):
    story.joins("m1")
    assert story.joins("m2") == "3:", "its share is still with the first"
    assert story.epochs() == "Reconciling 3/3"
    assert story.says("m1", 2, "a[0 1 2 3]") == "2: a[0 1]", "told to give back, and at its old epoch until it has"
    assert story.has("m1") == "a[0 1 2 3]"
    assert story.says("m2", 3) == "3", "not yet"
    assert story.says("m1", 2, "a[0 1 2]") == "2", "one of the two is not enough"
    assert story.says("m1", 2, "a[0 1]") == "3"
    assert story.says("m2", 3) == "3: a[2 3]"
    assert story.epochs() == "Stable 3/3"


def test_who_does_not_say_what_it_owns_owns_it(story):
    story.joins("m1")
    story.joins("m2")
    assert story.says("m1", 2) == "2: a[0 1]"
    assert story.says("m1", 2) == "2"
    assert story.says("m2", 3) == "3"


def test_assignments_are_gathered_for_the_interval():
    story = ConsumerStory(interval_ms=1000)
    story.joins("m1")
    assert story.joins("m2") == "2:"
    assert story.joins("m3") == "2:"
    assert story.epochs() == "Assigning 4/2"
    story.advance(999)
    assert story.says("m2", 2) == "2"
    story.advance(1)
    assert story.says("m2", 2) == "4", "one assignment for both"
    assert story.epochs() == "Reconciling 4/4"


def test_a_group_may_have_an_interval_of_its_own():
    story = ConsumerStory(interval_ms=1000)
    story.set_group_config("consumer.assignment.interval.ms", "0")
    story.joins("m1")
    assert story.joins("m2") == "3:"


def test_a_topic_that_is_not_there_is_waited_for(story):
    assert story.joins("m1", "late") == "2:"
    story.create_topics(late=3)
    assert story.says("m1", 2) == "3: late[0 1 2]"


def test_a_topic_that_grows_is_assigned_anew(story):
    story.joins("m1")
    story.grow("a", 6)
    assert story.says("m1", 2) == "3: a[0 1 2 3 4 5]"


def test_a_topic_that_nobody_reads_changes_nothing(story):
    story.joins("m1")
    story.create_topics(other=5)
    assert story.says("m1", 2) == "2"
    assert story.epochs() == "Stable 2/2"


def test_a_topic_that_vanishes_is_given_back(story):
    story.joins("m1", "a b")
    story.delete_topic("b")
    assert story.says("m1", 2) == "2: a[0 1 2 3]"
    assert story.says("m1", 2, "a[0 1 2 3]") == "3"
    assert story.epochs() == "Stable 3/3"


def test_a_topic_of_the_same_name_is_another_one(story):
    story.joins("m1")
    old = story.id_of("a")
    story.delete_topic("a")
    story.create_topics(a=2)
    response = story.beat("m1", 2, "")
    assert [bytes(topic.topic_id) for topic in response.assignment.topic_partitions] == [story.id_of("a")] != [old]


def test_a_new_subscription_takes_effect_at_once(story):
    story.joins("m1")
    assert story.says("m1", 2, names="b") == "2:"
    assert story.says("m1", 2, "") == "3: b[0 1]"


def test_what_is_not_read_any_more_goes_before_the_target_is_made_anew():
    story = ConsumerStory(interval_ms=1000)
    story.joins("m1", "a b")
    assert story.says("m1", 2, "a[0 1 2 3] b[0 1]", names="b") == "2: b[0 1]"
    assert story.epochs() == "Assigning 3/2"
    assert story.says("m1", 2, "b[0 1]") == "2"
    assert story.has("m1") == "b[0 1]"
    story.advance(1000)
    assert story.says("m1", 2, "b[0 1]") == "3"


def test_another_assignor_alone_assigns_nothing(story):
    story.joins("m1", "a b", assignor="range")
    assert story.described().assignor_name == "range"
    assert story.says("m1", 2, assignor="uniform") == "2"
    assert story.described().assignor_name == "uniform"
    assert story.epochs() == "Stable 2/2"


def test_the_assignor_with_the_most_votes_is_used(story):
    story.joins("m1", "a b", assignor="range")
    story.joins("m2", "a b", assignor="range")
    story.joins("m3", "a b", assignor="uniform")
    assert story.described().assignor_name == "range"
    assert [story.target(member) for member in ("m1", "m2", "m3")] == ["a[0 1] b[0]", "a[2] b[1]", "a[3]"]


def test_a_group_may_be_full():
    story = ConsumerStory(group_consumer_max_size=1)
    story.joins("m1")
    assert story.joins("m2") == "GROUP_MAX_SIZE_REACHED"
    assert story.joins("m1") == "2: a[0 1 2 3]", "who is in may join again"


def test_an_old_version_is_given_a_member_id(story):
    response = story.beat("", JOIN, "", version=0, names="a", timeout_ms=5000)
    assert (response.member_id, response.member_epoch) == ("1", 2)


# Fencing


def test_an_epoch_that_the_member_does_not_have_is_fenced(story):
    story.joins("m1")
    response = story.beat("m1", 11)
    assert response.error_message.startswith("The consumer group member has a greater member epoch (11) than the one")
    assert story.says("m1", 1, "") == "FENCED_MEMBER_EPOCH"
    assert story.says("m9", 2) == "UNKNOWN_MEMBER_ID"
    assert story.says("m1", 2, group="other") == "GROUP_ID_NOT_FOUND"


def test_the_epoch_before_may_come_again_if_an_answer_was_lost(story):
    story.joins("m1")
    story.joins("m2")
    story.says("m1", 2, "a[0 1 2 3]")
    assert story.says("m1", 2, "a[0 1]") == "3"
    assert story.says("m1", 2, "a[0 1]") == "3: a[0 1]", "it has missed an answer: it is told all"
    assert story.says("m1", 2, "a[0 1 2]") == "FENCED_MEMBER_EPOCH", "it has something that is not its own any more"
    assert story.says("m1", 2) == "FENCED_MEMBER_EPOCH"


def test_a_member_may_join_again_with_what_is_its_own(story):
    story.joins("m1")
    story.joins("m2")
    assert story.says("m1", 2, "a[0 1 2 3]") == "2: a[0 1]"
    assert story.joins("m1") == "3: a[0 1]", "who joins owns nothing: there is nothing left to give back"


def test_a_member_that_left_is_not_known_any_more(story):
    story.joins("m1")
    story.joins("m2")
    assert story.says("m1", LEAVE) == "-1"
    assert story.says("m1", LEAVE) == "UNKNOWN_MEMBER_ID"
    assert story.says("m1", 2) == "UNKNOWN_MEMBER_ID"
    assert story.says("m2", 3) == "4: a[0 1 2 3]"


def test_the_last_member_leaves_an_empty_group(story):
    story.joins("m1")
    written = len(story.log)
    story.says("m1", LEAVE)
    assert record_types(story, written) == [8, 7, 5, 3]
    assert story.log[-1][0].value.metadata_hash == 0
    assert story.epochs() == "Empty 3/2"


# Time


def test_a_silent_member_is_removed_after_its_session(story):
    story.joins("m1")
    story.advance(44_999)
    assert story.says("m1", 2) == "2"
    story.advance(45_000)
    assert story.epochs() == "Empty 3/2"
    assert story.says("m1", 2) == "UNKNOWN_MEMBER_ID"


def test_a_group_may_have_a_session_timeout_of_its_own_within_bounds(story):
    story.set_group_config("consumer.session.timeout.ms", "50000")
    story.set_group_config("consumer.heartbeat.interval.ms", "1")
    assert story.beat("m1", JOIN, "", names="a", timeout_ms=1).heartbeat_interval_ms == 5000, "the broker's least"
    story.advance(49_999)
    assert story.epochs() == "Stable 2/2"
    story.advance(1)
    assert story.epochs() == "Empty 3/2"


def test_a_member_that_does_not_give_back_is_removed_after_its_rebalance_timeout(story):
    story.joins("m1", timeout_ms=5000)
    story.joins("m2")
    assert story.says("m1", 2, "a[0 1 2 3]") == "2: a[0 1]"
    story.advance(4999)
    assert story.says("m1", 2, "a[0 1 2 3]") == "2", "signs of life do not give more time"
    story.advance(1)
    assert story.says("m1", 2) == "UNKNOWN_MEMBER_ID"
    assert story.says("m2", 3) == "4: a[0 1 2 3]"


def test_a_member_that_gave_back_in_time_stays(story):
    story.joins("m1", timeout_ms=5000)
    story.joins("m2")
    story.says("m1", 2, "a[0 1 2 3]")
    assert story.says("m1", 2, "a[0 1]") == "3"
    story.advance(5000)
    assert story.says("m1", 3) == "3"


# Failures


def test_an_append_that_fails_changes_nothing(story):
    story.joins("m1")
    before = story.consumer_group().copy()
    story.refusal = CoordinatorNotAvailable()
    for attempt in (
        lambda: story.joins("m2"),
        lambda: story.says("m1", 2, names="b"),
        lambda: story.says("m1", LEAVE),
    ):
        with pytest.raises(CoordinatorNotAvailable):
            attempt()
    group = story.consumer_group()
    assert (group.members, group.target, group.owners) == (before.members, before.target, before.owners)
    assert (group.epoch, group.target_epoch) == (before.epoch, before.target_epoch)


def test_a_member_whose_end_could_not_be_written_is_tried_again(story):
    story.joins("m1")
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.advance(45_000)
    assert list(story.consumer_group().members) == ["m1"]
    story.refusal = None
    story.advance(1000)
    assert not story.consumer_group().members


def test_a_topic_change_whose_append_fails_is_not_forgotten(story):
    story.joins("m1")
    story.grow("a", 5)
    story.refusal = CoordinatorNotAvailable()
    with pytest.raises(CoordinatorNotAvailable):
        story.says("m1", 2)
    story.refusal = None
    assert story.says("m1", 2) == "3: a[0 1 2 3 4]"


def test_another_coordinator_goes_on_where_the_first_was(story):
    story.joins("m1", timeout_ms=5000)
    story.joins("m2")
    story.says("m1", 2, "a[0 1 2 3]")
    story.reload()
    assert story.epochs() == "Reconciling 3/3"
    assert story.says("m1", 2, "a[0 1 2 3]") == "2"
    assert story.says("m1", 2, "a[0 1]") == "3"
    assert story.says("m2", 3) == "3: a[2 3]"
    story.reload()
    story.advance(45_000)
    assert story.epochs().startswith("Empty"), "sessions have begun anew, and are over"


def test_who_was_giving_back_has_its_time_again_after_a_reload(story):
    story.joins("m1", timeout_ms=5000)
    story.joins("m2")
    story.says("m1", 2, "a[0 1 2 3]")
    story.reload()
    story.advance(5000)
    assert story.says("m1", 2) == "UNKNOWN_MEMBER_ID"


def test_a_compacted_log_tells_the_same(story):
    story.commit(1, generation=-1)
    for step in (
        lambda: story.joins("m1"),
        lambda: story.joins("m2", "a b"),
        lambda: story.says("m1", 2, "a[0 1 2 3]"),
        lambda: story.says("m1", 2, "a[0 1 2]"),
        lambda: story.says("m2", 3),
        lambda: story.commit(5, topic="a", generation=3, member_id="m1", version=9),
    ):
        step()
    group = story.consumer_group()
    newest = {}
    for record, offset in story.log:
        newest[type(record.key), str(record.key)] = (record, offset)
    story.log = sorted(newest.values(), key=lambda placed: placed[1])
    story.reload()
    again = story.consumer_group()
    assert (again.members, again.target, again.owners) == (group.members, group.target, group.owners)
    assert story.epochs() == f"{group.state} {group.epoch}/{group.target_epoch}"
    assert story.committed(topic="a") == 5


# Offsets


def commit(story, epoch, topic, partition, member="m1", **sender):
    sender.setdefault("version", 9)
    return story.commit(7, topic=topic, partition=partition, generation=epoch, member_id=member, **sender)


def test_a_commit_needs_an_epoch_since_which_the_partition_is_owned(story):
    story.joins("m1")
    story.joins("m2", "a b")
    story.says("m1", 2, "a[0 1 2 3]")
    assert commit(story, 2, "a", 3) == "ok", "it has still to give it back"
    assert story.says("m1", 2, "a[0 1 2]") == "3"
    assert commit(story, 3, "a", 0) == "ok"
    assert commit(story, 2, "a", 0) == "ok", "it has had this one since"
    assert commit(story, 2, "a", 3) == "STALE_MEMBER_EPOCH"
    assert commit(story, 1, "a", 0) == "STALE_MEMBER_EPOCH"
    assert commit(story, 4, "a", 0) == "STALE_MEMBER_EPOCH"


def test_a_fenced_member_cannot_commit(story):
    story.joins("m1")
    story.says("m1", LEAVE)
    story.joins("m2")
    assert commit(story, 2, "a", 0) == "UNKNOWN_MEMBER_ID"
    assert commit(story, -1, "a", 0, member="") == "UNKNOWN_MEMBER_ID", "a group with members is theirs"
    assert story.committed(topic="a") is None


def test_an_empty_group_takes_the_commits_of_admins(story):
    story.joins("m1")
    story.says("m1", LEAVE)
    assert commit(story, -1, "a", 0, member="") == "ok"
    assert story.committed(topic="a") == 7


def test_members_commit_with_a_version_that_speaks_of_epochs(story):
    story.joins("m1")
    assert commit(story, 2, "a", 0, version=8) == "UNSUPPORTED_VERSION"


def test_transactional_commits_are_fenced_too(story):
    story.joins("m1")
    assert commit(story, 2, "a", 0, producer=9, version=3) == "ok"
    assert commit(story, 3, "a", 0, producer=9, version=3) == "STALE_MEMBER_EPOCH"
    story.end_transaction(9, is_commit=True)
    assert story.committed(topic="a") == 7


def test_offsets_of_topics_that_are_read_stay(story):
    story.joins("m1")
    story.says("m1", LEAVE)
    for topic in ("a", "b"):
        story.commit(7, topic=topic, generation=-1, version=9)
    story.advance(7 * 24 * 3600 * 1000 - 600_000)
    assert story.joins("m1").startswith("4: a")
    for _ in range(30):
        story.advance(40_000)
        story.says("m1", 4)
    assert story.committed(topic="a") == 7, "a week is over, and it is read"
    assert story.committed(topic="b") is None, "this one nobody reads"


def test_an_empty_group_goes_with_its_last_offset(story):
    story.joins("m1")
    commit(story, 2, "a", 0)
    story.says("m1", LEAVE)
    story.advance(7 * 24 * 3600 * 1000 + 600_000)
    assert story.committed(topic="a") is None
    assert "g" not in story.core.consumers.groups
    story.reload()
    assert "g" not in story.core.consumers.groups and "g" not in story.core.classic.groups


def test_offsets_of_what_is_read_cannot_be_deleted(story):
    story.joins("m1")
    commit(story, 2, "a", 0)
    codes = story.event(lambda core: core.delete_offsets("g", [("a", 0), ("b", 0)]))
    assert codes == [86, 0]


# Admins


def test_a_group_with_members_is_not_deleted(story):
    story.joins("m1")
    commit(story, 2, "a", 0)
    assert story.event(lambda core: core.delete("g")) == 68
    story.says("m1", LEAVE)
    assert story.event(lambda core: core.delete("g")) == 0
    assert story.committed(topic="a") is None
    story.reload()
    assert "g" not in story.core.consumers.groups and "g" not in story.core.classic.groups


def test_describe_tells_what_there_is(story):
    story.joins("m1", rack_id="r1")
    story.joins("m2")
    story.says("m1", 2, "a[0 1 2 3]")
    described = story.described()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Reconciling", 3, 3)
    member = next(each for each in described.members if each.member_id == "m1")
    assert (member.rack_id, member.member_epoch, member.member_type) == ("r1", 2, 1)
    assert story.told(member.assignment.topic_partitions) == "a[0 1 2 3]", "what it has to give back is still with it"
    assert story.told(member.target_assignment.topic_partitions) == "a[0 1]"


def test_describe_of_what_is_not_there(story):
    assert story.described("nope").error_message == "Group nope not found."
    story.commit(1, group="simple", generation=-1)
    assert story.described("simple").error_message == "Group simple is not a consumer group."
    story.joins("m1")
    classic = story.event(lambda core: core.describe("g", tells_missing=True))
    assert (classic.group_state, classic.error_message) == ("Dead", "Group g is not a classic group.")


def test_groups_are_listed_by_type_and_state(story):
    from odradek.coordinator.group.listing import GroupFilter

    story.joins("m1")
    story.commit(1, group="simple", generation=-1)

    def listed(*types, states=()):
        found = story.event(lambda core: core.list_groups(GroupFilter(tuple(states), types)))
        return sorted((each.group_id, each.group_type, each.group_state) for each in found)

    assert listed() == [("g", "consumer", "Stable"), ("simple", "classic", "Empty")]
    assert listed("Consumer") == [("g", "consumer", "Stable")]
    assert listed("classic") == [("simple", "classic", "Empty")]
    assert listed(states=["stable"]) == [("g", "consumer", "Stable")]


# Requests that make no sense


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"group": ""}, "GroupId can't be empty."),
        ({"member": ""}, "MemberId can't be empty."),
        ({"instance": ""}, "InstanceId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"owns": None}, "TopicPartitions must be empty when (re-)joining."),
        ({"owns": "a[0]"}, "TopicPartitions must be empty when (re-)joining."),
        (
            {"subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ({"epoch": -3}, "MemberEpoch is invalid."),
        ({"epoch": -2}, "InstanceId can't be null."),
        ({"assignor": "nope"}, "ServerAssignor nope is not supported. Supported assignors: uniform, range."),
    ],
)
def test_requests_that_make_no_sense(story, fields, message):
    options = {"member": "m1", "epoch": JOIN, "owns": "", "timeout_ms": 5000, **fields}
    if "subscribed_topic_names" not in options:
        options["names"] = "a"
    response = story.beat(options.pop("member"), options.pop("epoch"), options.pop("owns"), **options)
    assert response.error_message == message
    assert not story.core.consumers.groups, "nothing was made of it"
