"""Which signals stop a server cleanly.

SIGTERM and SIGINT (Ctrl-C) always do. SIGHUP says that the terminal is gone, so it stops a server that has one: the
default, which is to die on the spot, would leave every log to be recovered. Two kinds of server go on instead:

    nohup           whoever started it has had SIGHUP ignored, and it stays ignored
    no terminal     a service manager's, a daemon's, a container's: there is nothing that could hang up, and SIGHUP is
                    what tools send to servers to have a file opened or read again, never to end them

When a terminal closes, the kernel sends SIGHUP to the leader of its session alone, and to the others in the foreground
when the leader has ended. A shell ends and all is well; `make`, where it is the terminal's own command, waits for its
children, and so for a server that nobody has told. Hence a server in its leader's group watches the terminal itself.
Under a shell with job control it is in a group of its own: there the shell decides what becomes of it (`disown`).
"""

import os
import select
import signal
from collections.abc import Callable

from odradek.reactor.loop import Loop
from odradek.reactor.ports import READABLE

_TERMINAL = "/dev/tty"  # opens for a process that has a controlling terminal, whatever its standard streams are


def stop_signals() -> tuple[signal.Signals, ...]:
    """Asked once, at the start: by the time that SIGHUP arrives there is no terminal any more."""
    always = (signal.SIGTERM, signal.SIGINT)
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return always if is_ignored or not _has_terminal() else (*always, signal.SIGHUP)


def _has_terminal() -> bool:
    terminal = _open_terminal()
    if terminal is not None:
        os.close(terminal)
    return terminal is not None


def _open_terminal() -> int | None:
    try:
        return os.open(_TERMINAL, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None


def watch_terminal(loop: Loop, on_hangup: Callable[[], None]) -> None:
    """For a server that SIGHUP stops, and that waits in vain for it if its leader does not end."""
    if os.getsid(0) == os.getpid() or os.getsid(0) != os.getpgrp():
        return
    terminal = _open_terminal()
    if terminal is None:
        return
    hangup = select.epoll()  # of the terminal, this one tells nothing else: what is typed is not for us
    hangup.register(terminal, 0)

    def hung_up(_: int) -> None:
        loop.unregister(hangup)
        hangup.close()
        os.close(terminal)
        on_hangup()

    loop.register(hangup, READABLE, hung_up)
