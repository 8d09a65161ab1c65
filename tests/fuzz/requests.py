"""A coverage-guided fuzz target over the path of a request: `python tests/fuzz/requests.py CORPUS -max_total_time=60`.

The input is what a hostile peer sends behind the length of a frame; a whole broker on simulated ports answers it. The
invariant: the outcome is a response or a closed connection, at once or later; never another exception, and nothing that
a handler did not expect (the `on_error` of the broker's services, the loop's `on_error`).
"""

import gzip
import json
import struct
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import atheris

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "kits"))

with redirect_stderr(StringIO()), atheris.instrument_imports(include=["odradek"]):  # it names every module
    from broker_kit import SimBroker
    from handler_kit import Peer
    from odradek.handlers import table
    from odradek.handlers.dispatch import Dispatcher
    from odradek.protocol import apis, releases
    from odradek.protocol.errors import PeerProtocolError
    from odradek.reactor.pending import Pending
    from odradek.sim.world import World

DATA = TESTS / "golden" / "data"
WAIT_MS_MAX = 2_000  # of simulated time; a long poll beyond it is given up, as its connection would be
WEARY_AFTER = 2_000  # inputs: topics, configs and ACLs pile up, and a new broker is quicker than an old one


class Target:
    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.broker = SimBroker(World(1)).wait_until_ready()
        self.failures: list[BaseException] = []
        services = self.broker.server.broker.services
        services.on_error = lambda call, error: self.failures.append(error)
        self.dispatcher = Dispatcher(services)
        self.taken = 0

    def take(self, frame: bytes) -> None:
        self.taken += 1
        if self.taken > WEARY_AFTER:
            self.renew()
        peer = Peer()
        try:
            self._serve(peer, bytearray(frame))
        finally:
            peer.close()

    def _serve(self, peer: Peer, buffer: bytearray) -> None:
        try:
            answer = self.dispatcher.serve(peer, memoryview(buffer))
        except PeerProtocolError:
            return
        buffer[:] = b"\xa5" * len(buffer)  # the frame is dead when its handler waits
        if isinstance(answer, Pending):
            answer = self._settled(answer)
        self._check(answer)
        assert not self.failures, self.failures
        assert not self.broker.errors, self.broker.errors

    def _settled(self, parked: "Pending[Any]") -> Any:
        parked.is_observed = True
        self.broker.node.attend()
        if not self.broker.world.run_until(lambda: parked.is_done, WAIT_MS_MAX):
            parked.cancel()
            return None
        try:
            return parked.value()
        except PeerProtocolError:
            return None

    def _check(self, answer: Any) -> None:
        if answer is None:
            return
        size = sum(part.size if hasattr(part, "release") else len(part) for part in answer)
        assert struct.unpack_from(">i", answer[0])[0] == size - 4, "a frame of another length"
        for part in answer:
            if hasattr(part, "release") and not isinstance(part, memoryview):
                part.release()


def header(key: int, version: int) -> bytes:
    tags = b"\0" if apis.by_key(key).request_header_version(version) == 2 else b""
    return struct.pack(">hhih", key, version, 7, -1) + tags


def seeds() -> dict[str, bytes]:
    """A request of every API and version that a 4.3 serves, as Kafka's own classes have written it."""
    found = {}
    for row in rows():
        key, version = row.get("api_key"), row["version"]
        if row["type"] == "request" and version in table.accepted(releases.RELEASE_4_3, releases.BROKER, key):
            name = f"{row['name']}-{version}-{row['variant']}"
            found[name] = header(key, version) + bytes.fromhex(row["hex"])
    return found


def rows() -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / "messages-4.3.0.jsonl.gz", "rt") as file:
        yield from map(json.loads, file)


def main() -> None:
    corpus = Path(next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "fuzz-requests"))
    corpus.mkdir(parents=True, exist_ok=True)
    if not any(corpus.iterdir()):
        for name, data in seeds().items():
            (corpus / name).write_bytes(data)
    target = Target()
    print(f"fuzzing the requests of {len(table.keys(releases.BROKER))} APIs", flush=True)
    atheris.Setup([*sys.argv, "-timeout=30", "-rss_limit_mb=4096", "-max_len=4096", "-verbosity=0"], target.take)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
