"""A broker for a test: ready when the call returns, gone when it should be, whatever became of its owner."""

import os
import signal
import socket
import sys
import threading
from pathlib import Path

import pytest
from programs import Program, children, open_files, until
from wire import Wire, records

import outside
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.testing import Broker, BrokerError
from outside import is_alive
from threads import joined


@pytest.fixture(params=[False, True], ids=["process", "thread"])
def thread(request):
    return request.param


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where temporary dirs are made during a test."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    return place


def answers(broker):
    with Wire(broker) as wire:
        return wire.ask(ApiVersionsRequest(), 0).error_code == 0


def write(broker, topic):
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records(b"one"))])
    with Wire(broker) as wire:
        response = wire.ask(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[data]), 9)
    assert response.responses[0].partition_responses[0].error_code == 0


def written(broker, topic):
    asked = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    with Wire(broker) as wire:
        return wire.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), 5).topics[0].partitions[0].offset


# From start to stop


def test_it_serves_when_the_call_returns_and_leaves_nothing(temporary, thread):
    with Broker(thread=thread) as broker:
        assert answers(broker)
        assert broker.bootstrap == f"127.0.0.1:{broker.port}"
        assert [Path(broker.data)] == list(temporary.glob("odradek-*"))
        assert (broker.pid == os.getpid()) is thread
        assert broker.is_running
        assert broker.errors() == ""
        port = broker.port
    assert not broker.is_running
    assert list(temporary.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_start_and_stop_without_a_context_manager(thread):
    broker = Broker(thread=thread)
    assert broker.start() is broker
    with pytest.raises(BrokerError, match="already"):
        broker.start()
    assert answers(broker)
    broker.stop()
    broker.stop()
    with pytest.raises(BrokerError, match="does not run"):
        _ = broker.bootstrap
    with pytest.raises(BrokerError, match="does not run"):
        broker.faults.clear()


def test_twenty_in_a_row_leave_no_process_file_or_dir(temporary, thread):
    with Broker(thread=thread) as broker:  # what is opened once and for all, is open now
        assert answers(broker)
    before = open_files(), children(), threading.active_count()
    for _ in range(20):
        with Broker(thread=thread) as broker:
            assert broker.is_running
    assert (open_files(), children(), threading.active_count()) == before
    assert list(temporary.iterdir()) == []


def test_configs_and_release():
    with Broker(release="3.3", config={"num.partitions": 5, "auto.create.topics.enable": False}) as broker:
        with Wire(broker) as wire:
            newest = {api.api_key: api.max_version for api in wire.ask(ApiVersionsRequest(), 0).api_keys}
        assert newest[0] == 9, "a 3.3 produces up to version 9"
        assert Path(broker.data, "meta.properties").exists()


def test_a_config_may_say_where_it_serves_and_keeps_its_data(tmp_path, thread):
    config = {"log.dirs": str(tmp_path / "data"), "listeners": "PLAINTEXT://127.0.0.1:0"}
    with Broker(config=config, thread=thread) as broker:
        assert answers(broker)
        assert (tmp_path / "data" / "meta.properties").exists()


def test_a_given_dir_is_kept(tmp_path, thread):
    with Broker(data=tmp_path / "data", thread=thread) as broker:
        broker.create_topic("t")
        write(broker, "t")
        cluster = broker.cluster_id
    with Broker(data=tmp_path / "data", thread=thread) as broker:
        assert broker.data == str(tmp_path / "data")
        assert (broker.cluster_id, written(broker, "t")) == (cluster, 1)


def test_a_restart_keeps_port_and_data_and_drops_faults(thread):
    with Broker(thread=thread) as broker:
        broker.create_topic("t")
        write(broker, "t")
        port, data = broker.port, broker.data
        old = broker.faults.on("ApiVersions").disconnect()
        assert broker.restart(config={"num.partitions": 7}) is broker
        assert (broker.port, broker.data) == (port, data)
        assert written(broker, "t") == 1
        broker.faults.on("ApiVersions").error("REQUEST_TIMED_OUT", times=1)
        with Wire(broker) as wire:
            assert wire.ask(ApiVersionsRequest(), 0).error_code == 7
        assert (old.hits, broker.faults.hits) == (0, 1)


def test_a_restart_that_fails_may_be_mended(thread):
    with Broker(thread=thread) as broker:
        broker.create_topic("t")
        write(broker, "t")
        with pytest.raises(BrokerError, match=r"num\.io\.threads"):
            broker.restart(config={"num.io.threads": 0})
        broker._config.clear()
        assert written(broker.start(), "t") == 1


def test_after_a_kill_it_recovers(temporary):
    with Broker() as broker:
        broker.create_topic("t")
        write(broker, "t")
        pid, port = broker.pid, broker.port
        broker.kill()
        assert not is_alive(pid)
        assert not broker.is_running
        broker.start()
        assert (broker.port, written(broker, "t")) == (port, 1)
    assert list(temporary.iterdir()) == []


def test_a_broker_that_died_is_told(temporary):
    with Broker() as broker:
        os.kill(broker.pid, signal.SIGKILL)
        until(lambda: not broker.is_running)
        with pytest.raises(BrokerError, match="gone"):
            broker.faults.clear()
    assert list(temporary.iterdir()) == []


def test_a_thread_cannot_be_killed():
    with Broker(thread=True) as broker, pytest.raises(BrokerError, match="thread=False"):
        broker.kill()


def test_topics_without_a_client(thread):
    with Broker(thread=thread) as broker:
        broker.create_topic("t", partitions=3, config={"retention.ms": 1000})
        with Wire(broker) as wire:
            topics = wire.ask(MetadataRequest(topics=None), 9).topics
            assert [(topic.name, len(topic.partitions)) for topic in topics] == [("t", 3)]
            broker.delete_topic("t")
            until(lambda: wire.ask(MetadataRequest(topics=None), 9).topics == [])
        with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            broker.delete_topic("t")
        with pytest.raises(BrokerError, match="INVALID_TOPIC_EXCEPTION"):
            broker.create_topic("no good")


def test_a_topic_has_the_partitions_that_the_config_says():
    with Broker(config={"num.partitions": 3}, thread=True) as broker:
        broker.create_topic("t")
        with Wire(broker) as wire:
            assert len(wire.ask(MetadataRequest(topics=None), 9).topics[0].partitions) == 3


def test_the_server_log(tmp_path, thread):
    log = tmp_path / "server.log"
    before = open_files()
    with Broker(log=log, thread=thread):
        pass
    assert "Kafka Server started" in log.read_text()
    assert "Kafka Server stopped" in log.read_text()
    assert open_files() == before


# Mistakes: one exception with the broker's own line, and nothing is left


def taken_port():
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    return listening


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ({"config": {"num.io.threads": "many"}}, r"num\.io\.threads"),
        ({"config": {"": "x"}}, "NAME=VALUE"),
        ({"listen": "nowhere"}, "HOST:PORT"),
        ({"listen": 9092}, "HOST:PORT"),
        ({"log": "/nowhere/server.log"}, "/nowhere/server.log"),
        ({"data": __file__}, "test_embedded_broker.py"),
    ],
)
def test_a_mistake(temporary, thread, mistake, told):
    before = children(), open_files(), threading.active_count()
    with pytest.raises(BrokerError, match=f"did not start: .*{told}") as raised:
        Broker(**mistake, thread=thread).start()
    assert "\n" not in str(raised.value)
    assert (children(), open_files(), threading.active_count()) == before
    assert list(temporary.iterdir()) == []


def test_a_config_that_nobody_knows(thread):
    with (
        pytest.warns(UserWarning, match=r"config: num\.partition is no config of a broker: ignored .*num\.partitions"),
        Broker(config={"num.partition": 3}, thread=thread) as broker,
    ):
        assert answers(broker)


@pytest.mark.parametrize("release", ["2.0", 2.0, "3.9"])
def test_a_release_that_there_is_not(release):
    with pytest.raises(ValueError, match=f"release is one of 3.3, 4.3, not {release!r}"):
        Broker(release)


@pytest.mark.parametrize("data", ["", " "])
def test_a_dir_without_a_name_is_not_the_working_directory(data):
    with pytest.raises(ValueError, match="data names no dir; leave it out for a temporary one"):
        Broker(data=data)


def test_configs_are_a_dict():
    with pytest.raises(TypeError, match="config is a dict"):
        Broker(config=["num.partitions=3"])


def test_a_port_that_is_taken(temporary, thread):
    with taken_port() as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(BrokerError, match=f"{address}.* in use; set another --listen"):
            Broker(listen=address, thread=thread).start()
    assert list(temporary.iterdir()) == []


def test_a_dir_that_another_broker_uses(tmp_path, thread):
    with Broker(data=tmp_path, thread=thread) as broker:
        with pytest.raises(BrokerError, match="in use"):
            Broker(data=tmp_path, thread=thread).start()
        assert answers(broker)


def test_a_start_that_takes_too_long(temporary):
    with pytest.raises(BrokerError, match=r"not ready within 0\.01 s"):
        Broker(start_s_max=0.01).start()
    assert children() == set()
    assert list(temporary.iterdir()) == []


# The owner's end

OWNER = """
import os, sys, time
from odradek.testing import Broker
broker = Broker().start()
print(broker.pid, broker.data, broker.port, flush=True)
"""


def test_it_dies_with_its_owner(temporary):
    with Program(OWNER + "time.sleep(60)") as owner:
        pid, data, _ = owner.words()
        assert is_alive(pid)
        owner.process.kill()
        until(lambda: not is_alive(pid), "the broker outlives its owner")
        until(lambda: not Path(data).exists(), "its data does")


def test_it_dies_with_its_owner_though_a_fork_lives_on(temporary):
    fork = "pid = os.fork()\nif pid: print(pid, flush=True)\ntime.sleep(60)"
    with Program(OWNER + fork, is_outlived=True) as owner:
        pid, data, _ = owner.words()
        survivor = int(owner.words()[0])
        owner.process.send_signal(signal.SIGKILL)  # to itself alone
        until(lambda: not is_alive(pid), "the broker outlives its owner")
        until(lambda: not Path(data).exists(), "its data does")
        assert is_alive(survivor)


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "os._exit(0)", "os.kill(os.getpid(), 15)"])
def test_an_owner_that_forgets_to_stop_it(temporary, end):
    with Program(OWNER + end) as owner:
        pid, data, _ = owner.words()
        owner.process.wait(20)
        until(lambda: not is_alive(pid))
        until(lambda: not Path(data).exists())


def test_a_fork_of_the_owner_does_not_stop_it(temporary):
    fork = """
if os.fork() == 0:
    try:
        broker.faults.clear()
    except Exception as error:
        print(error, flush=True)
    broker.stop()
    sys.exit()  # through atexit
os.wait()
from odradek.testing.faults import Faults
broker.faults.on("Produce").delay(1)
print("serves" if broker.is_running and os.path.isdir(broker.data) else "is gone", flush=True)
time.sleep(60)
"""
    with Program(OWNER + fork) as owner:
        pid, _, _ = owner.words()
        assert "belongs to process" in " ".join(owner.words())
        assert owner.words() == ["serves"]
        assert is_alive(pid)


def test_the_thread_that_started_it_may_end():
    broker = Broker()
    starter = threading.Thread(target=broker.start, daemon=True)
    starter.start()
    joined(starter)
    try:
        assert answers(broker)
        until(lambda: not starter.is_alive())
        assert answers(broker)
    finally:
        broker.stop()


def test_ctrl_c_is_for_the_tests_and_not_for_the_broker():
    with Broker() as broker:
        assert os.getpgid(broker.pid) != os.getpgid(0)


def test_a_file_in_the_working_directory_stands_in_for_no_module(tmp_path):
    (tmp_path / "socket.py").write_text("raise SystemExit('not this one')")
    code = "from odradek.testing import Broker\nwith Broker() as broker: print(broker.port)"
    done = outside.run([sys.executable, "-P", "-c", code], cwd=tmp_path, seconds=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout)


def test_the_package_lists_what_it_has():
    """Its names are imported when they are used; completion must offer them before."""
    import odradek.testing

    assert set(odradek.testing.__all__) <= set(dir(odradek.testing))
    assert "__doc__" in dir(odradek.testing)
