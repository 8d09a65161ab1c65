"""Which signals stop a server cleanly.

SIGTERM and SIGINT (Ctrl-C) always do. SIGHUP says that the terminal is gone, so it stops a server that has one: the
default, which is to die on the spot, would leave every log to be recovered. Two kinds of server go on instead:

    nohup           whoever started it has had SIGHUP ignored, and it stays ignored
    no terminal     a service manager's, a daemon's, a container's: there is nothing that could hang up, and SIGHUP is
                    what tools send to servers to have a file opened or read again, never to end them
"""

import os
import signal

_TERMINAL = "/dev/tty"  # opens for a process that has a controlling terminal, whatever its standard streams are


def stop_signals() -> tuple[signal.Signals, ...]:
    """Asked once, at the start: by the time that SIGHUP arrives there is no terminal any more."""
    always = (signal.SIGTERM, signal.SIGINT)
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return always if is_ignored or not _has_terminal() else (*always, signal.SIGHUP)


def _has_terminal() -> bool:
    try:
        os.close(os.open(_TERMINAL, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
