"""What the protocols of groups do not save a member from: a word of it that comes late, or a second time.

JoinGroup and ConsumerGroupHeartbeat say what a member owns, and the last one counts as the newest. News are told once,
in the answer to whatever came. A member on one connection that never breaks is safe; one that had to connect anew may
meet its own older word. A Kafka 4.3.0 that was sent such conversations over its socket gave the same answers.
"""

import pytest

from consumer_kit import ConsumerStory


@pytest.fixture
def story():
    return ConsumerStory()


def rejoin(story, ticket, member, *, owned=(), generation=-1, **options):
    metadata = story.classic("a", owned=[("a", owned)] if owned else (), generation=generation)
    return story.join(ticket, member, protocols={"cooperative-sticky": metadata}, **options)


def classic_pair(story):
    """In generation 2 the first member has a[0 1], the second a[2 3]."""
    first = story.stable_classic("c1", protocol="cooperative-sticky")
    second = story.join_new("c2", protocols={"cooperative-sticky": story.classic("a")})
    rejoin(story, "c1 again", first, owned=range(4), generation=1)
    story.sync("c2 sync", second, generation=2)
    shares = {first: story.assignment(a=[0, 1]), second: story.assignment(a=[2, 3])}
    story.sync("c1 sync 2", first, shares, generation=2)
    assert (story.synced("c1 sync 2"), story.synced("c2 sync")) == ("a[0 1]", "a[2 3]")
    return first, second


def test_the_hazard_of_a_late_join(story):
    """It stands for its member in a rebalance of which that knows nothing: another is given what it reads."""
    first, second = classic_pair(story)
    assert story.heartbeat(second, generation=2) == "ok"
    rejoin(story, "late", second, owned=[3], generation=1)
    assert story.heartbeat(first, generation=2) == "REBALANCE_IN_PROGRESS"
    assert rejoin(story, "r", first, owned=[0, 1], generation=2).generation_id == 3, "nobody waits for the second"
    story.sync("s", first, {first: story.assignment(a=range(4)), second: story.assignment()}, generation=3)
    assert story.synced("s") == "a[0 1 2 3]"
    assert story.heartbeat(second, generation=2) == "ILLEGAL_GENERATION", "its next heartbeat tells it"


def test_the_hazard_of_a_repeated_heartbeat_that_is_told_to_give_back(story):
    """Nobody tells the member itself: after the rebalance timeout it is out, and each of its heartbeats was good."""
    story.joins("m1", timeout_ms=5000)
    story.joins("m2")
    assert story.says("m1", 2) == "2: a[0 1]", "the copy"
    for _ in range(5):
        assert story.says("m1", 2) == "2", "itself"
        assert story.says("m2", 3) == "3"
        story.advance(1000)
    assert story.says("m2", 3) == "4: a[0 1 2 3]"
    assert story.says("m1", 2) == "UNKNOWN_MEMBER_ID"


def test_the_hazard_of_a_repeated_heartbeat_that_is_assigned_something(story):
    """Until something else changes nobody reads it."""
    story.joins("m1")
    story.joins("m2")
    story.says("m1", 2)
    assert story.says("m1", 2, "a[0 1]") == "3"
    assert story.says("m2", 3) == "3: a[2 3]", "the copy"
    assert story.says("m2", 3) == "3", "itself"
    assert story.epochs() == "Stable 3/3"
    assert story.says("m2", 3, "", names="a", timeout_ms=5000) == "3: a[2 3]", "who tells everything is told everything"


def test_the_hazard_of_a_late_heartbeat_that_owned_less(story):
    """At the same epoch the member was given more since: it gives back what its member is still reading."""
    story.joins("m1")
    story.joins("m2")
    story.says("m1", 2)
    story.says("m1", 2, "a[0 1]")
    assert story.says("m2", 3) == "3: a[2 3]"
    story.says("m2", 3, "a[2 3]")
    story.joins("m3")
    assert story.says("m2", 3) == "3: a[2]", "it is told to give one back"
    assert story.says("m2", 3, "") == "4", "the late one"
    assert story.says("m3", 4) == "4: a[3]", "the second has not given it back yet"


def test_the_hazard_of_a_late_join_to_a_consumer_group(story):
    """It waits for a sync that nobody sends: the member is put out though each of its heartbeats was good."""
    member = story.stable_classic(session_ms=30_000, rebalance_ms=12_000)
    timeouts = {"session_ms": 30_000, "rebalance_ms": 12_000}
    story.joins("k1")
    rejoined = {"protocols": {"range": story.classic("a")}, **timeouts}
    story.join("r1", member, **rejoined)
    story.sync("s1", member, generation=2)
    share = story.synced("s1")
    other = story.says("k1", 2).removeprefix("2: ")
    assert sorted([share, other]) == ["a[0 1]", "a[2 3]"]
    story.join("late", member, **rejoined)
    for _ in range(3):
        assert story.heartbeat(member, generation=2) == "ok"
        assert story.says("k1", 2) == "2"
        story.advance(4000)
    assert story.says("k1", 2) == "3: a[0 1 2 3]"
    assert story.heartbeat(member, generation=2) == "UNKNOWN_MEMBER_ID"
