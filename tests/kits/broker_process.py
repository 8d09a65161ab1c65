"""A real broker as a child process: started, waited for, stopped, killed."""

import os
import re
import select
import signal
import sys
import time
from pathlib import Path

import outside

ROOT = Path(__file__).parents[2]
READY = re.compile(
    r"odradek ready: bootstrap=(?P<bootstrap>\S+) cluster=(?P<cluster>\S+)"
    r"( metrics=(?P<metrics>\S+))? data=(?P<data>.+)\n"
)
STILL_STARTING = "odradek: still starting: "
START_SECONDS_MAX = 20
STOP_SECONDS_MAX = 20


class BrokerProcess:
    """`odradek start ARGUMENTS`; any free port unless they say otherwise."""

    def __init__(self, *arguments, listen="127.0.0.1:0"):
        command = [sys.executable, "-m", "odradek", "start", *arguments]
        if listen is not None:
            command += ["--listen", listen]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self.started = time.monotonic()
        self.process = outside.Program(command, stdout=outside.PIPE, stderr=outside.PIPE, env=environment)
        self.ready_seconds = None
        self.bootstrap = self.cluster = self.metrics = self.data = None

    def wait_until_ready(self):
        line = self._line(START_SECONDS_MAX)
        found = READY.fullmatch(line)
        assert found, f"no ready line but {line!r}; stderr: {self._rest_of_stderr()}"
        self.ready_seconds = time.monotonic() - self.started
        self.bootstrap, self.cluster, self.data = found["bootstrap"], found["cluster"], found["data"]
        self.metrics = found["metrics"]
        return self

    @property
    def address(self):
        host, port = self.bootstrap.rsplit(":", 1)
        return host, int(port)

    def stop(self, number=signal.SIGTERM):
        """The exit status, with what was said on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self):
        _, error = self.process.communicate(timeout=STOP_SECONDS_MAX)
        lines = error.decode().splitlines(keepends=True)
        # on a busy machine any start may take longer than usual, and says so
        return self.process.returncode, "".join(line for line in lines if not line.startswith(STILL_STARTING))

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def resident_bytes(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def cpu_seconds(self):
        """Of all its threads, up to now."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _line(self, seconds):
        """One line of its standard output, or what there is of it when it ends."""
        fd = self.process.stdout.fileno()
        deadline = time.monotonic() + seconds
        line = b""
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            assert left > 0, f"it was not ready within {seconds} s"
            if select.select([fd], [], [], left)[0]:
                byte = os.read(fd, 1)
                if not byte:
                    break
                line += byte
        return line.decode()

    def _rest_of_stderr(self):
        self.process.kill()
        return self.process.communicate()[1].decode()

    def __enter__(self):
        return self.wait_until_ready()

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.kill()
