"""`odradek storage` and `kafka-storage.sh`: Kafka's flags, output and exit codes."""

import pytest

from odradek.cli import storage
from odradek.cli.main import main
from odradek.protocol.uuids import parse_uuid

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
SERVER = """
process.roles=broker,controller
node.id=1
{quorum}
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={dirs}
"""
FIXED = "controller.quorum.voters=1@localhost:9093"
DYNAMIC = "controller.quorum.bootstrap.servers=localhost:9093"


@pytest.fixture
def server(tmp_path):
    def write(quorum=FIXED, dirs=("data",)):
        path = tmp_path / "server.properties"
        path.write_text(SERVER.format(quorum=quorum, dirs=",".join(str(tmp_path / name) for name in dirs)))
        return str(path)

    return write


def test_a_random_uuid(capsys):
    assert storage.main(["random-uuid"]) == 0
    assert len(parse_uuid(capsys.readouterr().out.strip())) == 16


def test_format_info_and_format_again(server, tmp_path, capsys):
    config = server(dirs=("a", "b"))
    assert storage.main(["info", "-c", config]) == 1
    assert (
        capsys.readouterr().out == f"Found problems:\n  {tmp_path}/a does not exist\n  {tmp_path}/b does not exist\n\n"
    )
    assert storage.main(["format", "-t", CLUSTER, "-c", config, "-r", "3.3"]) == 0
    assert capsys.readouterr().out == "".join(
        f"Formatting {tmp_path}/{name} with metadata.version 3.3-IV3.\n" for name in "ab"
    )
    assert storage.main(["info", "-c", config]) == 0
    assert capsys.readouterr().out == (
        f"Found log directories:\n  {tmp_path}/a\n  {tmp_path}/b\n\n"
        f"Found metadata: {{cluster.id={CLUSTER}, node.id=1, version=1}}\n\n"
    )
    assert storage.main(["format", "-t", CLUSTER, "-c", config, "-r", "3.3"]) == 1
    assert capsys.readouterr().err.startswith(f"Log directory {tmp_path}/a is already formatted.")
    assert storage.main(["format", "-t", CLUSTER, "-c", config, "-r", "3.3", "-g"]) == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"


def test_a_dynamic_quorum(server, tmp_path, capsys):
    config = server(DYNAMIC)
    assert storage.main(["format", "-t", CLUSTER, "-c", config]) == 1
    assert "--standalone, --initial-controllers, or --no-initial-controllers" in capsys.readouterr().err
    assert main(["storage", "format", "--cluster-id", CLUSTER, "--config", config, "--standalone"]) == 0
    expected = f"Formatting dynamic metadata voter directory {tmp_path}/data with metadata.version 4.3-IV0.\n"
    assert capsys.readouterr().out == expected
    assert (tmp_path / "data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint").exists()


def test_directories_that_disagree(server, tmp_path, capsys):
    config = server(dirs=("a", "b"))
    assert storage.main(["format", "-t", CLUSTER, "-c", config]) == 0
    meta = tmp_path / "b/meta.properties"
    meta.write_text(meta.read_text().replace(CLUSTER, "other"))
    assert storage.main(["info", "-c", config]) == 1
    assert "Mismatched cluster IDs between storage directories." in capsys.readouterr().out


def test_what_a_broker_has_written_is_not_told_as_a_dir_to_be_formatted(server, tmp_path, capsys):
    config = server()
    assert storage.main(["format", "-t", CLUSTER, "-c", config]) == 0
    (tmp_path / "data/orders-0").mkdir()
    (tmp_path / "data/meta.properties").unlink()
    assert storage.main(["info", "-c", config]) == 1
    told = capsys.readouterr().out
    assert f"{tmp_path}/data is a broker's, for it holds orders-0, but its meta.properties is lost" in told
    assert "is not formatted" not in told


def test_a_dir_of_a_broker_on_zookeeper_is_told_with_its_way_out(server, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/meta.properties").write_text(f"version=0\nbroker.id=1\ncluster.id={CLUSTER}\n")
    assert storage.main(["info", "-c", server()]) == 1
    assert "a broker on ZooKeeper, which is not migrated here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-r", "9.9"], "Unknown metadata.version '9.9'."),
        (["-f", "nonsense=1"], "Unsupported feature: nonsense."),
        (["-f", "group.version"], "--feature is NAME=LEVEL"),
        (["-f", "metadata.version=8", "-r", "3.4"], "not both"),
        (["-S", "SCRAM-SHA-1=[name=a,password=b]"], "The add-scram mechanism SCRAM-SHA-1 is not supported."),
        (["-I", "rubbish"], "You cannot specify controller.quorum.voters"),
        (["-c", "/no/such/file"], "/no/such/file: No such file or directory"),
        (
            ["-t", "abc", "-r", "3.3"],
            "abc does not appear to be a valid UUID: expected 22 characters of URL-safe base64",
        ),
    ],
)
def test_refusals_are_one_line(server, tmp_path, capsys, arguments, line):
    assert storage.main(["format", "-t", CLUSTER, "-c", server(), *arguments]) == 1
    complaint = capsys.readouterr().err
    assert line in complaint
    assert complaint.count("\n") == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("arguments", [[], ["bogus"], ["format"], ["format", "-s", "-N", "-t", "x", "-c", "y"]])
def test_mistakes_in_the_command_are_1_as_kafka_has_it(arguments, capsys):
    assert storage.main(arguments) == 1
    assert "usage: kafka-storage" in capsys.readouterr().err


def test_a_mistake_is_2_and_a_refusal_1(server, capsys):
    """As in all of `odradek`; Kafka's script knows 1 alone."""
    config = server()
    assert main(["storage", "format", "-t", "abc", "-c", config, "-r", "3.3"]) == 2
    assert main(["storage", "info", "-c", "/no/such/file"]) == 2
    assert main(["storage", "version-mapping", "-r", "9.9"]) == 2
    assert main(["storage", "format", "-t", CLUSTER, "-c", config]) == 0
    capsys.readouterr()
    assert main(["storage", "format", "-t", CLUSTER, "-c", config]) == 1
    assert capsys.readouterr().err.startswith("odradek: Log directory ")


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_a_file_from_the_time_of_zookeeper(tmp_path, capsys, release):
    path = tmp_path / "server.properties"
    path.write_text("broker.id=0\nzookeeper.connect=localhost:2181\n")
    assert storage.main(["format", "-t", CLUSTER, "-c", str(path), "-r", release]) == 1
    assert f"{path} is that of a cluster on ZooKeeper" in capsys.readouterr().err


def test_a_bad_config_file(tmp_path, capsys):
    path = tmp_path / "bad.properties"
    path.write_text("process.roles=nobody\n")
    assert storage.main(["info", "-c", str(path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_what_a_release_begins_with(capsys):
    assert storage.main(["version-mapping", "-r", "3.9"]) == 0
    assert capsys.readouterr().out.startswith("metadata.version=21 (3.9-IV0)\n")
    assert storage.main(["feature-dependencies", "-f", "metadata.version=30"]) == 0
    assert capsys.readouterr().out == "metadata.version=30 (4.3-IV0) has no dependencies.\n"


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_a_data_dir_in_place_of_a_file(tmp_path, capsys, release):
    data = str(tmp_path / "data")
    assert main(["storage", "info", "--data", data]) == 1
    assert f"{data} does not exist" in capsys.readouterr().out
    assert main(["storage", "format", "--data", data, "-t", CLUSTER, "-r", release]) == 0
    assert f"{data} with metadata.version {release}-IV" in capsys.readouterr().out
    assert main(["storage", "info", "--data", data]) == 0
    assert f"cluster.id={CLUSTER}, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["info"], "odradek storage info: error: one of the arguments --config/-c --data is required"),
        (["info", "--data", "x", "--config", "y"], "not allowed with argument"),
        (["info", "--data", ""], "--data: it names no dir"),
        (["format", "--dta", "x"], "odradek storage format: error: "),
    ],
)
def test_which_dir_is_meant_must_be_said_once(arguments, told, capsys):
    assert main(["storage", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert told in complaint
    assert complaint.count("\n") == 1


def test_a_file_of_a_few_configs_is_for_the_built_in_node_as_for_a_start(tmp_path, capsys):
    few = tmp_path / "few.properties"
    few.write_text(f"num.partitions=4\nlog.dirs={tmp_path}/data\n")
    assert main(["storage", "info", "--config", str(few)]) == 1
    assert capsys.readouterr() == (f"Found problem:\n  {tmp_path}/data does not exist\n\n", "")
    assert main(["storage", "format", "--config", str(few), "-t", CLUSTER]) == 0
    assert f"dynamic metadata voter directory {tmp_path}/data" in capsys.readouterr().out
    assert main(["storage", "info", "--config", str(few)]) == 0
    capsys.readouterr()
    assert storage.main(["info", "--config", str(few)]) == 1
    assert "process.roles" in capsys.readouterr().err, "Kafka's script takes a whole node"
