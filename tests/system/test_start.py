"""`odradek start` and Kafka's own scripts as a user runs them: real processes, real dirs, real mistakes."""

import os
import random
import re
import shutil
import signal
import socket
import struct
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import outside
from broker_process import ROOT, BrokerProcess
from odradek.cli import server_stop
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.records.metadata_log import record_batches, values_batch

API_VERSIONS = struct.pack(">hhih", 18, 0, 7, -1)

KRAFT_3_3 = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""
SERVER_4_3 = KRAFT_3_3.replace(
    "controller.quorum.voters=1@localhost:9093",
    """controller.quorum.bootstrap.servers=localhost:9093
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1""",
).replace("localhost:9092\n", "localhost:9092,CONTROLLER://localhost:9093\n")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def answers(address):
    """Whether an ApiVersions request is answered."""
    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(struct.pack(">i", len(API_VERSIONS)) + API_VERSIONS)
        head = connection.recv(8)
        return len(head) == 8 and struct.unpack(">ii", head)[1] == 7


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def refused(*arguments, status=1, **more):
    """The one line of a start that must not succeed; a mistake in flags or configs has status 2."""
    broker = BrokerProcess(*arguments, **more)
    ended, error = broker.wait()
    assert ended == status, error
    assert error.count("\n") == 1, error
    assert "Traceback" not in error
    return error


@pytest.mark.contract("D7", "D8", "D9")
def test_it_serves_when_it_says_so_and_stops_cleanly(tmp_path):
    data = tmp_path / "data"
    with BrokerProcess("--data", str(data)) as broker:
        assert broker.data == str(data)
        assert re.fullmatch(r"[\w-]{22}", broker.cluster)
        assert answers(broker.address)
        assert broker.stop() == (0, "")
    assert (data / ".kafka_cleanshutdown").exists()
    with pytest.raises(OSError):
        answers(broker.address)


def test_ctrl_c_is_a_clean_stop_too(tmp_path):
    with BrokerProcess("--data", str(tmp_path / "data")) as broker:
        assert broker.stop(signal.SIGINT) == (0, "")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_restart_is_the_same_cluster(tmp_path):
    clusters = set()
    for _ in range(2):
        with BrokerProcess("--data", str(tmp_path / "data")) as broker:
            clusters.add(broker.cluster)
            broker.stop()
    assert len(clusters) == 1


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_a_release_stays_what_it_was_formatted_at(tmp_path, release):
    data = str(tmp_path / "data")
    with BrokerProcess("--data", data, "--release-version", release) as broker:
        broker.stop()
    with BrokerProcess("--data", data) as broker:
        assert answers(broker.address)
        broker.stop()
    meta = (tmp_path / "data" / "meta.properties").read_text()
    assert ("directory.id" in meta) == (release == "4.3")


def test_ephemeral_data_is_gone_at_the_end():
    with BrokerProcess("--ephemeral") as broker:
        assert Path(broker.data).is_dir()
        broker.stop()
    assert not Path(broker.data).exists()


def test_after_kill_9_it_registers_at_once_and_not_after_a_session_timeout(tmp_path):
    flags = ["--data", str(tmp_path / "data")]
    flags += ["--override", "broker.session.timeout.ms=600000"]  # longer than anybody waits here for a ready line
    for _ in range(3):
        with BrokerProcess(*flags) as broker:
            assert answers(broker.address)
            broker.kill()
    for _ in range(2):
        with BrokerProcess(*flags) as broker:
            assert broker.stop() == (0, "")


def test_idle_memory(tmp_path):
    with BrokerProcess("--data", str(tmp_path / "data")) as broker:
        assert answers(broker.address)
        assert broker.resident_bytes() < 60 * 1024 * 1024


def test_metrics_health_and_readiness(tmp_path):
    log = tmp_path / "server.log"
    flags = ["--data", str(tmp_path / "data"), "--metrics", "127.0.0.1:0", "--log", str(log)]
    with BrokerProcess(*flags) as broker:  # any free port: the ready line and the log tell which
        assert answers(broker.address)

        def page(path):
            with urllib.request.urlopen(f"http://{broker.metrics}{path}", timeout=5) as answer:
                return answer.read().decode()

        assert page("/health") == "ok\n"
        assert page("/ready") == "RUNNING\n"
        assert "kafka_server_kafkaserver_brokerstate 3\n" in page("/metrics")
        assert broker.stop() == (0, "")
    assert f"Serving metrics on http://{broker.metrics}/metrics" in log.read_text()


@pytest.mark.parametrize(("release", "config"), [("3.3", KRAFT_3_3), ("4.3", SERVER_4_3)])
def test_kafkas_own_config_starts_us(tmp_path, release, config):
    file = tmp_path / "server.properties"
    file.write_text(config)
    controller = f"CONTROLLER://127.0.0.1:{free_port()}"
    port = free_port()
    with BrokerProcess(
        "--config",
        str(file),
        "--release-version",
        release,
        "--data",
        str(tmp_path / "data"),
        "--override",
        f"listeners=PLAINTEXT://127.0.0.1:{port},{controller}",
        "--override",
        f"advertised.listeners=PLAINTEXT://localhost:{port}",
        listen=None,
    ) as broker:
        assert broker.bootstrap == f"localhost:{port}"
        assert answers(broker.address)
        assert broker.stop() == (0, "")


# Mistakes


def test_a_port_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refused("--data", str(tmp_path / "data"), listen=f"127.0.0.1:{port}")
    assert f"127.0.0.1:{port}" in line
    assert "in use" in line
    assert "--listen" in line


@pytest.mark.parametrize("has_config", [False, True])
def test_a_3_3_does_not_start_on_a_dir_of_a_4_3(tmp_path, has_config):
    data = tmp_path / "data"
    with BrokerProcess("--data", str(data)) as broker:
        broker.stop()
    flags = ["--data", str(data), "--release-version", "3.3"]
    if has_config:
        config = tmp_path / "server.properties"
        config.write_text(KRAFT_3_3.replace("9093", str(free_port())))
        flags += ["--config", str(config)]
    line = refused(*flags)
    assert str(data) in line
    assert "metadata.version 30 (4.3-IV0)" in line or "kraft.version 1" in line
    assert "release 3.3 knows" in line
    with BrokerProcess("--data", str(data)) as broker:
        assert answers(broker.address), "nothing has happened to it"


def test_a_metadata_version_that_is_not_known_yet(tmp_path):
    data = tmp_path / "data"
    with BrokerProcess("--data", str(data)) as broker:
        broker.stop()
    log = data / "__cluster_metadata-0" / "00000000000000000000.log"
    last = record_batches(log.read_bytes())[-1]
    level = METADATA.encode(FeatureLevelRecord(name="metadata.version", feature_level=99), 0)
    with log.open("ab") as file:
        file.write(values_batch([level], last.last_offset + 1, last.partition_leader_epoch, last.max_timestamp))
    line = refused("--data", str(data))
    assert "metadata.version 99" in line
    assert "7 to 30" in line


def test_a_dir_that_is_locked(tmp_path):
    with BrokerProcess("--data", str(tmp_path / "data")) as broker:
        line = refused("--data", str(tmp_path / "data"))
        assert "is in use" in line
        assert "--data" in line
        assert answers(broker.address), "the first one does not mind"


def test_a_dir_of_another_cluster(tmp_path):
    for name in ("a", "b"):
        with BrokerProcess("--data", str(tmp_path / name)) as broker:
            broker.stop()
    line = refused("--override", f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}")
    assert "cluster.id" in line


def test_a_dir_of_another_node(tmp_path):
    with BrokerProcess("--data", str(tmp_path / "data")) as broker:
        broker.stop()
    assert "node id 1 " in refused("--data", str(tmp_path / "data"), "--override", "node.id=2")


def test_a_data_dir_that_is_a_file(tmp_path):
    (tmp_path / "data").write_text("no dir")
    assert str(tmp_path / "data") in refused("--data", str(tmp_path / "data"))


def test_a_dir_that_holds_something_else(tmp_path):
    (tmp_path / "holiday.jpg").write_bytes(b"")
    assert "holiday.jpg" in refused("--data", str(tmp_path))


def refused_as_owner_only(data):
    """The line of a start that may read only what its permissions say, also if it is root's."""
    command = [sys.executable, "-m", "odradek", "start", "--data", str(data), "--listen", "127.0.0.1:0"]
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip(
                "root may read everything without setpriv: install util-linux, or run the tests as another user"
            )
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = outside.run(command, seconds=60)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_a_dir_that_cannot_be_read(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0)
    line = refused_as_owner_only(data)
    assert f"The dir {data} of the metadata log cannot be used: Permission denied" in line


@pytest.mark.parametrize(
    "part", ["meta.properties", "__cluster_metadata-0", "__cluster_metadata-0/00000000000000000000.log", "t-0"]
)
def test_a_dir_of_which_a_part_cannot_be_read(tmp_path, part):
    data = tmp_path / "data"
    with BrokerProcess("--data", str(data)) as broker:
        broker.stop()
    (data / "t-0").mkdir()
    (data / part).chmod(0)
    line = refused_as_owner_only(data)
    assert "Permission denied" in line and str(data) in line
    (data / part).chmod(0o700)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("num.io.threads=many", "num.io.threads"),
        ("num.io.threads=0", "num.io.threads"),
        ("listeners=nonsense", "listeners"),
        ("process.roles=broker", "process.roles must be broker,controller: "),
        ("process.roles=controller", "process.roles must be broker,controller: "),
        ("nonsense", "NAME=VALUE"),
    ],
)
def test_a_bad_property(tmp_path, override, told):
    assert told in refused("--data", str(tmp_path / "data"), "--override", override, status=2)


def test_a_config_that_nobody_knows_is_one_line_and_no_obstacle(tmp_path):
    with BrokerProcess("--data", str(tmp_path / "data"), "--override", "num.partition=3") as broker:
        assert answers(broker.address)
        status, error = broker.stop()
    assert status == 0
    assert error == "odradek: warning: num.partition is no config of a broker: ignored (did you mean num.partitions?)\n"


def test_a_config_that_is_not_there(tmp_path):
    assert "nowhere.properties" in refused("--config", str(tmp_path / "nowhere.properties"), status=2)


def test_a_config_from_the_time_of_zookeeper(tmp_path):
    config = tmp_path / "server.properties"
    config.write_text(f"broker.id=0\nlog.dirs={tmp_path / 'data'}\nzookeeper.connect=localhost:2181\n")
    line = refused("--config", str(config), listen=None, status=2)
    assert "ZooKeeper" in line
    assert "process.roles=broker,controller" in line
    assert not (tmp_path / "data").exists()


def test_more_brokers_come_later(tmp_path):
    assert "cluster" in refused("--brokers", "3", "--data", str(tmp_path / "data"), status=2)


# Places where brokers are started


@pytest.mark.parametrize("lost", [">&-", ">/dev/full"])
def test_a_ready_line_that_nobody_takes_does_not_stop_it(tmp_path, lost):
    port = free_port()
    start = [sys.executable, "-m", "odradek", "start", "--data", str(tmp_path), "--listen", f"127.0.0.1:{port}"]
    command = ["sh", "-c", f'exec "$@" {lost}', "sh", *start]
    with outside.Program(command, stderr=outside.PIPE, text=True) as process:
        until(lambda: is_open(port))
        assert answers(("127.0.0.1", port))
        process.terminate()
        _, error = process.communicate(timeout=20)
    assert process.returncode == 0
    assert error.startswith("odradek: warning: standard output: ")
    assert error.count("\n") == 1


def is_open(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def test_a_reader_of_the_first_line_may_leave(tmp_path):
    """`odradek start | head -1`."""
    with BrokerProcess("--data", str(tmp_path / "data")) as broker:
        broker.process.stdout.close()
        broker.process.stdout = None
        assert answers(broker.address)
        assert broker.stop() == (0, "")


@pytest.mark.parametrize("listen", ["[::1]:0", "localhost:0"])
def test_an_address_may_be_a_name_or_of_ipv6(tmp_path, listen):
    with BrokerProcess("--data", str(tmp_path / "with spaces"), listen=listen) as broker:
        host, port = broker.address
        assert host == listen.rpartition(":")[0]
        assert broker.data == str(tmp_path / "with spaces")
        assert answers((host.strip("[]"), port))


def test_two_starts_at_once_are_one_broker(tmp_path):
    brokers = [BrokerProcess("--data", str(tmp_path / "data")) for _ in range(2)]
    until(lambda: any(broker.process.poll() is not None for broker in brokers))
    loser = next(broker for broker in brokers if broker.process.poll() is not None)
    status, error = loser.wait()
    assert status == 1
    assert "is in use" in error
    with next(broker for broker in brokers if broker is not loser) as winner:
        assert answers(winner.address)
        assert winner.stop() == (0, "")


@pytest.mark.parametrize("moment", [".lock", "meta.properties", "__cluster_metadata-0/00000000000000000000.log"])
def test_ctrl_c_during_the_start(tmp_path, moment):
    broker = BrokerProcess("--data", str(tmp_path / "data"))
    until((tmp_path / "data" / moment).exists)
    assert broker.stop(signal.SIGINT) == (0, "")
    with BrokerProcess("--data", str(tmp_path / "data")) as again:
        assert answers(again.address)


# Kafka's scripts


def script(name, *arguments, **more):
    return outside.run([ROOT / "bin" / name, *arguments], seconds=60, **more)


def node_id_of_nobody():
    """To stop a server by its node id stops all that have it, and 1 is everybody's."""
    taken = {server_stop.properties_of(pid, arguments).get("node.id") for pid, arguments in server_stop.servers()}
    return next(drawn for _ in range(100) if (drawn := str(random.randint(10**6, 2**31 - 1))) not in taken)


class ServerByScript:
    """Formatted and started with Kafka's scripts; whatever happens, it is gone at the end."""

    def __init__(self, directory):
        directory.mkdir()
        self.directory, self.node_id, self.port = directory, node_id_of_nobody(), free_port()
        self.config = directory / "server.properties"
        self.output = directory / "logs" / "kafkaServer.out"
        listeners = f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{free_port()}"
        text = SERVER_4_3.replace("node.id=1\n", f"node.id={self.node_id}\n")
        text = text.replace("PLAINTEXT://:9092,CONTROLLER://:9093", listeners)
        text = text.replace("localhost:9092", f"127.0.0.1:{self.port}")
        self.config.write_text(text.replace("/tmp/kraft-combined-logs", str(directory / "data")))

    def format(self):
        cluster = script("kafka-storage.sh", "random-uuid").stdout.strip()
        script("kafka-storage.sh", "format", "-t", cluster, "-c", self.config, "--standalone", check=True)

    def start(self):
        """By a relative path, which the script that stops must find again."""
        flags = ["-daemon", self.config.name, "--override", f"node.id={self.node_id}"]
        environment = {**os.environ, "LOG_DIR": str(self.output.parent)}
        script("kafka-server-start.sh", *flags, env=environment, cwd=self.directory, is_outlived=True, check=True)
        until(lambda: self.output.exists() and "Kafka Server started" in self.output.read_text())

    def stop(self):
        return script("kafka-server-stop.sh", f"--node-id={self.node_id}")

    def is_serving(self):
        return answers(("127.0.0.1", self.port))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


@pytest.mark.contract("D1", "D2", "D8")
def test_kafkas_scripts_format_start_and_stop(tmp_path):
    with ServerByScript(tmp_path / "server") as server:
        unformatted = script("kafka-server-start.sh", server.config)
        assert unformatted.returncode == 1
        assert "kafka-storage.sh" in unformatted.stderr

        server.format()
        server.start()
        line = rf"^\[[-\d]+ [:\d]+,\d{{3}}\] INFO \[KafkaRaftServer nodeId={server.node_id}\] Kafka Server started"
        assert re.search(line, server.output.read_text(), re.M)
        assert server.is_serving()

        stopped = server.stop()
        assert stopped.returncode == 0, stopped.stdout
        until(lambda: "Kafka Server stopped" in server.output.read_text())
        assert server.stop().returncode == 1


def test_a_stop_by_node_id_leaves_other_servers_alone(tmp_path):
    """As the stop in these tests must leave a server alone that somebody else runs on this machine."""
    with ServerByScript(tmp_path / "theirs") as theirs, ServerByScript(tmp_path / "ours") as ours:
        for server in (theirs, ours):
            server.format()
            server.start()
        assert ours.stop().returncode == 0
        until(lambda: "Kafka Server stopped" in ours.output.read_text())
        assert theirs.is_serving()


def test_a_script_without_arguments_says_how_to_use_it():
    assert script("kafka-server-start.sh").returncode == 1
    assert "USAGE" in script("kafka-run-class.sh").stderr
    assert "org.example.Nothing" in script("kafka-run-class.sh", "org.example.Nothing").stderr
