"""Memory that is used again once nobody looks at it."""

from odradek.reactor.buffers import LentBuffers, unwritten
from odradek.reactor.frames import FrameMemory, OwnedFrame

STEP = 256 * 1024


def test_memory_that_is_about_to_be_written_can_be():
    buffer = unwritten(10)
    buffer[:] = b"0123456789"
    assert bytes(buffer) == b"0123456789"
    assert len(unwritten(0)) == 0


def test_a_buffer_is_not_used_again_while_there_is_a_view_of_it():
    lent = LentBuffers()
    first = lent.take(100_000)
    part = memoryview(first)[10:20]
    second = lent.take(100_000)
    assert second is not first
    part.release()
    assert lent.take(100_000) in (first, second)
    assert len(lent) == 2


def test_a_buffer_that_is_too_small_or_far_too_large_is_not_used():
    lent = LentBuffers()
    first = lent.take(STEP)
    assert lent.take(4 * STEP) is not first
    assert len(lent.take(10)) <= 2 * STEP


def test_of_what_is_free_one_more_is_kept():
    lent = LentBuffers()
    views = [memoryview(lent.take(STEP)) for _ in range(6)]
    assert len(lent) == 6
    views.clear()
    lent.take(STEP)
    assert len(lent) == 2


def test_what_is_free_is_given_back_when_only_small_things_come():
    lent = LentBuffers()
    view = memoryview(lent.take(STEP))
    lent.take(STEP)
    for _ in range(20):
        lent.was_not_needed()
    assert len(lent) == 1
    view.release()
    for _ in range(20):
        lent.was_not_needed()
    assert len(lent) == 0


def test_an_owned_frame_stays_as_it_was_received_while_others_come():
    memory = FrameMemory()
    kept = []
    for number in range(5):
        total = 100_000 + number
        memory.reserve(total)
        frame = OwnedFrame(memory, total, memoryview(bytes([number]) * 5000))
        while frame.filled_bytes < total:
            room = frame.room()
            room[:] = bytes([number]) * len(room)
            frame.filled_bytes += len(room)
            room.release()
        frame.release()
        kept.append(frame.whole()[4:])
    assert memory.used_bytes == 0
    assert [set(view) for view in kept] == [{number} for number in range(5)]
    assert [len(view) for view in kept] == [100_000 - 4 + number for number in range(5)]
