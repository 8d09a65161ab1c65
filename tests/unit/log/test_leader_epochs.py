import pytest

from odradek.log.leader_epochs import LeaderEpochs


@pytest.fixture
def epochs():
    return LeaderEpochs([(2, 10), (4, 20), (7, 40)])


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(7, (7, 55)), (8, (-1, -1)), (4, (4, 40)), (5, (4, 40)), (3, (2, 20)), (1, (1, 10)), (-1, (-1, -1))],
)
def test_end_offset_for_an_epoch(epochs, asked, answer):
    assert epochs.end_offset_for(asked, 55) == answer


def test_nothing_is_known_of_an_empty_log():
    assert LeaderEpochs().end_offset_for(0, 0) == (-1, -1)


def test_a_later_offset_of_the_same_epoch_says_nothing(epochs):
    epochs.assign(7, 50)
    assert epochs.entries == [(2, 10), (4, 20), (7, 40)] and not epochs.is_dirty


@pytest.mark.parametrize(
    ("new", "left"),
    [
        ((8, 55), [(2, 10), (4, 20), (7, 40), (8, 55)]),
        ((8, 40), [(2, 10), (4, 20), (8, 40)]),
        ((8, 15), [(2, 10), (8, 15)]),
        ((3, 55), [(2, 10), (3, 55)]),
        ((7, 30), [(2, 10), (4, 20), (7, 30)]),
    ],
)
def test_a_new_epoch_drops_what_contradicts_it(epochs, new, left):
    epochs.assign(*new)
    assert epochs.entries == left and epochs.is_dirty


def test_truncation_from_both_ends(epochs):
    epochs.truncate_from_end(40)
    assert epochs.entries == [(2, 10), (4, 20)]
    epochs.truncate_from_start(25)
    assert epochs.entries == [(4, 25)]
    epochs.is_dirty = False
    epochs.truncate_from_start(25)
    epochs.truncate_from_end(26)
    assert not epochs.is_dirty


def test_the_epoch_of_an_offset(epochs):
    assert [epochs.epoch_for(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 2, 2, 4, 7]
