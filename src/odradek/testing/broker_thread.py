"""A broker in a thread of this process, for notebooks and debuggers: one thread, one loop, ports of its own."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from odradek.broker.raft_server import KafkaRaftServer, StartRefused
from odradek.cli.failure import Failure
from odradek.cli.server_process import ServerOptions
from odradek.protocol.errors import KafkaError
from odradek.protocol.json_value import JsonObject
from odradek.reactor.adapters import system_ports
from odradek.reactor.adapters.log_writer import LogWriter
from odradek.reactor.adapters.tls import tls_context
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.testing.broker_error import BrokerError
from odradek.testing.control import Control
from odradek.testing.start_options import parse

STOP_S_MAX = 20.0
ANSWER_S_MAX = 30.0

Outcome = tuple[object, BrokerError | None]  # what a command returned, of its own type, or why it failed


class BrokerThread:
    """Ready when it is made; BrokerError with the broker's own line if it does not start."""

    __slots__ = (
        "_control",
        "_door",
        "_is_closed",
        "_log_fd",
        "_loop",
        "_reason",
        "_server",
        "_thread",
        "_writer",
        "bootstrap",
        "cluster_id",
    )

    def __init__(self, arguments: Sequence[str], *, is_temporary: bool, start_s_max: float) -> None:
        options = _parsed(arguments)
        self._control = Control()
        self._reason: str | None = None
        self._door = Lock()  # the loop must not close while somebody wakes it: the descriptor may be another's by then
        self._is_closed = False
        self._log_fd = _opened_log(options.log)
        self._writer = LogWriter([] if self._log_fd is None else [self._log_fd])
        self._loop = Loop(system_ports(), on_error=self._unexpected, on_slow_turn=self._slow_turn)
        self._server = self._control.server = self._make_server(options)
        ready: SimpleQueue[Outcome] = SimpleQueue()
        self._thread = Thread(target=self._run, args=[ready], name="odradek-broker", daemon=True)
        self._thread.start()
        try:
            _outcome(ready, start_s_max, "the broker was not ready")
        except BaseException:
            self.stop()
            raise
        self.bootstrap = self._server.bootstrap
        self.cluster_id = self._server.cluster_id

    def _make_server(self, options: ServerOptions) -> KafkaRaftServer:
        return KafkaRaftServer(
            self._loop,
            options.properties,
            release=options.release,
            formats_fresh_dirs=True,
            host_name=lambda: os.uname().nodename or "localhost",
            sink=self._writer.write,
            on_fatal=self._give_up,
            tls=tls_context,
            faults=self._control.faults,
        )

    # On its thread

    def _run(self, ready: "SimpleQueue[Outcome]") -> None:
        try:
            self._loop.run_until(self._loop.spawn(self._server.start()))
        except StartRefused as refused:
            ready.put((None, BrokerError(f"the broker did not start: {refused}")))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the start must hear of its end
            ready.put((None, BrokerError(f"the broker did not start: {error!r}")))
        else:
            ready.put((None, None))
            self._loop.run_until(self._server.stopped)
        finally:
            self._loop.ports.executor.close()
            with self._door:
                self._is_closed = True
                self._loop.close()
            self._writer.close()
            if self._log_fd is not None:
                os.close(self._log_fd)

    def _give_up(self, reason: str) -> None:
        self._reason = reason
        self._loop.spawn(self._server.stop())

    def _unexpected(self, error: BaseException, source: object) -> None:
        self._server.unexpected(error, source)

    def _slow_turn(self, took_ms: int, slowest: object) -> None:
        self._server.slow_turn(took_ms, slowest)

    # From the test's thread

    @property
    def pid(self) -> int:
        return os.getpid()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def errors(self) -> str:
        """Why it gave up, if it did."""
        return self._reason or ""

    def ask(self, command: str, **values: object) -> object:
        answered: SimpleQueue[Outcome] = SimpleQueue()
        self._post(lambda: self._answer(command, values, answered))
        return _outcome(answered, ANSWER_S_MAX, "the broker does not answer: it took too long")

    def _answer(self, command: str, values: JsonObject, answered: "SimpleQueue[Outcome]") -> None:
        answering = self._loop.spawn(self._control.answer(command, values))
        answering.when_done(lambda done: answered.put(_outcome_of(done)))

    def _post(self, action: Callable[[], object]) -> None:
        """Has the broker's thread do it: its queue of callbacks takes one from any thread."""
        with self._door:
            if self._is_closed:
                raise BrokerError("the broker is gone")
            self._loop.soon(lambda _: action())
            self._loop.wake()

    def stop(self) -> None:
        with suppress(BrokerError):  # it has ended already
            self._post(lambda: self._loop.spawn(self._server.stop()))
        self._thread.join(STOP_S_MAX)
        if self.is_running:
            raise BrokerError(f"the broker did not stop within {STOP_S_MAX:g} s")

    def kill(self) -> None:
        raise BrokerError("a thread cannot be killed: use a broker in a process of its own (thread=False)")


def _parsed(arguments: Sequence[str]) -> ServerOptions:
    try:
        return parse(arguments)
    except Failure as failure:
        raise BrokerError(f"the broker did not start: {failure}") from None


def _opened_log(path: str | None) -> int | None:
    """Without a file there is no log: the standard error of a notebook may have no descriptor."""
    if path is None:
        return None
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BrokerError(f"the broker did not start: --log {path}: {error.strerror}") from None


def _outcome_of(done: Pending[object]) -> Outcome:
    error = done.error
    if error is None:
        return done.value(), None
    told = f"{error.name}: {error.message}" if isinstance(error, KafkaError) else repr(error)
    return None, BrokerError(told)


def _outcome(outcomes: "SimpleQueue[Outcome]", seconds: float, otherwise: str) -> object:
    try:
        value, error = outcomes.get(timeout=seconds)
    except Empty:
        raise BrokerError(f"{otherwise} within {seconds:g} s") from None
    if error is not None:
        raise error
    return value
