"""The class behind Kafka's server script, as a process: which file is read, what overrides it, how it ends."""

import sys

import pytest

import outside

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0
controller.listener.names=CONTROLLER
log.dirs={data}
"""


def kafka(*arguments):
    return outside.run([sys.executable, "-m", "odradek.cli.run_class", "kafka.Kafka", *arguments], seconds=60)


@pytest.fixture
def properties(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text(PROPERTIES.format(data=tmp_path / "in-the-file"))
    return str(path)


@pytest.mark.contract("D4", "D8")
def test_the_file_is_read_and_overrides_go_before_it(properties, tmp_path):
    """A dir that nobody has formatted is refused by its name: so it shows which one was meant."""
    refused = kafka(properties)
    assert refused.returncode == 1
    assert f"{tmp_path}/in-the-file" in refused.stderr
    refused = kafka(properties, "--override", f"log.dirs={tmp_path}/overridden")
    assert refused.returncode == 1
    assert f"{tmp_path}/overridden" in refused.stderr and "in-the-file" not in refused.stderr


@pytest.mark.contract("D8")
@pytest.mark.parametrize("mistake", [["--override", "node.id=none"], ["--nonsense"]])
def test_a_mistake_of_any_kind_is_a_failure(properties, mistake):
    assert kafka(properties, *mistake).returncode == 1
