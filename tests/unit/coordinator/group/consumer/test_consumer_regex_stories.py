"""Subscriptions by regular expression: looked up in the background, in slices, and again when topics come and go."""

import pytest

from consumer_kit import JOIN, LEAVE, ConsumerStory
from odradek.coordinator.group.consumer.expression import compiled
from odradek.coordinator.group.consumer.resolution import MATCHES_PER_STEP
from odradek.protocol.errors import InvalidRegularExpression


@pytest.fixture
def story():
    return ConsumerStory()


def joins(story, member="x1", regex="(a|late.*)", **options):
    return story.says(member, JOIN, "", regex=regex, timeout_ms=5000, **options)


def test_an_expression_is_looked_up_after_the_answer(story):
    assert joins(story) == "1:"
    assert story.epochs() == "Stable 1/1", "nothing to assign yet"
    story.advance(1)
    assert story.epochs() == "Assigning 2/1"
    assert story.says("x1", 1, "") == "2: a[0 1 2 3]"


def test_an_expression_that_matches_nothing_changes_nothing(story):
    assert joins(story, regex="nothing.*") == "1:"
    story.advance(1)
    assert story.epochs() == "Stable 1/1"
    assert "nothing.*" in story.consumer_group().regexes, "but it is known"


def test_names_and_an_expression_together(story):
    assert joins(story, names="b") == "2: b[0 1]"
    story.advance(1)
    assert story.says("x1", 2) == "3: a[0 1 2 3] b[0 1]"


def test_a_second_member_with_the_same_expression_does_not_wait(story):
    joins(story)
    story.advance(1)
    story.says("x1", 1)
    assert joins(story, "x2") == "3:"
    assert story.target("x2") == "a[2 3]"


def test_new_topics_are_found_but_not_more_often_than_every_ten_seconds(story):
    joins(story)
    story.advance(1)
    story.says("x1", 1)
    story.create_topics(late=1)
    assert story.says("x1", 2) == "2"
    story.advance(9_998)
    assert story.says("x1", 2) == "2"
    assert not story.core.consumers.resolutions, "too early"
    story.advance(1)
    assert story.says("x1", 2) == "2"
    assert story.core.consumers.resolutions
    story.advance(1)
    assert story.says("x1", 2) == "3: a[0 1 2 3] late[0]"


def test_expressions_are_looked_up_again_in_any_case_after_the_refresh_interval(story):
    joins(story)
    story.advance(1)
    story.says("x1", 1)
    for _ in range(15):
        story.advance(40_000)
        assert not story.core.consumers.resolutions
        story.says("x1", 2)
    assert story.core.consumers.resolutions


def test_a_topic_that_vanishes_is_noticed_before_the_expression_is_looked_up_again(story):
    joins(story)
    story.advance(1)
    story.says("x1", 1)
    story.delete_topic("a")
    assert story.says("x1", 2) == "2:"


def test_another_expression(story):
    joins(story)
    story.advance(1)
    story.says("x1", 1)
    assert story.says("x1", 2, regex="b") == "2:", "what only the old one matched has to go"
    story.advance(1)
    assert story.says("x1", 2, "") == "4: b[0 1]"
    assert list(story.consumer_group().regexes) == ["b"], "nobody uses the other any more"


def test_no_expression_any_more(story):
    joins(story)
    story.advance(1)
    story.says("x1", 1)
    assert story.says("x1", 2, regex="") == "2:"
    assert story.says("x1", 2, "") == "3"
    assert not story.consumer_group().regexes


def test_an_expression_goes_with_its_last_member(story):
    joins(story)
    joins(story, "x2")
    story.advance(1)
    story.says("x1", LEAVE)
    assert story.consumer_group().regexes
    story.says("x2", LEAVE)
    assert not story.consumer_group().regexes
    story.reload()
    assert not story.consumer_group().regexes


def test_a_loaded_group_knows_what_its_expressions_matched(story):
    joins(story)
    story.advance(1)
    story.says("x1", 1)
    story.reload()
    assert story.says("x1", 2) == "2"
    assert story.epochs() == "Stable 2/2"


def test_an_expression_finds_what_the_caller_may_see(story):
    joins(story, regex=".*", may_describe=lambda name: name != "a")
    story.advance(1)
    assert story.says("x1", 1) == "2: b[0 1]"


def test_many_topics_are_looked_at_in_slices(story):
    story.create_topics(**{f"late{number}": 1 for number in range(3 * MATCHES_PER_STEP)})
    joins(story)
    assert story.core.next_deadline_ms() == story.mono_ms
    story.advance(1)
    assert story.epochs() == "Stable 1/1", "not done yet"
    story.advance(10)
    assert story.epochs() == "Assigning 2/1"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("[", "missing closing ]"),
        ("a(", "missing closing )"),
        ("*", "missing argument to repetition operator"),
        ("a{2,1}", "invalid repeat count"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(a)\\1", "invalid escape sequence"),
        ("[b-a]", "invalid character class range"),
        ("a\\", "trailing backslash at end of expression"),
        ("a**", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("\\q", "invalid escape sequence"),
    ],
)
def test_what_is_no_expression_is_refused_in_kafkas_words(story, expression, reason):
    response = story.beat("x1", JOIN, "", subscribed_topic_regex=expression, timeout_ms=1)
    words = f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {reason}."
    assert (response.error_code, response.error_message) == (128, words)


def test_named_classes_are_understood():
    assert compiled("[[:alpha:]]+-[[:digit:]]").matches("orders-1")
    assert not compiled("[[:alpha:]]+").matches("1")


def test_expressions_of_strangers_are_bounded():
    with pytest.raises(InvalidRegularExpression):
        compiled("a" * 100_000)
    with pytest.raises(InvalidRegularExpression):
        compiled("((a{100}){100}){100}")
