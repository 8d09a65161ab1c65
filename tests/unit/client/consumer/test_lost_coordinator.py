"""A coordinator that does not answer any more is looked for at once: nothing else would wake the member."""

import pytest

from member_kit import BACKOFF_MS, classic, consumer, joined
from odradek.protocol import errors
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest


@pytest.mark.parametrize("kind", [classic, consumer])
def test_a_lost_request_begins_a_lookup(kind):
    story = kind()
    story.knows_coordinator = False
    story.lose()
    assert [type(send.request) for send in story.sent] == [FindCoordinatorRequest]


def test_so_does_an_answer_of_somebody_else():
    story = classic()
    story.knows_coordinator = False
    story.answer(joined(error=errors.NotCoordinator.code))
    assert [type(send.request) for send in story.sent] == [FindCoordinatorRequest]


@pytest.mark.parametrize("kind", [classic, consumer])
def test_once_it_is_found_the_time_of_the_next_attempt_is_known(kind):
    story = kind()
    story.lose()
    assert story.core.deadline() == story.now_ms + BACKOFF_MS
