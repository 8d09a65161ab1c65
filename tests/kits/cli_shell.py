"""The command line as a user has it: processes with a home of their own, and terminals."""

import contextlib
import json
import os
import pty
import select
import signal
import sys
import time

import outside

SECONDS_MAX = 60
STEP_S_MAX = 30


class Shell:
    """Runs `odradek` with a home of its own, against one broker."""

    def __init__(self, bootstrap, home):
        self.bootstrap = bootstrap
        self.environment = {
            **os.environ,
            "ODRADEK_BOOTSTRAP": bootstrap,
            "XDG_CONFIG_HOME": os.fspath(home),
            "NO_COLOR": "1",
            "TZ": "UTC",
        }
        self.environment.pop("ODRADEK_CONTEXT", None)

    def command(self, *arguments):
        return [sys.executable, "-m", "odradek", *arguments]

    def run(self, *arguments, **options):
        return outside.run(self.command(*arguments), env=self.environment, seconds=SECONDS_MAX, **options)

    def __call__(self, *arguments, **options):
        """What it printed; it has to succeed."""
        return self.run(*arguments, check=True, **options).stdout

    def json(self, *arguments, **options):
        return [json.loads(line) for line in self(*arguments, "--json", **options).splitlines()]

    def refused(self, *arguments, status=1, **options):
        """The one line in which it said why."""
        done = self.run(*arguments, **options)
        assert done.returncode == status, done
        assert done.stderr.count("\n") == 1, done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr.strip()


class Terminal:
    """A command whose output is a terminal."""

    def __init__(self, shell, *arguments):
        self._screen, inner = pty.openpty()
        environment = {**shell.environment, "TERM": "xterm", "COLUMNS": "100", "LINES": "24"}
        environment.pop("NO_COLOR")
        self.process = outside.Program(
            shell.command(*arguments),
            env=environment,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(inner)
        self.text = ""

    def until(self, words, times=1):
        deadline = time.monotonic() + STEP_S_MAX
        while self.text.count(words) < times:
            assert time.monotonic() < deadline, self.text
            ready, _, _ = select.select([self._screen], [], [], 0.5)
            with contextlib.suppress(OSError):
                self.text += os.read(self._screen, 65536).decode() if ready else ""

    def type(self, text):
        os.write(self._screen, text.encode())

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(STEP_S_MAX)

    def close(self):
        self.process.kill()
        self.process.wait(STEP_S_MAX)
        os.close(self._screen)


@contextlib.contextmanager
def terminals(shell):
    """Opens terminals, which are closed at the end."""
    with contextlib.ExitStack() as stack:

        def opened(*arguments):
            screen = Terminal(shell, *arguments)
            stack.callback(screen.close)
            return screen

        yield opened
