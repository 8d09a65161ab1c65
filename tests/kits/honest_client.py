"""A client that does nothing wrong, in a process of its own: 1,000 small produce requests a second, each one timed.

Time counts from the moment at which a request was due, not from when it could be sent: a broker that stalls for 100 ms
is charged for all the requests that were due meanwhile.

    with HonestClient(address, topic) as honest:
        before = honest.during(seconds=2)      # a Latency of everything that was due meanwhile
"""

import json
import selectors
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # it is run as a program, too

import outside
from hostile_peers import batch, frame, produce_request

RATE = 1000
CONNECTIONS = 4
SECONDS_MAX = 60


class Latency:
    def __init__(self, milliseconds):
        self.values = sorted(milliseconds)

    def at(self, share):
        return self.values[min(len(self.values) - 1, int(share * len(self.values)))] if self.values else float("nan")

    def __str__(self):
        return (
            f"p50 {self.at(0.5):.2f}  p99 {self.at(0.99):.2f}  max {self.at(1):.1f} ms  ({len(self.values)} requests)"
        )


class HonestClient:
    def __init__(self, address, topic, rate=RATE):
        command = [sys.executable, __file__, address[0], str(address[1]), topic, str(rate)]
        streams = {"stdin": outside.PIPE, "stdout": outside.PIPE, "text": True}
        self._process = outside.Program(command, **streams)
        self.mark()

    def mark(self):
        """What was due since the mark before, answered all."""
        self._process.stdin.write("mark\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the honest client was refused"
        return Latency(json.loads(line))

    def during(self, work=None, seconds=0):
        """The latencies while `work` runs, and what it returned; without it, for so many seconds."""
        self.mark()
        if work is None:
            time.sleep(seconds)
            return self.mark()
        result = work()
        return self.mark(), result

    def __enter__(self):
        return self

    def __exit__(self, *error):
        with self._process:
            self._process.stdin.close()
            self._process.wait(SECONDS_MAX)


class Connection:
    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = []
        self._received = b""

    def answered(self):
        """The times at which the requests were due whose answers have come."""
        data = self.socket.recv(1 << 16)
        assert data, "an honest client was disconnected"
        self._received += data
        done = 0
        while len(self._received) >= 4:
            end = 4 + struct.unpack_from(">i", self._received)[0]
            if len(self._received) < end:
                break
            self._received = self._received[end:]
            done += 1
        times, self.due = self.due[:done], self.due[done:]
        return times


def main(host, port, topic, rate):
    request = frame(produce_request(topic, batch(b"v" * 100)), 9)
    connections = [Connection((host, int(port))) for _ in range(CONNECTIONS)]
    selector = selectors.DefaultSelector()
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    selector.register(sys.stdin, selectors.EVENT_READ, None)
    step = 1 / int(rate)
    next_due = time.monotonic()
    taken, sent = [], 0
    while True:
        now = time.monotonic()
        while next_due <= now:
            connection = connections[sent % CONNECTIONS]
            connection.due.append(next_due)
            connection.socket.sendall(request)
            sent += 1
            next_due += step
        for key, _ in selector.select(max(0, next_due - time.monotonic())):
            if key.data is not None:
                now = time.monotonic()
                taken += [(now - due) * 1000 for due in key.data.answered()]
            elif not sys.stdin.readline():
                return
            else:
                taken = hand_over(taken, connections)
                next_due = time.monotonic()
                break  # the other events are of answers that were just taken


def hand_over(taken, connections):
    """Writes what was measured, what is on its way included."""
    for connection in connections:
        while connection.due:
            times = connection.answered()
            taken += [(time.monotonic() - due) * 1000 for due in times]
    sys.stdout.write(json.dumps(taken) + "\n")
    sys.stdout.flush()
    return []


if __name__ == "__main__":
    main(*sys.argv[1:])
