"""A client's process with members of groups and copiers in it (`python/members.py`): told, heard, paused, killed."""

import signal
import threading
import time

import outside

PATIENCE_S = 60


class MemberProcess:
    """What its members say is kept in order, by name."""

    def __init__(self, command, bootstrap, log):
        self._log = log
        with open(log, "ab") as complaints:
            self._process = outside.Program(
                [*command, bootstrap], stdin=outside.PIPE, stdout=outside.PIPE, stderr=complaints, text=True
            )
        self._said = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self._process.stdout:
            name, *words = line.rstrip("\n").split("\t")
            self._said.setdefault(name, []).append(words)

    def tell(self, verb, name, **options):
        words = [verb, name, *(f"{key}={value}" for key, value in options.items())]
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()

    def said(self, name, what):
        """The rest of every line that begins so."""
        heard = list(self._said.get(name, ()))
        return [words[1:] for words in heard if words[0] == what]

    def wait(self, name, what):
        wait_for(lambda: self.said(name, what) or self.failure(name), lambda: f"{name}: {what}, {self.complaints()}")
        assert self.said(name, what), self.failure(name)
        return self.said(name, what)[-1]

    def failure(self, name):
        return " ".join(word for words in self.said(name, "failed") for word in words)

    def complaints(self):
        return self._log.read_text(errors="replace")[-2000:]

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def kill(self):
        """With SIGKILL: nothing is closed, nobody leaves. It works on one that is paused, too."""
        self._process.kill()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def wait_for(is_reached, what):
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_reached():
        assert time.monotonic() < deadline_s, f"not within {PATIENCE_S} s: {what()}"
        time.sleep(0.05)
