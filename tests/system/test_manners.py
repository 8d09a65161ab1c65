"""How a broker behaves towards whoever started it: when it stops, what it says, and what it takes for an answer."""

import os
import shlex
import signal
import sys

import pytest
from test_start import answers, refused

import outside
from broker_process import ROOT, BrokerProcess

# Makes standard input the controlling terminal, as a terminal program does for its shell, and becomes the command.
_IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)


class Started(BrokerProcess):
    """`odradek start` in a session of its own, in a terminal or without one; `before` comes before the command.

    With `makefile` it is the recipe of a file that is written there, and `make` is the command.
    """

    def __init__(self, data, *before, terminal=None, makefile=None):
        command = [*before, sys.executable, "-m", "odradek", "start", "--listen", "127.0.0.1:0", "--data", str(data)]
        if makefile is not None:
            makefile.write_text(f"start:\n\t@{shlex.join(command)}\n")
            command = ["make", "-f", str(makefile)]
        if terminal is not None:
            command = [sys.executable, "-c", _IN_TERMINAL, *command]
        self.started = 0.0
        self.process = outside.Session(
            command,
            stdin=outside.DEVNULL if terminal is None else terminal,
            stdout=outside.PIPE,
            stderr=outside.PIPE,
        )

    def rest(self):
        """The exit status, and what it said after the ready line: on standard output and on standard error."""
        output, error = self.process.communicate(timeout=20)
        return self.process.returncode, output.decode(), error.decode()


class Terminal:
    """Both ends of one: the one that the user's window holds, and the one that programs do."""

    def __init__(self):
        self.window, self.programs = os.openpty()
        self._is_open = True

    def close(self):
        """Once: the numbers belong to somebody else afterwards."""
        if self._is_open:
            self._is_open = False
            os.close(self.programs)
            os.close(self.window)


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_says_so(tmp_path, number):
    with Started(tmp_path / "data") as broker:
        broker.process.send_signal(number)
        assert broker.rest() == (0, f"odradek stopping: {number.name}\nodradek stopped\n", "")


# `odradek` on a disk that is full once there is nothing left to write but the word that it has stopped cleanly.
_WITHOUT_SPACE = """
import errno, os, sys
from odradek.cli.main import main
from odradek.reactor.adapters.disk import SystemDisk

write_atomically = SystemDisk.write_atomically

def full(disk, path, data):
    if path.endswith(".kafka_cleanshutdown"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    write_atomically(disk, path, data)

SystemDisk.write_atomically = full
sys.exit(main(sys.argv[1:]))
"""


class WithoutSpace(Started):
    def __init__(self, data, *arguments):
        command = [sys.executable, "-c", _WITHOUT_SPACE, "start", "--listen", "127.0.0.1:0", "--data", str(data)]
        self.started = 0.0
        self.process = outside.Session(
            [*command, *arguments], stdin=outside.DEVNULL, stdout=outside.PIPE, stderr=outside.PIPE
        )


@pytest.mark.parametrize("has_file", [False, True])
def test_a_stop_that_is_not_clean_says_so_once_on_standard_error(tmp_path, has_file):
    data, log = tmp_path / "data", tmp_path / "server.log"
    with WithoutSpace(data, *(["--log", str(log)] if has_file else [])) as broker:
        broker.process.send_signal(signal.SIGTERM)
        status, said, complained = broker.rest()
    assert status == 1
    assert said.endswith("odradek stopped, but not cleanly: the next start has something to recover\n")
    line = f"The log dir {data} was not closed cleanly, and the next start has to recover it: no space left to write "
    assert complained.count("\n") == 1 and line in complained
    if has_file:
        assert f"ERROR [BrokerServer id=1] {line}{data}/.kafka_cleanshutdown" in log.read_text()


def test_the_server_log_says_it_in_kafkas_words(tmp_path):
    log = tmp_path / "server.log"
    with BrokerProcess("--data", str(tmp_path / "data"), "--log", str(log)) as broker:
        assert broker.stop() == (0, "")
    assert "] INFO Terminating process due to signal SIGTERM (org.apache.kafka.common.utils." in log.read_text()


def test_a_terminal_that_closes_is_a_clean_stop(tmp_path, terminal):
    with Started(tmp_path / "data", terminal=terminal.programs) as broker:
        terminal.close()
        assert broker.rest() == (0, "odradek stopping: SIGHUP\nodradek stopped\n", "")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_terminal_whose_own_command_is_make_closes(tmp_path, terminal):
    """The kernel tells make alone, and make waits for the broker."""
    with Started(tmp_path / "data", terminal=terminal.programs, makefile=tmp_path / "Makefile") as broker:
        terminal.close()
        _, said, _ = broker.rest()  # make has its own word on standard error, and ends by the signal
        assert said == "odradek stopping: SIGHUP\nodradek stopped\n"
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_under_make_and_nohup_it_outlives_its_terminal(tmp_path, terminal):
    with Started(tmp_path / "data", "nohup", terminal=terminal.programs, makefile=tmp_path / "Makefile") as broker:
        terminal.close()
        assert answers(broker.address)


def test_under_nohup_it_outlives_its_terminal(tmp_path, terminal):
    with Started(tmp_path / "data", "nohup", terminal=terminal.programs) as broker:
        terminal.close()
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


# What it takes


def test_a_hint_names_the_flag_or_the_config_that_was_meant(tmp_path):
    data = tmp_path / "data"
    with BrokerProcess("--data", str(data)) as broker:
        broker.stop()
    assert "set node.id=1; " in refused("--data", str(data), "--override", "node.id=2")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "holiday.jpg").write_bytes(b"")
    assert "give an empty directory (--data)" in refused("--data", str(tmp_path / "full"))
    assert "set another --data" in refused("--data", str(tmp_path / "full" / "holiday.jpg"))


def test_a_file_of_a_few_configs(tmp_path):
    config = tmp_path / "few.properties"
    config.write_text("num.partitions=4\n")
    with BrokerProcess("--config", str(config), "--data", str(tmp_path / "data")) as broker:
        assert answers(broker.address)
        assert broker.stop() == (0, "")


def test_kafkas_own_script_wants_a_whole_node(tmp_path):
    config = tmp_path / "few.properties"
    config.write_text(f"num.partitions=4\nlog.dirs={tmp_path / 'data'}\n")
    script = ROOT / "bin" / "kafka-server-start.sh"
    done = outside.run([script, str(config)], seconds=60, cwd=tmp_path)
    assert done.returncode == 1
    assert "process.roles" in done.stderr


def test_half_a_node_is_told_what_to_add(tmp_path):
    config = tmp_path / "half.properties"
    config.write_text("node.id=1\n")
    line = refused("--config", str(config), "--data", str(tmp_path / "data"), status=2)
    assert "add process.roles=broker,controller and " in line
    assert not (tmp_path / "data").exists()


def test_what_is_not_built_is_said_before_what_could_be_mended(tmp_path):
    flags = ["listeners=SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms=SCRAM-SHA-256"]
    given = [word for flag in flags for word in ("--override", flag)]
    line = refused("--data", str(tmp_path / "data"), *given, listen=None, status=2)
    assert "of SASL only PLAIN is built" in line
    assert "sasl.enabled.mechanisms=PLAIN and sasl.mechanism.inter.broker.protocol=PLAIN" in line


def test_half_of_a_node_is_refused_before_what_it_lacks(tmp_path):
    config = tmp_path / "controller.properties"
    config.write_text(f"process.roles=controller\nlog.dirs={tmp_path / 'data'}\n")
    assert "process.roles must be broker,controller" in refused("--config", str(config), listen=None, status=2)
    assert not (tmp_path / "data").exists()


def test_listen_as_kafka_writes_it(tmp_path):
    with BrokerProcess("--data", str(tmp_path / "data"), listen="PLAINTEXT://127.0.0.1:0") as broker:
        assert answers(broker.address)


@pytest.mark.parametrize("flag", ["--data", "--listen", "--config", "--log", "--metrics", "--override"])
def test_an_empty_value_is_a_mistake(flag):
    assert flag in refused(flag, "", status=2)


def test_a_4_3_does_not_start_on_a_dir_of_a_3_3(tmp_path):
    data = tmp_path / "data"
    with BrokerProcess("--data", str(data), "--release-version", "3.3") as broker:
        broker.stop()
    line = refused("--data", str(data), "--release-version", "4.3")
    assert f"{data} cannot be served: it was formatted at release 3.3" in line
    assert "Start it at the release that has written it" in line
    with BrokerProcess("--data", str(data)) as broker:
        assert answers(broker.address), "nothing has happened to it"


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_a_dir_that_was_formatted_by_name_starts(tmp_path, release):
    data, command = str(tmp_path / "data"), [sys.executable, "-m", "odradek", "storage"]
    flags = ["--data", data, "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg", "--release-version", release]
    outside.run([*command, "format", *flags], seconds=60, check=True)
    with BrokerProcess("--data", data) as broker:
        assert broker.cluster == "MkU3OEVBNTcwNTJENDM2Qg"
        assert answers(broker.address)


def test_a_dir_that_we_stopped_cleanly_has_no_finding(tmp_path):
    data = str(tmp_path / "data")
    with BrokerProcess("--data", data) as broker:
        broker.stop()
    checked = outside.run([sys.executable, "-m", "odradek", "log", "check", data], seconds=60, check=True)
    assert f"{data}: sound, stopped cleanly; 0 errors, 0 notes " in checked.stdout
