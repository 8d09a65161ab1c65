"""How a broker behaves towards whoever started it: when it stops, what it says, and what it takes for an answer."""

import os
import signal
import subprocess
import sys

import pytest
from broker_process import BrokerProcess
from test_start import answers

# Makes standard input the controlling terminal, as a terminal program does for its shell, and becomes the command.
_IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)


class Started(BrokerProcess):
    """`odradek start` in a session of its own, in a terminal or without one; `before` comes before the command."""

    def __init__(self, data, *before, terminal=None):
        command = [*before, sys.executable, "-m", "odradek", "start", "--listen", "127.0.0.1:0", "--data", str(data)]
        if terminal is not None:
            command = [sys.executable, "-c", _IN_TERMINAL, *command]
        self.started = 0.0
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def rest(self):
        """The exit status, and what it said after the ready line: on standard output and on standard error."""
        output, error = self.process.communicate(timeout=20)
        return self.process.returncode, output.decode(), error.decode()


@pytest.fixture
def terminal():
    """Both ends of one: the one that the user's window holds, and the one that programs do."""
    window, programs = os.openpty()
    yield window, programs
    for fd in (window, programs):
        try:
            os.close(fd)
        except OSError:
            continue  # the test has closed it


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_says_so(tmp_path, number):
    with Started(tmp_path / "data") as broker:
        broker.process.send_signal(number)
        assert broker.rest() == (0, f"odradek stopping: {number.name}\nodradek stopped\n", "")


def test_the_server_log_says_it_in_kafkas_words(tmp_path):
    log = tmp_path / "server.log"
    with BrokerProcess("--data", str(tmp_path / "data"), "--log", str(log)) as broker:
        assert broker.stop() == (0, "")
    assert "] INFO Terminating process due to signal SIGTERM (org.apache.kafka.common.utils." in log.read_text()


def test_a_terminal_that_closes_is_a_clean_stop(tmp_path, terminal):
    window, programs = terminal
    with Started(tmp_path / "data", terminal=programs) as broker:
        os.close(programs)
        os.close(window)
        assert broker.rest() == (0, "odradek stopping: SIGHUP\nodradek stopped\n", "")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_under_nohup_it_outlives_its_terminal(tmp_path, terminal):
    window, programs = terminal
    with Started(tmp_path / "data", "nohup", terminal=programs) as broker:
        os.close(programs)
        os.close(window)
        assert answers(broker.address)
        broker.process.terminate()
        status, said, _ = broker.rest()  # nohup has its own word on standard error
    assert (status, said) == (0, "odradek stopping: SIGTERM\nodradek stopped\n")


def test_without_a_terminal_sighup_is_no_reason_to_stop(tmp_path):
    """A service manager's server, or a daemon: what sends SIGHUP there wants something else than its end."""
    with Started(tmp_path / "data") as broker:
        broker.process.send_signal(signal.SIGHUP)
        assert answers(broker.address)
        broker.process.terminate()
        assert broker.rest() == (0, "odradek stopping: SIGTERM\nodradek stopped\n", "")

