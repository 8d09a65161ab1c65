"""A real broker for the length of a test: the one that `odradek start` runs, in a child process or in a thread.

It never outlives its owner. A clean end of the program stops it; a child process also notices by itself that its parent
has died, and removes its temporary data. It belongs to the process that started it: in a fork of that process every
call that would stop or change it does nothing or is refused.
"""

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from typing import Any, Protocol, Self

from odradek.testing.broker_error import BrokerError
from odradek.testing.faults import Faults
from odradek.testing.start_options import start_arguments

START_S_MAX = 30.0
_ADDRESSES = frozenset(["listeners", "advertised.listeners"])


class _Running(Protocol):
    bootstrap: str
    cluster_id: str

    @property
    def pid(self) -> int: ...
    @property
    def is_running(self) -> bool: ...
    def errors(self) -> str: ...
    def ask(self, command: str, **values: object) -> Any: ...  # Any: what the command of `control.py` returns
    def stop(self) -> None: ...
    def kill(self) -> None: ...


class Broker:
    """
    with Broker(config={"num.partitions": 3}) as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)

    `release`: what a fresh data dir is formatted at, "3.3" or "4.3" (which it is unless given).
    `data`: a dir to keep; without it, a temporary one that is gone at the end.
    `listen`: HOST:PORT, port 0 is any free one. It keeps the port that it got when it is started again.
    `config`: Kafka's broker configs. `log`: a file for the server log.
    `thread`: run it in a thread of this process.
    """

    def __init__(
        self,
        release: str | None = None,
        data: str | os.PathLike[str] | None = None,
        listen: str = "127.0.0.1:0",
        config: Mapping[str, object] | None = None,
        *,
        thread: bool = False,
        log: str | os.PathLike[str] | None = None,
        start_s_max: float = START_S_MAX,
    ) -> None:
        self._release = None if release is None else _release(release)
        self._given_data = None if data is None else _dir(data)
        self._temporary: str | None = None
        self._listen = str(listen)
        self._config = _checked(config)
        self._is_thread = thread
        self._log = None if log is None else os.path.abspath(log)
        self._start_s_max = start_s_max
        self._running: _Running | None = None
        self._owner: int | None = None  # the process that started it
        self.faults = Faults(self._ask)

    def __repr__(self) -> str:
        return f"<Broker {self.bootstrap}>" if self._running is not None else "<Broker, not running>"

    # Start and stop

    def start(self) -> Self:
        """Returns when it serves; BrokerError says in the broker's own words why it does not."""
        if self._running is not None:
            raise BrokerError("the broker runs already")
        self._owner = os.getpid()
        is_fresh = self._given_data is None and self._temporary is None
        if is_fresh:
            self._temporary = tempfile.mkdtemp(prefix="odradek-")
        atexit.register(self.stop)
        try:
            self._running = self._run()
        except BaseException:
            if is_fresh:
                self.stop()
            raise
        self._keep_port()
        self._warn()
        return self

    def _warn(self) -> None:
        """Kafka goes on when it meets a config that it does not know, and warns; so do we, where the test shows it."""
        for warning in self._ask("config_warnings") if self._config else ():
            warnings.warn(f"config: {warning}", stacklevel=3)

    def _keep_port(self) -> None:
        """For the next start. Where a config says what is advertised, that may be anything: the flag stays as it is."""
        host, _, port = self._listen.rpartition(":")
        if port == "0" and not _ADDRESSES & self._config.keys():
            self._listen = f"{host}:{self.port}"

    def _run(self) -> _Running:
        arguments = start_arguments(
            release=self._release, data=self.data, listen=self._listen, config=self._config, log=self._log
        )
        is_temporary = self._temporary is not None
        if self._is_thread:
            from odradek.testing.broker_thread import BrokerThread

            return BrokerThread(arguments, is_temporary=is_temporary, start_s_max=self._start_s_max)
        from odradek.testing.child_process import ChildProcess

        return ChildProcess(arguments, is_temporary=is_temporary, start_s_max=self._start_s_max)

    def stop(self) -> None:
        """A clean stop; temporary data is removed. Does nothing if it does not run, or in a fork of its owner."""
        if self._owner != os.getpid():
            return
        atexit.unregister(self.stop)
        running, self._running = self._running, None
        try:
            if running is not None:
                running.stop()
        finally:
            self._remove_temporary()

    def _remove_temporary(self) -> None:
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)

    def restart(self, config: Mapping[str, object] | None = None) -> Self:
        """A clean stop and a start on the same port and data, with these configs on top. Faults are gone."""
        self._owned().stop()
        self._running = None
        self._config.update(_checked(config))
        return self.start()

    def kill(self) -> None:
        """kill -9. The data stays: `start` has it recover, on the same port; `stop` removes it if it is temporary."""
        self._owned().kill()
        self._running = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    # What it is

    @property
    def bootstrap(self) -> str:
        """HOST:PORT, for a client's bootstrap.servers."""
        return self._there().bootstrap

    @property
    def host(self) -> str:
        return self.bootstrap.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.bootstrap.rpartition(":")[2])

    @property
    def data(self) -> str:
        """The data dir."""
        data = self._given_data or self._temporary
        if data is None:
            raise BrokerError("the broker has no data dir before it is started")
        return data

    @property
    def cluster_id(self) -> str:
        return self._there().cluster_id

    @property
    def pid(self) -> int:
        """The process that it runs in."""
        return self._there().pid

    @property
    def is_running(self) -> bool:
        return self._running is not None and self._running.is_running

    def errors(self) -> str:
        """What it has said on standard error so far; empty if all is well."""
        return self._there().errors()

    # Without a client

    def create_topic(self, name: str, partitions: int = -1, config: Mapping[str, object] | None = None) -> None:
        """Returns when the topic can be written and read. -1 partitions are as many as `num.partitions` says."""
        configs = {key: str(value) for key, value in (config or {}).items()}
        self._ask("create_topic", name=name, partitions=partitions, config=configs)

    def delete_topic(self, name: str) -> None:
        self._ask("delete_topic", name=name)

    def _ask(self, command: str, **values: object) -> Any:  # Any: likewise
        return self._owned().ask(command, **values)

    def _there(self) -> _Running:
        if self._running is None:
            raise BrokerError("the broker does not run: use `with`, or call start()")
        return self._running

    def _owned(self) -> _Running:
        running = self._there()
        if self._owner != os.getpid():
            raise BrokerError(f"the broker belongs to process {self._owner}; this is a fork of it")
        return running


def _release(release: object) -> str:
    from odradek.config.definition import RELEASES  # most tests name none

    if str(release) not in RELEASES:
        raise ValueError(f"release is one of {', '.join(RELEASES)}, not {release!r}")
    return str(release)


def _dir(data: str | os.PathLike[str]) -> str:
    if not os.fspath(data).strip():
        raise ValueError("data names no dir; leave it out for a temporary one")
    return os.path.abspath(data)


def _checked(config: Mapping[str, object] | None) -> dict[str, object]:
    if config is not None and not isinstance(config, Mapping):
        raise TypeError(f"config is a dict of Kafka's broker configs, not {config!r}")
    return dict(config or {})
