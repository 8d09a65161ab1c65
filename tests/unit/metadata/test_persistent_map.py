"""A map that never changes, and what its successors cost."""

import pytest

from odradek.metadata.persistent_map import BUCKET_ENTRIES, Map


def test_a_changed_map_leaves_the_old_one_as_it_was():
    old = Map({"a": 1, "b": 2})
    new = old.changed({"b": 3, "c": 4, "a": None})
    assert dict(old) == {"a": 1, "b": 2}
    assert dict(new) == {"b": 3, "c": 4}
    assert (len(old), len(new)) == (2, 2)


def test_nothing_to_change_is_the_same_map():
    old = Map({"a": 1})
    assert old.changed({}) is old


def test_removing_what_is_not_there_changes_no_entry():
    assert dict(Map({"a": 1}).changed({"x": None})) == {"a": 1}


def test_iteration_is_in_the_order_of_the_keys():
    keys = [f"k{number:05}" for number in range(3000)]
    assert list(Map(dict.fromkeys(reversed(keys), 1))) == keys


def test_keys_that_do_not_compare_have_an_order_of_their_own():
    by_name = Map({("b", None): 1, ("b", "x"): 2, ("a", None): 3}, order=lambda key: (key[0], key[1] or ""))
    assert list(by_name.changed({("a", "z"): 4})) == [("a", None), ("a", "z"), ("b", None), ("b", "x")]


def test_a_missing_key():
    big = Map({number: str(number) for number in range(5000)})
    assert big.get(-1) is None
    assert big.get(-1, "none") == "none"
    assert -1 not in big
    assert 4999 in big
    with pytest.raises(KeyError):
        big[-1]


@pytest.mark.parametrize("size", [0, 1, BUCKET_ENTRIES, BUCKET_ENTRIES + 1, 20_000])
def test_every_entry_is_found_whatever_the_size(size):
    entries = {f"key-{number}": number for number in range(size)}
    made = Map(entries)
    assert len(made) == size
    assert all(made[key] == value for key, value in entries.items())
    assert made == Map({**entries})
    assert made != Map({**entries, "one more": 1})


def test_one_change_of_100_000_copies_less_than_2_000():
    big = Map({f"topic-{number}": number for number in range(100_000)})
    for key in ("topic-7", "topic-99999", "a new one"):
        assert big.changed({key: -1}).copied_entries < 2000
    assert big.changed({"topic-7": None}).copied_entries < 2000


def test_growing_one_by_one_never_copies_all():
    grown = Map()
    worst = 0
    for number in range(20_000):
        grown = grown.changed({number: number})
        worst = max(worst, grown.copied_entries)
    assert len(grown) == 20_000
    assert worst < 2000


def test_a_finished_draft_changes_nothing_any_more():
    draft = Map({"a": 1}).draft()
    draft.set("b", 2)
    finished = draft.finish()
    with pytest.raises(AttributeError):
        draft.set("c", 3)
    assert dict(finished) == {"a": 1, "b": 2}
