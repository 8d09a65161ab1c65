"""The share session with one broker: its epochs, and what each request names."""

from odradek.client.share_consumer import share_fetch_session
from odradek.client.share_consumer.share_fetch_session import ShareFetchSession

A, B, C = (b"a" * 16, 0), (b"a" * 16, 1), (b"c" * 16, 0)


def opened(*places):
    session = ShareFetchSession()
    session.fetch(places)
    session.went_well()
    return session


def test_the_first_fetch_names_all():
    session = ShareFetchSession()
    assert not session.is_open
    assert session.fetch([A, B]) == (0, [A, B], [])
    session.went_well()
    assert session.is_open


def test_the_next_one_names_what_has_changed():
    session = opened(A, B)
    assert session.fetch([A, B]) == (1, [], [])
    session.went_well()
    assert session.fetch([B, C]) == (2, [C], [A])


def test_what_is_only_acknowledged_is_forgotten_at_once():
    """Naming a partition puts it into the session."""
    session = opened(A)
    assert session.fetch([A], {A, C}) == (1, [], [C])
    assert session.known == {A}


def test_acknowledgements_count_in_the_same_epochs():
    session = opened(A)
    assert session.acknowledge().epoch == 1
    session.went_well()
    assert session.fetch([A]).epoch == 2


def test_a_session_in_doubt_begins_anew():
    session = opened(A)
    session.fetch([A])
    session.reset()
    assert not session.is_open
    assert session.fetch([A]) == (0, [A], [])


def test_a_partition_that_was_refused_is_named_again():
    session = opened(A, B)
    session.forget(A)
    assert session.fetch([A, B]) == (1, [A], [])


def test_the_end():
    session = opened(A)
    assert session.end() == (-1, [], [])
    assert not session.is_open
    assert session.known == set()


def test_epochs_begin_again_at_one(monkeypatch):
    monkeypatch.setattr(share_fetch_session, "EPOCH_MAX", 2)
    session = opened(A)
    session.went_well()
    assert session.fetch([A]).epoch == 2
    session.went_well()
    assert session.fetch([A]).epoch == 1
