"""The pytest plugin, in sessions of its own."""

import os
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import outside

ROOT = Path(__file__).parents[3]
PLUGIN = "odradek.testing.pytest_plugin"


def run(tmp_path, test, *arguments, conftest=""):
    """The output of a session with these tests; only the plugins that are named here are loaded."""
    (tmp_path / "test_user.py").write_text(test)
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-q", *arguments, str(tmp_path)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    done = outside.run(command, cwd=tmp_path, env=environment, seconds=120)
    assert list((tmp_path / "temporary").glob("odradek-*")) == [], "the broker's data is left"
    return done.stdout + done.stderr


def test_the_entry_point_names_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"odradek": PLUGIN}
    assert hasattr(import_module(PLUGIN), "odradek_broker")


TOPICS = """
import socket, struct
import pytest
seen = []

def answers(broker):
    with socket.create_connection((broker.host, broker.port), timeout=20) as connection:
        connection.sendall(struct.pack(">ihhih", 10, 18, 0, 7, -1))  # ApiVersions
        return connection.recv(1) != b""

def test_one(odradek_broker, odradek_topic):
    seen.append((odradek_broker.pid, odradek_topic))
    with pytest.raises(Exception, match="TOPIC_ALREADY_EXISTS"):
        odradek_broker.create_topic(odradek_topic)
    odradek_broker.faults.on("ApiVersions").disconnect()
    assert not answers(odradek_broker)

@pytest.mark.odradek_topic(partitions=3, config={"retention.ms": 1000})
@pytest.mark.parametrize("name", ["strange name/with: all kinds"])
def test_two(odradek_broker, odradek_topic, name):
    (pid, first), = seen
    assert odradek_broker.pid == pid, "one broker for the session"
    assert answers(odradek_broker), "a fault ends with the test that asked for it"
    assert odradek_topic != first
    odradek_broker.create_topic(first)  # which is gone
    odradek_broker.delete_topic(odradek_topic)  # a test may do so itself

def test_three(odradek_broker):
    odradek_broker.stop()

def test_four(odradek_broker):
    assert not odradek_broker.is_running
"""


def test_a_broker_for_the_session_and_a_topic_for_each_test(tmp_path):
    assert "4 passed" in run(tmp_path, TOPICS)


def test_options_and_config(tmp_path):
    conftest = """
import pytest

@pytest.fixture(scope="session")
def odradek_broker_config():
    return {"message.max.bytes": 4711}
"""
    test = """
from pathlib import Path

def test_it(odradek_broker):
    assert odradek_broker._config == {"message.max.bytes": 4711}
    meta = Path(odradek_broker.data, "meta.properties").read_text()
    assert "directory.id" not in meta, "a 3.3 gave none"
"""
    log = tmp_path / "server.log"
    output = run(tmp_path, test, "--odradek-release=3.3", f"--odradek-log={log}", conftest=conftest)
    assert "1 passed" in output
    assert "Kafka Server started" in log.read_text()


def test_a_broker_that_does_not_start_is_an_error_with_its_own_line(tmp_path):
    conftest = """
import pytest

@pytest.fixture(scope="session")
def odradek_broker_config():
    return {"num.io.threads": 0}
"""
    output = run(tmp_path, "def test_it(odradek_topic): pass", conftest=conftest)
    assert re.search(r"the broker did not start: .*num\.io\.threads", output)
    assert "1 error" in output


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("partitions=3, configs={}", "@pytest.mark.odradek_topic takes partitions and config, not configs"),
        ("1, {}, 5", "@pytest.mark.odradek_topic takes partitions and config, not more"),
        ("partitions='3'", "partitions is a whole number, not '3'"),
        ("config=['retention.ms']", "config is a dict of topic configs, not ['retention.ms']"),
        ("config={'retention.ms': 'soon'}", "odradek_topic: INVALID_CONFIG"),
    ],
)
def test_a_mark_that_makes_no_sense_is_one_line(tmp_path, mark, told):
    test = f"import pytest\n@pytest.mark.odradek_topic({mark})\ndef test_it(odradek_topic): pass"
    output = run(tmp_path, test)
    assert told in output
    assert "1 error" in output
    assert "Traceback" not in output
    assert "pytest_plugin.py" not in output and "During handling" not in output, "the line is enough"


def test_configs_that_are_none(tmp_path):
    conftest = (
        "import pytest\n@pytest.fixture(scope='session')\ndef odradek_broker_config(): return ['num.partitions=3']"
    )
    output = run(tmp_path, "def test_it(odradek_broker): pass", conftest=conftest)
    told, _, _ = output.partition("short test summary")  # which repeats it, in CI to the last word
    assert told.count("config is a dict of Kafka's broker configs, not ['num.partitions=3']") == 1
    assert "odradek_broker: config is a dict" in output
    assert "pytest_plugin.py" not in output and "During handling" not in output


def test_a_config_that_nobody_knows_is_a_warning(tmp_path):
    conftest = (
        "import pytest\n@pytest.fixture(scope='session')\ndef odradek_broker_config(): return {'num.partition': 3}"
    )
    output = run(tmp_path, "def test_it(odradek_broker): pass", conftest=conftest)
    assert "num.partition is no config of a broker: ignored (did you mean num.partitions?)" in output
    assert "1 passed, 1 warning" in output


def test_every_worker_of_xdist_has_its_own(tmp_path):
    pytest.importorskip("xdist", reason="pip install pytest-xdist")
    test = f"""
import pytest
from pathlib import Path

@pytest.mark.parametrize("number", range(6))
def test_it(odradek_broker, odradek_topic, number, worker_id):
    Path({str(tmp_path)!r}, f"worker-{{worker_id}}-{{odradek_broker.pid}}-{{odradek_broker.port}}").touch()
"""
    output = run(tmp_path, test, "-p", "xdist.plugin", "-n", "2", "--odradek-log", str(tmp_path / "broker.log"))
    assert "6 passed" in output
    logs = {path.name: path.read_text() for path in tmp_path.glob("broker*")}
    assert sorted(logs) == ["broker.gw0.log", "broker.gw1.log"]
    assert [log.count("Kafka Server started") for log in logs.values()] == [1, 1]
    workers = [path.name.split("-")[1:] for path in tmp_path.glob("worker-*")]
    assert len(workers) == 2
    assert len({pid for _, pid, _ in workers}) == 2
    assert len({port for _, _, port in workers}) == 2


def test_a_session_that_uses_no_broker_starts_none(tmp_path):
    test = """
import sys

def test_it():
    assert "odradek.testing.broker" not in sys.modules
"""
    assert "1 passed" in run(tmp_path, test)
