"""Programs from outside: each in a process group of its own, with a deadline, and ended as a whole.

A program starts others: a script its Java, a client its kcat. If it alone is killed they live on, and keep the pipes
open that somebody reads to their end. So whatever a program has started ends with it: when it ends by itself, when its
time is up, and when the test is done with it.

    done = run(["kcat", "-L", "-b", address], seconds=10)      # waits; done.stdout is text
    with Program(["java", "-cp", jars, "Members"], seconds=300, stdout=PIPE) as java:    # a Popen
        ...
"""

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT

__all__ = [
    "DEVNULL",
    "PIPE",
    "STDOUT",
    "Overdue",
    "Program",
    "Session",
    "is_alive",
    "processes_of_session",
    "run",
    "said",
]

RUN_SECONDS_MAX = 300
PROGRAM_SECONDS_MAX = 1800  # longer than what uses one program together may take: it is for what nobody ends
LAST_WORDS_CHARACTERS_MAX = 2000
ESCAPED_SECONDS_MAX = 10  # how long a pipe may stay open in the hands of one that has left the group
SWEEPS_MAX = 500
SESSION_FIELD = 3  # of /proc/PID/stat behind the name: state, parent, group, session


class Overdue(AssertionError):  # noqa: N818 - it says what happened
    """A program that did not end in time, and its last words."""


class Program(subprocess.Popen):
    """A Popen in a process group of its own; `kill` and the end of a `with` end the group.

    `seconds`: after so many it is killed. `is_outlived`: it leaves something running in its group when it ends, which
    the end of the `with` ends.
    """

    def __init__(self, command, *, seconds=PROGRAM_SECONDS_MAX, is_outlived=False, **options):
        options.setdefault("stdin", DEVNULL)
        super().__init__(command, **self._apart(), **options)
        self.is_overdue = False
        self._is_outlived = is_outlived
        watch = threading.Thread(target=self._watch, args=(os.pidfd_open(self.pid), seconds), daemon=True)
        watch.start()

    def _apart(self):
        return {"process_group": 0}

    def _watch(self, process, seconds):
        """Until it ends or its time is up. Readers of its pipes then see their end, whoever has them open."""
        waiting = select.poll()
        waiting.register(process, select.POLLIN)
        has_ended = bool(waiting.poll(seconds * 1000))
        os.close(process)
        self.is_overdue = not has_ended
        if self.is_overdue or not self._is_outlived:
            self._end_all()

    def _end_all(self):
        with contextlib.suppress(ProcessLookupError):  # there is nobody left
            os.killpg(self.pid, signal.SIGKILL)

    def kill(self):
        self._end_all()

    def __exit__(self, *error):
        self.kill()
        super().__exit__(*error)


class Session(Program):
    """A program in a session of its own, with which the groups end that are made inside it, too."""

    def _apart(self):
        return {"start_new_session": True}

    def _end_all(self):
        for _ in range(SWEEPS_MAX):  # again for what was started meanwhile
            there = processes_of_session(self.pid)
            for pid in there:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not there:
                return
            time.sleep(0.01)


def processes_of_session(session):
    """Those that still run; a zombie does not."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            state, *fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[SESSION_FIELD - 1]) == session and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


def is_alive(pid):
    """A zombie is not: nobody may have asked for its status yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def run(command, *, seconds=RUN_SECONDS_MAX, input=None, check=False, **options):  # noqa: A002 - as subprocess calls it
    """A CompletedProcess with its output as text, unless `options` want it otherwise; `Overdue` if it does not end.
    With `check`, a status other than 0 is an AssertionError that shows what it said."""
    command = [os.fspath(part) for part in command]
    options = {"stdout": PIPE, "stderr": PIPE, "text": True, "errors": "replace", **options}
    if not options["text"]:
        del options["errors"]
    if input is not None:
        options["stdin"] = PIPE
    with Program(command, seconds=seconds, **options) as program:
        out, err = _heard(program, input, seconds + ESCAPED_SECONDS_MAX)
    if program.is_overdue:
        raise Overdue(f"{_shown(command)} did not end within {seconds:g} s and was killed. {said(out, err)}")
    if check:
        assert program.returncode == 0, f"{_shown(command)} ended with status {program.returncode}. {said(out, err)}"
    return subprocess.CompletedProcess(command, program.returncode, out, err)


def _heard(program, words, seconds):
    try:
        return program.communicate(words, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        raise Overdue(f"{_shown(program.args)} has left a process behind that holds its output open") from late


def _shown(command):
    first, *rest = command
    return " ".join([Path(first).name, *rest])[:200]


def said(*outputs):
    """The last words of each output that has any."""
    texts = [out.decode(errors="replace") if isinstance(out, bytes) else out for out in outputs if out]
    return "It said last: " + "\n".join(text[-LAST_WORDS_CHARACTERS_MAX:] for text in texts) if texts else ""
