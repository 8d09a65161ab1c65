"""The checker of histories: a sound one passes, and each kind of lie is called by its name."""

import pytest

from history import History, ViolationError

P = ("topic", 0)


def history(*logs, cuts=(), is_durable=False):
    """Of one partition with these logs, one for each life."""
    made = History()
    for log in logs:
        made.ended(P, list(log))
    for cut in cuts:
        made.began(P, cut, is_durable=is_durable)
    return made


def sent(made, values, *oks, producer="p", attempts=1, **more):
    send = made.send(P, values, producer, **more)
    send.oks += oks
    send.attempts = attempts
    return send


def breaks(rule, made):
    with pytest.raises(ViolationError) as caught:
        made.check()
    assert caught.value.rule == rule


def test_a_sound_history_with_a_lost_suffix():
    made = history("abc", "abd", cuts=[2])
    for place, value in enumerate("abc"):
        sent(made, [value], (0, place))
    sent(made, ["d"], (1, 2))
    made.reader("r", P).take(0, list(enumerate("abc")))
    made.check()
    made.check_read(P, list(enumerate("abd")))


def test_what_was_acknowledged_is_there():
    made = history("a")
    sent(made, ["a"], (0, 0))
    sent(made, ["b"], (0, 1))
    breaks("V1", made)


def test_nothing_is_cut_from_a_durable_log():
    made = history("ab", "a", cuts=[1], is_durable=True)
    sent(made, ["a"], (0, 0))
    sent(made, ["b"], (0, 1))
    breaks("V1", made)


def test_what_was_shown_counts_as_much_as_what_was_acknowledged():
    made = history("ab", "a", cuts=[1], is_durable=True)
    sent(made, ["a"])
    sent(made, ["b"])
    made.reader("r", P).take(0, [(0, "a"), (1, "b")])
    breaks("V1", made)


def test_what_nobody_was_told_may_be_lost_or_stay():
    for after in ("a", "ab"):
        made = history("ab", after, cuts=[len(after)], is_durable=True)
        sent(made, ["a"], (0, 0))
        sent(made, ["b"])
        made.check()


def test_a_life_begins_with_what_was_there():
    made = history("ab", "xb", cuts=[2])
    sent(made, ["a"])
    sent(made, ["b"])
    sent(made, ["x"])
    breaks("V2", made)


def test_an_offset_has_one_value():
    made = history("a")
    sent(made, ["a"])
    made.reader("r", P).take(0, [(0, "b")])
    breaks("V2", made)


def test_what_was_sent_once_is_there_once():
    made = history("aa")
    sent(made, ["a"])
    breaks("V3", made)
    made = history("aa")
    sent(made, ["a"], attempts=2)
    made.check()
    made = history("aa")
    sent(made, ["a"], attempts=2, is_idempotent=True)
    breaks("V3", made)


def test_what_nobody_sent_is_not_there():
    breaks("V3", history("a"))


def test_a_reader_skips_nothing():
    made = history("abc")
    reader = made.reader("r", P)
    reader.take(0, [(0, "a")])
    with pytest.raises(ViolationError, match="V4"):
        reader.take(0, [(2, "c")])


def test_a_reader_is_told_of_a_cut():
    made = history("abc", "axyz", cuts=[1])
    reader = made.reader("r", P)
    reader.take(0, list(enumerate("abc")))
    with pytest.raises(ViolationError, match="V4"):
        reader.take(1, [(3, "z")])
    reader.go_back(1, 1)
    reader.take(1, [(1, "x")])


def test_a_reader_is_sent_back_to_the_cut_and_nowhere_else():
    made = history("abc", "ab", cuts=[2])
    reader = made.reader("r", P)
    reader.take(0, list(enumerate("abc")))
    with pytest.raises(ViolationError, match="V4"):
        reader.go_back(1, 1)


def test_the_order_of_an_idempotent_producer():
    made = history("ba")
    sent(made, ["a"], is_idempotent=True)
    sent(made, ["b"], is_idempotent=True)
    breaks("P2", made)


def test_a_batch_that_comes_again_has_its_old_offset():
    made = history("ba")
    sent(made, ["b"], is_idempotent=True, producer="q")
    sent(made, ["a"], (0, 1), (0, 1), is_idempotent=True)
    made.check()
    made.sends[-1].oks.append((0, 2))
    breaks("V1", made)
    made = history("a", "ba", cuts=[0])
    sent(made, ["b"], is_idempotent=True, producer="q")
    sent(made, ["a"], (0, 0), (1, 1), is_idempotent=True)
    made.check()


def test_the_last_read_shows_everything():
    made = history("ab")
    with pytest.raises(ViolationError, match="V5"):
        made.check_read(P, [(0, "a")])
