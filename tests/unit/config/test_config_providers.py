"""References to files, directories and the environment, with the world in a dictionary."""

import pytest

from odradek.config import ConfigError, broker
from odradek.config.providers import resolve

PACKAGE = "org.apache.kafka.common.config.provider"
SETTINGS = {
    "config.providers": "file, env ,dir",
    "config.providers.file.class": f"{PACKAGE}.FileConfigProvider",
    "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider",
    "config.providers.dir.class": f"{PACKAGE}.DirectoryConfigProvider",
}


class World:
    def __init__(self) -> None:
        self.reads: list[str] = []
        self.files = {
            "/secrets/broker.properties": b"key.password=s3cret\nempty=\nloop=${env:HOME}\n",
            "/secrets/token": b"t0ken\n",
            "/etc/passwd": b"root",
        }

    def read_file(self, path: str) -> bytes:
        self.reads.append(path)
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path]

    def variable(self, name: str) -> str | None:
        return {"HOME": "/root", "KAFKA_USER": "alice"}.get(name)


def resolved(value: str, **settings: str) -> str:
    names = {f"config.providers.{name}": text for name, text in settings.items()}
    return resolve({**SETTINGS, **names, "a": value}, World())["a"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${file:/secrets/broker.properties:key.password}", "s3cret"),
        ("${env:KAFKA_USER}", "alice"),
        ("${env::KAFKA_USER}", "alice"),
        ("${dir:/secrets:token}", "t0ken\n"),
        ("<${env:HOME}|${env:KAFKA_USER}>", "</root|alice>"),
        ("${file:/secrets/broker.properties:empty}", ""),
        ("plain", "plain"),
        ("${env:MISSING}", "${env:MISSING}"),
        ("${file:/secrets/broker.properties:missing}", "${file:/secrets/broker.properties:missing}"),
        ("${vault:/a:b}", "${vault:/a:b}"),
        ("${env}", "${env}"),
        ("$${env:HOME}", "$/root"),
        ("${file:/secrets/broker.properties:loop}", "${env:HOME}"),  # what comes in is not searched again
    ],
)
def test_references(value: str, expected: str) -> None:
    assert resolved(value) == expected


def test_without_providers_nothing_is_replaced() -> None:
    assert resolve({"a": "${env:HOME}"}, World()) == {"a": "${env:HOME}"}


def test_a_file_is_read_once() -> None:
    world = World()
    path = "/secrets/broker.properties"
    resolve({**SETTINGS, "a": f"${{file:{path}:empty}}", "b": f"${{file:{path}:key.password}}"}, world)
    assert world.reads == [path]


@pytest.mark.parametrize("key", ["../etc/passwd", "..", ".", "", "a/b"])
def test_a_key_does_not_leave_its_directory(key: str) -> None:
    assert resolved(f"${{dir:/secrets:{key}}}") == f"${{dir:/secrets:{key}}}"


def test_allowed_paths_bound_files_and_directories() -> None:
    allowed = {"file.param.allowed.paths": "/secrets/", "dir.param.allowed.paths": "/secrets"}
    assert resolved("${file:/secrets/broker.properties:key.password}", **allowed) == "s3cret"
    for outside in ("/etc/passwd", "/secrets/../etc/passwd", "/secretsx"):
        reference = f"${{file:{outside}:root}}"
        assert resolved(reference, **allowed) == reference
    assert resolved("${dir:/etc:passwd}", **allowed) == "${dir:/etc:passwd}"
    with pytest.raises(ConfigError, match="absolute"):
        resolved("x", **{"file.param.allowed.paths": "secrets"})


def test_an_allow_list_bounds_the_environment() -> None:
    allowed = {"env.param.allowlist.pattern": "KAFKA_.*"}
    assert resolved("${env:KAFKA_USER}${env:HOME}", **allowed) == "alice${env:HOME}"
    with pytest.raises(ConfigError, match="regular expression"):
        resolved("x", **{"env.param.allowlist.pattern": "("})


def test_errors_name_what_is_wrong_and_no_content() -> None:
    with pytest.raises(ConfigError, match=r"Could not read /gone, .*: No such file or directory"):
        resolved("${file:/gone:a}")
    with pytest.raises(ConfigError, match="A path is not supported"):
        resolved("${env:/etc:HOME}")
    with pytest.raises(ConfigError, match=r"config\.providers\.env\.class: must be one of .*EnvVarConfigProvider"):
        resolved("x", **{"env.class": "com.example.Vault"})


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_provider_settings_are_known_to_a_broker(release: str) -> None:
    values = {
        "process.roles": "broker",
        "node.id": "2",
        "controller.listener.names": "C",
        "controller.quorum.voters": "1@h:1",
        **SETTINGS,
        "ssl.key.password": "${file:/secrets/broker.properties:key.password}",
    }
    config = broker.TABLE.parse(resolve(values, World()), release)
    assert config.warnings == ()
    assert config["config.providers"] == ("file", "env", "dir")
    assert config["ssl.key.password"].value == "s3cret"
    assert "s3cret" not in repr(config)
