"""Where a tool is absent, what would need it is skipped with a line that says what to install."""

import clients
import fetching
import kafka_tools
import pytest

ABSENT = [
    ("java-4.3.0", "install one (Debian: default-jdk-headless)"),
    ("java-3.3.2", "install one (Debian: default-jdk-headless)"),
    ("kafkajs", "install nodejs and npm"),
    ("@platformatic/kafka", "install nodejs and npm"),
    ("kcat", "apt-get install kcat"),
]


@pytest.fixture(autouse=True)
def nothing_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ODRADEK_TEST_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(("client", "line"), ABSENT)
def test_a_client_that_cannot_run(client, line, tmp_path):
    with pytest.raises(kafka_tools.Unavailable) as unavailable:
        clients.command(client, tmp_path)
    assert line in str(unavailable.value)


def test_kafkas_own_tools(tmp_path):
    with pytest.raises(kafka_tools.Unavailable, match="need Java: install a JRE"):
        kafka_tools.jars("4.3.0")
    (tmp_path / "java").write_text("")
    (tmp_path / "java").chmod(0o755)
    with pytest.raises(kafka_tools.Unavailable, match="install mvn"):
        kafka_tools.jars("4.3.0")


def test_a_client_that_cannot_be_fetched(tmp_path):
    with pytest.raises(kafka_tools.Unavailable, match=r"pip install x has failed: see .*fetch\.log"):
        fetching.run_logged(["/bin/false"], tmp_path, "pip install x")
