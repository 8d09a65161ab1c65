import pytest


def test_draws_stay_in_their_bounds_and_reach_all_of_it(ports):
    stream = ports.rng.stream("test")
    assert {stream.below(4) for _ in range(400)} == {0, 1, 2, 3}
    assert all(0 <= stream.fraction() < 1 for _ in range(100))
    assert stream.below(1) == 0


def test_large_bounds_use_all_their_bits(ports):
    stream = ports.rng.stream("test")
    drawn = [stream.below(1 << 128) for _ in range(50)]
    assert max(drawn) > 1 << 126
    assert min(drawn) < 1 << 127
    assert len({number & 0xFFFF for number in drawn}) > 40


def test_bytes_have_the_length_that_was_asked_for(ports):
    stream = ports.rng.stream("test")
    assert [len(stream.bytes(count)) for count in (0, 1, 7, 8, 9, 100)] == [0, 1, 7, 8, 9, 100]
    assert stream.bytes(16) != stream.bytes(16)


def test_there_is_nothing_below_zero(ports):
    with pytest.raises(ValueError, match="below 0"):
        ports.rng.stream("test").below(0)


def test_streams_differ_by_name(ports):
    assert ports.rng.stream("one").bytes(16) != ports.rng.stream("two").bytes(16)
