"""A broker in a process of its own, started as a user starts it, for the length of a test."""

import contextlib
import os
import select
import signal
import sys
import time

import outside

READY_S_MAX = 20
STOP_S_MAX = 20


@contextlib.contextmanager
def broker(release="4.3", properties=None, config=None, data=None, ends="SIGTERM"):
    """Yields (host, port). Its data is gone afterwards unless `data` is a dir, which may have been formatted at any
    release. An unexpected error in its log fails the test. `ends`: with which signal."""
    command = [sys.executable, "-m", "odradek", "start"]
    command += ["--ephemeral"] if data is None else ["--data", str(data)]
    command += [] if release is None else ["--release-version", release]
    command += ["--config", str(config)] if config else ["--listen", "127.0.0.1:0"]
    for name, value in (properties or {}).items():
        command += ["--override", f"{name}={value}"]
    process = outside.Program(command, stdout=outside.PIPE, stderr=outside.PIPE, text=True)
    with process:
        try:
            yield _address(_ready_line(process))
        finally:
            process.send_signal(signal.Signals[ends])
            log = process.communicate(timeout=STOP_S_MAX)[1]
    assert "Traceback" not in log, log[-5000:]
    assert process.returncode == (0 if ends == "SIGTERM" else -signal.Signals[ends]), log[-5000:]


def _ready_line(process):
    deadline = time.monotonic() + READY_S_MAX
    output = process.stdout.fileno()
    os.set_blocking(output, False)
    text = ""
    while time.monotonic() < deadline:
        if select.select([output], [], [], 0.1)[0]:
            chunk = os.read(output, 65536).decode()
            text += chunk
            for line in text.splitlines():
                if line.startswith("odradek ready:"):
                    return line
            if not chunk:
                break
    process.kill()
    raise AssertionError(f"the broker did not start: {text}{process.communicate()[1]}")


def _address(line):
    bootstrap = next(word for word in line.split() if word.startswith("bootstrap="))
    host, _, port = bootstrap.partition("=")[2].partition(",")[0].rpartition(":")
    return host, int(port)
