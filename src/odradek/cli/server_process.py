"""A server as a process: signals, limits, garbage collection, the log's file, and what its end means.

exit status: 0 after a clean stop (`stop_signals.py` says which signals ask for one), 1 when it could not start or had
to give up, 2 when its config is to blame, always with one line on standard error that says why.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from odradek.cli import garbage
from odradek.cli.failure import Failure
from odradek.cli.output import OutputLost, complain
from odradek.cli.start_log import WAIT_MS_MAX, Sink, StartLog
from odradek.cli.stop_signals import stop_signals, watch_terminal
from odradek.cli.trimming import Trimming
from odradek.reactor.adapters import system_ports
from odradek.reactor.adapters.log_writer import LogWriter
from odradek.reactor.adapters.tls import tls_context
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled

if TYPE_CHECKING:
    from odradek.broker.raft_server import KafkaRaftServer
    from odradek.handlers.faults import Faults

Listen = tuple[str, int]

OPEN_FILES_WANTED = 1 << 20
SWITCH_SECONDS = 0.0005  # how long a job's thread may make the reactor wait after each of its system calls
_WORKERS = 8  # num.io.threads' default, until the config is read
_IN_A_HURRY = 130
_SIGNAL_LOGGER = "org.apache.kafka.common.utils.LoggingSignalHandler"  # Kafka says it under this name


class Attendant(Protocol):
    """Somebody who follows the server from outside and may stop it; see `testing/`."""

    @property
    def faults(self) -> "Faults | None": ...

    def attend(self, loop: Loop, server: "KafkaRaftServer", stop: Callable[[], None]) -> None: ...


class ServerOptions:
    """`announces`: that it is ready and that it stops goes to standard output; else the server log, as with Kafka."""

    __slots__ = ("announces", "attendant", "formats_fresh_dirs", "log", "metrics", "properties", "release")

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        release: str | None = None,
        formats_fresh_dirs: bool = False,
        metrics: Listen | None = None,
        log: str | None = None,
        announces: bool = False,
        attendant: Attendant | None = None,
    ) -> None:
        self.properties = properties
        self.release = release
        self.formats_fresh_dirs = formats_fresh_dirs
        self.metrics = metrics
        self.log = log
        self.announces = announces
        self.attendant = attendant


def run_server(options: ServerOptions) -> int:
    _raise_open_files_limit()
    garbage.begin()
    sys.setswitchinterval(SWITCH_SECONDS)
    writer = LogWriter(*_log_targets(options))
    try:
        return ServerProcess(options, writer).run()
    finally:
        writer.close()


def _log_targets(options: ServerOptions) -> tuple[list[int], str]:
    """Where lines go, and the lowest level that does. Without a log file only what an operator must see is shown."""
    if not options.announces:
        return [sys.stdout.fileno()], "INFO"
    if options.log is None:
        return [sys.stderr.fileno()], "ERROR"
    if options.log == "-":
        return [sys.stderr.fileno()], "TRACE"
    try:
        return [os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)], "TRACE"
    except OSError as error:
        raise Failure(f"--log {options.log}: {error.strerror}") from None


class ServerProcess:
    __slots__ = ("_loop", "_options", "_reason", "_server", "_signals", "_start_log", "_stopping", "_writer")

    def __init__(self, options: ServerOptions, writer: LogWriter) -> None:
        self._options = options
        self._writer = writer
        self._start_log = StartLog(writer.write) if options.announces and options.log is None else None
        self._reason: str | None = None  # why it gives up
        self._signals = 0
        self._stopping: Pending[None] | None = None
        self._loop = Loop(system_ports(threads=_WORKERS), on_error=self._unexpected, on_slow_turn=self._slow_turn)
        self._server: KafkaRaftServer | None = None

    def run(self) -> int:
        stopping = stop_signals()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # unless it is one of those
        for number in stopping:
            signal.signal(number, self._asked_to_stop)
        if signal.SIGHUP in stopping:
            watch_terminal(self._loop, lambda: self._stop_at(signal.SIGHUP.name))
        try:
            return self._run()
        finally:
            self._loop.ports.executor.close()
            self._loop.close()

    def _run(self) -> int:
        from odradek.broker.raft_server import BadConfig, KafkaRaftServer, StartRefused

        options = self._options
        try:
            server = self._server = KafkaRaftServer(
                self._loop,
                options.properties,
                release=options.release,
                formats_fresh_dirs=options.formats_fresh_dirs,
                metrics_listen=options.metrics,
                host_name=_host_name,
                sink=self._sink(),
                on_fatal=self._give_up,
                on_wait=self._show_wait,
                tls=tls_context,
                faults=None if options.attendant is None else options.attendant.faults,
            )
            if options.attendant is not None:
                options.attendant.attend(self._loop, server, self._stop)
            self._loop.after(WAIT_MS_MAX, self._show_log)
            self._loop.run_until(self._loop.spawn(server.start()))
        except StartRefused as refused:
            self._warn()
            complain(refused)
            return 2 if isinstance(refused, BadConfig) else 1
        except Cancelled:
            if self._reason is None:
                self._show_log()  # asked to stop before it was up; else it gave up, and says so at its end
        else:
            self._show_log()
            self._warn()
            self._announce(server)
            collector = garbage.start_collector(self._loop)
            Trimming(self._loop, collect=collector.collect).look_later()
            self._loop.run_until(server.stopped)
        return self._ended()

    def _sink(self) -> Sink:
        return self._writer.write if self._start_log is None else self._start_log.write

    def _show_log(self) -> None:
        if self._start_log is not None:
            self._start_log.let_go()

    def _warn(self) -> None:
        """Whoever mistypes a config should see it; a log on the terminal has said it already."""
        if self._server is not None and self._options.announces and self._options.log != "-":
            for warning in self._server.config_warnings:
                complain(f"warning: {warning}")

    def _show_wait(self, line: str) -> None:
        """A start that takes long says why where its ready line is waited for; a log on the terminal has said it."""
        if self._options.announces and self._options.log != "-":
            complain(line)

    def _announce(self, server: "KafkaRaftServer") -> None:
        if not self._options.announces or self._stopping is not None:
            return
        dirs = ",".join(server.log_dirs)
        metrics = "" if server.metrics_address is None else f" metrics={server.metrics_address}"
        try:
            print(
                f"odradek ready: bootstrap={server.bootstrap} cluster={server.cluster_id}{metrics} data={dirs}",
                flush=True,
            )
        except OutputLost as lost:  # whoever does not want to know that it serves may still be its client
            complain(f"warning: {lost}")

    def _ended(self) -> int:
        if self._stopping is not None:
            self._loop.run_until(self._stopping)
        if self._reason is not None:
            complain(self._reason)
            return 1
        return self._stopped([] if self._server is None else self._server.unclosed)

    def _stopped(self, unclosed: Sequence[str]) -> int:
        """It was asked to stop, and could do so cleanly unless there are lines about what was in the way."""
        if not unclosed:
            self._say("odradek stopped")
            return 0
        self._say("odradek stopped, but not cleanly: the next start has something to recover")
        if not self._logs_to_standard_error:  # where the server log has said it
            for line in unclosed:
                complain(line)
        return 1

    @property
    def _logs_to_standard_error(self) -> bool:
        return self._options.announces and self._options.log in (None, "-")

    def _say(self, line: str) -> None:
        """Beside the ready line. Whoever does not read it any more, or has closed the terminal, has seen enough."""
        if self._options.announces:
            with suppress(OutputLost):
                print(line, flush=True)

    # What comes from outside, or out of the depths

    def _asked_to_stop(self, number: int, frame: object) -> None:
        """A signal's handler: between any two steps of the loop, so it only leaves word."""
        self._signals += 1
        if self._signals > 2:
            os._exit(_IN_A_HURRY)  # it was said three times
        self._loop.soon(lambda _: self._stop_at(signal.Signals(number).name))
        self._loop.wake()

    def _stop_at(self, signal_name: str) -> None:
        if self._stopping is None and self._server is not None:
            self._say(f"odradek stopping: {signal_name}")
            self._server.log.logger(_SIGNAL_LOGGER).info(f"Terminating process due to signal {signal_name}")
        self._stop()

    def _give_up(self, reason: str) -> None:
        """Nothing can be saved by going on: the dir with the metadata log has failed, or all dirs have."""
        if self._reason is None:
            self._reason = reason
            self._stop()

    def _stop(self) -> None:
        if self._stopping is None and self._server is not None:
            self._stopping = self._loop.spawn(self._server.stop())

    def _unexpected(self, error: BaseException, source: object) -> None:
        if self._server is not None:
            self._server.unexpected(error, source)

    def _slow_turn(self, took_ms: int, slowest: object) -> None:
        if self._server is not None:
            self._server.slow_turn(took_ms, slowest)


def _raise_open_files_limit() -> None:
    """A broker needs a descriptor per connection and per open segment; the usual soft limit is 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_WANTED)
    if soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _host_name() -> str:
    """What clients are told where the config names no host."""
    return os.uname().nodename or "localhost"
