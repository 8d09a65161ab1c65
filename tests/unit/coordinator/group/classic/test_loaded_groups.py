"""A classic group that is loaded is what its newest record says, whatever older ones are still in the log."""

from group_kit import GroupStory, subscription


def test_a_loaded_member_is_what_the_newest_record_says_of_it():
    """It kept the subscription and the timeouts of its oldest record."""
    story = GroupStory()
    member = story.join_new("a")
    story.advance(0)
    story.sync("sync", member, {member: b"1"})
    story.join("again", member, protocols={"range": subscription("u")}, session_ms=20_000, rebalance_ms=30_000)
    story.sync("sync again", member, {member: b"2"})
    story.reload()
    loaded = story.group().members[member]
    assert (loaded.metadata("range"), loaded.assignment) == (subscription("u"), b"2")
    assert (loaded.session_timeout_ms, loaded.rebalance_timeout_ms) == (20_000, 30_000)


def test_a_member_keeps_all_its_protocols_when_its_own_record_is_replayed():
    """The log holds the chosen one alone."""
    story = GroupStory()
    protocols = {"range": subscription("t"), "roundrobin": subscription("t")}
    member = story.join_new("a", protocols=protocols)
    story.advance(0)
    story.sync("sync", member, {member: b"1"})
    assert [name for name, _ in story.group().members[member].protocols] == ["range", "roundrobin"]
    story.reload()
    assert [name for name, _ in story.group().members[member].protocols] == ["range"]
