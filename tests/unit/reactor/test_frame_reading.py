"""The memory of unfinished frames, and what waits to be sent."""

from itertools import pairwise

import pytest

from odradek.reactor.file_range import File
from odradek.reactor.frames import SPARE_BYTES_MAX, FrameMemory, PartialFrame
from odradek.reactor.send_queue import SEND_BYTES_MAX, FileEndedEarly, SendQueue

MB = 1024 * 1024


def partial(memory, total, beginning=b"12345"):
    assert memory.reserve(total)
    return PartialFrame(memory, total, memoryview(beginning))


def fill(frame, data):
    """As a socket would, as much as there is room for; the rest."""
    room = frame.room()
    count = min(len(room), len(data))
    room[:count] = data[:count]
    frame.filled_bytes += count
    return data[count:]


def test_a_frame_grows_with_its_bytes():
    memory = FrameMemory()
    frame = partial(memory, 50 * MB)
    assert len(frame._buffer) < 64 * 1024
    data = bytes(at % 251 for at in range(3 * MB))
    rest = data
    while rest:
        rest = fill(frame, rest)
        assert len(frame._buffer) <= max(16 * 1024, 8 * frame.filled_bytes)
    assert bytes(frame.whole()[: 5 + len(data)]) == b"12345" + data


def test_a_large_frame_is_never_copied_whole():
    memory = FrameMemory()
    frame = partial(memory, 20 * MB, bytes(4096))
    capacities = set()
    while frame.filled_bytes < frame.total_bytes:
        at = frame.filled_bytes
        room = frame.room()
        room[:] = at.to_bytes(4, "big") * (len(room) // 4) + b"rest"[: len(room) % 4]
        frame.filled_bytes += len(room)
        room.release()
        capacities.add(len(frame._buffer))
    steps = sorted(capacity for capacity in capacities if capacity > SPARE_BYTES_MAX)
    assert all(after - before <= MB for before, after in pairwise(steps))
    assert len(frame._buffer) == 20 * MB
    assert bytes(frame.whole()[4096:4100]) == (4096).to_bytes(4, "big")
    assert bytes(frame.whole()[-4:]) == (19 * MB).to_bytes(4, "big")
    frame.release()
    assert memory.used_bytes == 0


def test_there_is_no_room_beyond_the_frame():
    frame = partial(FrameMemory(), 5000)
    assert fill(frame, b"x" * 10_000) == b"x" * 5005
    assert frame.filled_bytes == frame.total_bytes
    assert len(frame.room()) == 0
    assert bytes(frame.whole()) == b"12345" + b"x" * 4995


def test_buffers_are_used_again_but_not_hoarded():
    memory = FrameMemory()
    buffer = memory.buffer(MB)
    memory.recycle(buffer)
    assert memory.buffer(MB - 1) is buffer
    many = [memory.buffer(MB) for _ in range(20)]
    for each in many:
        memory.recycle(each)
    again = [memory.buffer(MB) for _ in range(20)]
    assert sum(any(each is old for old in many) for each in again) == SPARE_BYTES_MAX // MB


@pytest.mark.contract("C54")
def test_the_pool_is_passed_by_one_frame_at_most():
    memory = FrameMemory(100)
    assert memory.reserve(60)
    assert memory.reserve(60)
    assert not memory.reserve(1)
    assert memory.available_bytes == -20
    tried = []
    memory.when_available(lambda: tried.append("first") or memory.reserve(90))
    memory.when_available(lambda: tried.append("second") or memory.reserve(90))
    memory.give_back(60)
    assert tried == ["first"]
    memory.forget(None)
    memory.give_back(60)
    assert tried == ["first", "second"]
    memory.give_back(180)
    assert (memory.used_bytes, memory.waiting) == (0, 0)


@pytest.mark.contract("C32")
def test_everybody_for_whom_there_is_room_is_woken_in_the_order_of_coming():
    memory = FrameMemory(100)
    assert memory.reserve(120)
    tried = []
    for name, size in (("first", 40), ("second", 40), ("third", 40), ("fourth", 40)):
        memory.when_available(lambda name=name, size=size: tried.append(name) or memory.reserve(size))
    memory.give_back(120)
    assert tried == ["first", "second", "third"], "the third may pass the limit, the fourth waits for one of them"
    assert (memory.used_bytes, memory.waiting) == (120, 1)


def test_without_a_limit_there_is_always_some():
    memory = FrameMemory(-1)
    assert all(memory.reserve(2**31) for _ in range(1000))


class Taker:
    """A transport that takes so many bytes per call, and says no now and then."""

    def __init__(self, steps):
        self.steps = list(steps)
        self.taken = b""

    def _step(self, data):
        if not self.steps:
            raise BlockingIOError
        count = self.steps.pop(0)
        if not count:
            raise BlockingIOError
        self.taken += data[:count]
        return min(count, len(data))

    def send(self, parts):
        return self._step(b"".join(parts))

    def send_file(self, file, position, size):
        return self._step(file.content[position : position + size]) if position < len(file.content) else 0


class FileInMemory:
    path = "file"
    is_closed = False

    def __init__(self, content):
        self.content = content

    def close(self):
        self.is_closed = True


@pytest.mark.contract("C49")
@pytest.mark.parametrize("steps", [[1000], [1] * 100, [3, 0, 5, 1, 0, 0, 50, 1000], [4, 4, 4, 4, 0, 1000]])
def test_everything_is_sent_in_order(steps):
    content = FileInMemory(b"abcdefghij")
    file = File(content)
    queue = SendQueue()
    queue.add([b"one", bytearray(b"two"), b"", file.range(2, 5), memoryview(b"three"), file.range(0, 0), b"!"])
    file.release()
    assert queue.size_bytes == 17
    taker = Taker([*steps, *[100] * 10])
    while queue:
        queue.flush(taker)
    assert taker.taken == b"onetwocdefgthree!"
    assert queue.size_bytes == 0
    assert content.is_closed


def test_a_file_that_ends_early_is_no_wait():
    content = FileInMemory(b"short")
    queue = SendQueue()
    file = File(content)
    queue.add([file.range(3, 10)])
    file.release()
    with pytest.raises(FileEndedEarly):
        queue.flush(Taker([1000] * 5))
    queue.release()
    assert content.is_closed


def test_one_flush_is_bounded():
    queue = SendQueue()
    queue.add([bytes(MB) for _ in range(10)])
    step = 64 * 1024
    sent = queue.flush(Taker([step] * 200))
    assert SEND_BYTES_MAX <= sent < SEND_BYTES_MAX + step
    assert queue.size_bytes == 10 * MB - sent


def test_a_megabyte_of_a_file_and_what_is_around_it_go_out_in_one_flush():
    queue = SendQueue()
    file = File(FileInMemory(bytes(MB)))
    queue.add([bytes(70), file.range(0, MB), bytes(3)])
    file.release()
    assert queue.flush(Taker([MB] * 5)) == MB + 73
    assert not queue
