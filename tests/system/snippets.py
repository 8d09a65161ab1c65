"""The snippets of a page, run one after the other as a reader would who follows it from top to bottom.

    sh        a script, run line by line as it stands
    console   `$ command` and below it what it prints; `...` stands for anything
    python    a program, or with `def test_` in it a file of tests for pytest

A server (`odradek start`, `make start`) runs until the next one starts or the page ends; what follows waits until it is
ready. All of a page happens in one empty directory, which is also its home. Ports are free ones in place of the page's,
also in place of the one that `odradek` talks to when it is told none.
A block below `<!-- not run: why -->` is left alone.
"""

import os
import re
import signal
import socket
import sys
from pathlib import Path

import outside

FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]*) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
KINDS = ("sh", "console", "python")
PAGE_PORT = re.compile(r"127\.0\.0\.1:(9\d\d\d)\b")
SERVER = re.compile(r"^(odradek|make) start\b")
SECONDS_MAX = 120


class Snippet:
    """`line` is where it begins on its page."""

    def __init__(self, kind, text, line):
        self.kind = kind
        self.text = text
        self.line = line


def snippets(page):
    """Those that are to be run; any other kind of block is no program."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        if found["kind"] in KINDS and found["why"] is None:
            yield Snippet(found["kind"], found["text"], text.count("\n", 0, found.start("text")))


class Reader:
    """Whoever follows a page; a context manager, so that the servers end."""

    def __init__(self, directory):
        self._directory = directory
        self._ports = {}
        self._server = None
        programs = os.fspath(Path(sys.executable).parent)
        outer = {name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"}
        self._environment = {**outer, "HOME": os.fspath(directory), "PATH": f"{programs}:{os.environ['PATH']}"}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stop_server()

    def follow(self, snippet):
        text = PAGE_PORT.sub(lambda found: f"127.0.0.1:{self._port(found[1])}", snippet.text)
        {"sh": self._script, "console": self._dialogue, "python": self._program}[snippet.kind](text)

    def _port(self, on_page):
        if on_page not in self._ports:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self._ports[on_page] = free.getsockname()[1]
        return self._ports[on_page]

    def _script(self, text):
        lines = []
        for line in text.splitlines():
            if SERVER.match(line):
                self._shell("\n".join(lines))
                self._start_server(line)
                lines = []
            else:
                lines.append(line)
        self._shell("\n".join(lines))

    def _dialogue(self, text):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            printed = self._start_server(command) if SERVER.match(command) else self._shell(command)
            pattern = ".*".join(re.escape(piece) for piece in expected.strip().split("..."))
            assert re.fullmatch(pattern, printed.strip(), re.DOTALL), f"{command}\nprinted\n{printed}"

    def _program(self, text):
        is_test = "def test_" in text
        path = self._directory / ("test_snippet.py" if is_test else "snippet.py")
        path.write_text(text)
        runner = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if is_test else []
        self._run([sys.executable, *runner, path.name])

    def _shell(self, script):
        return self._run(["sh", "-eu", "-c", script]) if script.strip() else ""

    def _run(self, command):
        environment = {**self._environment, "ODRADEK_BOOTSTRAP": f"127.0.0.1:{self._port('9092')}"}
        options = {"cwd": self._directory, "env": environment, "stderr": outside.STDOUT}
        return outside.run(command, seconds=SECONDS_MAX, check=True, **options).stdout

    def _start_server(self, command):
        """The line that it prints when it is ready."""
        self._stop_server()
        command = re.sub(r"^make start", "odradek start", command)
        if "--listen" not in command and "--config" not in command:
            command += f" --listen 127.0.0.1:{self._port('9092')}"
        self._server = outside.Program(
            ["sh", "-c", f"exec {command}"],
            seconds=10 * SECONDS_MAX,
            cwd=self._directory,
            env=self._environment,
            stdout=outside.PIPE,
            text=True,
        )
        line = self._server.stdout.readline()
        assert line.startswith("odradek ready:"), f"{command}: {line}"
        return line

    def _stop_server(self):
        if self._server is not None:
            self._server.send_signal(signal.SIGTERM)
            assert self._server.wait(SECONDS_MAX) == 0
            self._server.stdout.close()
            self._server = None
