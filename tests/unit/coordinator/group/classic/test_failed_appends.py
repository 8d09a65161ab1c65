"""What an append that fails leaves behind in a classic group: `written` is what the log says, and nothing else is lost.

Memory runs ahead of the log during a rebalance, as in Kafka. So the stories also ask what a coordinator finds that
takes over at that moment.
"""

import pytest

from consumer_kit import ConsumerStory
from group_kit import GroupStory
from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.classic.written_group import WrittenGroup
from odradek.protocol.errors import CoordinatorNotAvailable


@pytest.fixture
def story():
    return GroupStory()


class Refusing:
    """While it lasts nothing can be appended, and somebody tries."""

    def __init__(self, story):
        self._story = story
        self._expected = pytest.raises(CoordinatorNotAvailable)

    def __enter__(self):
        self._story.refusal = CoordinatorNotAvailable()
        self._expected.__enter__()

    def __exit__(self, *error):
        self._story.refusal = None
        return self._expected.__exit__(*error)


def begun_generation(story):
    """Two members that were told of generation 3; the second one waits for its assignment."""
    first, second = story.stable_pair()
    story.join("a 3", first)
    story.join("b 3", second)
    assert (story.state(), story.generation()) == ("CompletingRebalance", 3)
    story.sync("b sync 3", second)
    return first, second


def test_a_generation_is_counted_before_it_is_written(story):
    begun_generation(story)
    assert (story.group().generation, story.group().written.generation) == (3, 2)


def test_a_leaders_sync_that_fails_leaves_everybody_waiting_and_can_be_sent_again(story):
    first, second = begun_generation(story)
    written = story.group().written
    with Refusing(story):
        story.sync("a sync 3", first, {first: b"X", second: b"Y"})
    assert story.group().written is written
    assert (story.state(), story.generation(), story.answer("b sync 3")) == ("CompletingRebalance", 3, "held")
    assert [member.assignment for member in story.group().members.values()] == [b"A", b"B"]
    assert story.sync("a sync 3 again", first, {first: b"X", second: b"Y"}).assignment == b"X"
    assert story.answers["b sync 3"].assignment == b"Y"
    assert story.group().written.generation == 3


def test_after_a_sync_that_failed_the_next_coordinator_knows_the_generation_before(story):
    first, second = begun_generation(story)
    with Refusing(story):
        story.sync("a sync 3", first, {first: b"X", second: b"Y"})
    story.reload()
    assert (story.state(), story.generation()) == ("Stable", 2)
    assert story.heartbeat(first, generation=3) == "ILLEGAL_GENERATION"
    story.join("a back", first)
    story.join("b back", second)
    assert story.answers["a back"].generation_id == 3, "the same number: nobody has an assignment of the lost one"


def test_a_static_member_whose_return_is_not_written_has_replaced_nobody(story):
    story.join("a", instance="i1")
    story.advance(0)
    old = story.answers["a"].member_id
    story.sync("a sync", old, {old: b"A"}, instance="i1")
    written = story.group().written
    with Refusing(story):
        story.join("back", instance="i1")
    assert story.group().written is written
    assert story.answer("back") == "held", "the shard answers with the error"
    assert story.heartbeat(old, instance="i1") == "ok"
    new = story.join("back again", instance="i1").member_id
    assert story.heartbeat(old, instance="i1") == "FENCED_INSTANCE_ID"
    assert story.sync("new sync", new, instance="i1").assignment == b"A"
    assert [each.member_id for each in story.group().written.members] == [new]
    assert story.group().written.leader == new


def test_a_group_whose_end_is_not_written_is_still_the_last_generation_to_the_next_coordinator(story):
    first, second = story.stable_pair()
    with Refusing(story):
        story.leave(first, second)
    assert (story.state(), story.group().written.generation) == ("PreparingRebalance", 2)
    story.reload()
    assert (story.state(), list(story.group().members)) == ("Stable", [first, second])
    story.leave(first, second)
    assert (story.state(), story.group().written) == ("Empty", WrittenGroup(3, "consumer", since_ms=story.now.wall_ms))


def test_a_rebalance_goes_on_when_the_upgrade_that_would_have_ended_it_is_not_written():
    """Its time was forgotten before the append: a member that did not come back held up the others for ever."""
    story = ConsumerStory(group_consumer_migration_policy="bidirectional")
    first = story.stable_classic("c1", session_ms=100_000, rebalance_ms=20_000)
    second = story.join_new("c2", protocols={"range": story.classic("a")}, session_ms=100_000, rebalance_ms=20_000)
    assert story.state() == "PreparingRebalance"
    with Refusing(story):
        story.joins("k1")
    story.core.validate()
    story.advance(20_000)
    assert (story.answer("c2"), story.state()) == ("ok", "CompletingRebalance")
    assert first not in story.group().members
    assert list(story.group().members) == [second]


def test_what_is_not_written_is_found_out(story):
    """A group at rest that says something else than the log breaks a rule of our own."""
    first, _ = story.stable_pair()
    story.core.validate()
    story.group().members[first].assignment = b"forged"
    with pytest.raises(BrokenRuleError, match="is at rest and says"):
        story.core.validate()


def test_a_written_group_is_its_record(story):
    story.stable_pair()
    written = story.group().written
    assert WrittenGroup.of(written.value()) == written
    assert (written.generation, written.protocol, len(written.members)) == (2, "range", 2)
