"""The client of a schema registry, against one that speaks HTTP."""

from base64 import b64encode
from pathlib import Path

import pytest

from odradek.errors import KafkaError
from odradek.serde import RegistryError, Schema, SchemaRegistry
from odradek.serde.schema import Reference
from schema_registry import schema_registry

TLS = Path(__file__).parents[2] / "data" / "tls"
TEXT = '"string"'


@pytest.fixture
def server():
    with schema_registry() as running:
        yield running


@pytest.fixture
def registry(server):
    return SchemaRegistry(server.url)


def test_a_schema_is_registered_once_and_found_again(server, registry):
    schema = Schema(TEXT)
    number = registry.register("orders-value", schema)
    assert registry.register("orders-value", schema) == number
    assert registry.id_of("orders-value", schema) == number
    assert server.asked == ["POST /subjects/orders-value/versions"]
    assert registry.schema(number) == schema
    assert registry.schema(number) == schema
    assert registry.version("orders-value", 1).id == number
    assert registry.version("orders-value", 1).schema == schema
    assert server.asked[1:] == ["GET /schemas/ids/1", "GET /subjects/orders-value/versions/1"]


def test_the_latest_version_is_asked_for_each_time(server, registry):
    registry.register("s", Schema('"string"'))
    assert registry.version("s").version == 1
    registry.register("s", Schema('"int"'))
    assert registry.version("s").version == 2
    assert registry.versions("s") == [1, 2]
    assert registry.subjects() == ["s"]


def test_kind_and_references_go_both_ways(server, registry):
    schema = Schema("{}", "JSON", (Reference("a", "sub", 1),))
    number = registry.register("s", schema)
    assert SchemaRegistry(server.url).schema(number) == schema
    assert server.schemas[number]["schemaType"] == "JSON"
    registry.register("plain", Schema(TEXT))
    assert "schemaType" not in server.schemas[2], "older registries know no other kind than Avro"


def test_a_schema_that_is_there_already_is_only_looked_up(server, registry):
    with pytest.raises(RegistryError) as caught:
        registry.id_of("s", Schema(TEXT))
    assert (caught.value.status, caught.value.error_code) == (404, 40401)
    SchemaRegistry(server.url).register("s", Schema(TEXT))
    assert registry.id_of("s", Schema(TEXT)) == 1


def test_compatibility(server, registry):
    assert registry.compatibility() == "BACKWARD"
    registry.set_compatibility("full")
    registry.set_compatibility("none", "s")
    assert (registry.compatibility(), registry.compatibility("s"), registry.compatibility("t")) == (
        "FULL",
        "NONE",
        "FULL",
    )
    registry.register("s", Schema(TEXT))
    server.incompatible.add('"int"')
    assert registry.is_compatible("s", Schema(TEXT))
    assert not registry.is_compatible("s", Schema('"int"'))
    assert registry.is_compatible("not there", Schema('"int"'))
    with pytest.raises(RegistryError, match="status 409: Schema being registered is incompatible"):
        registry.register("s", Schema('"int"'))


def test_a_subject_that_is_deleted_is_forgotten(server, registry):
    registry.register("s", Schema(TEXT))
    assert registry.delete_subject("s") == [1]
    registry.register("s", Schema(TEXT))
    assert server.asked[-1] == "POST /subjects/s/versions"


def test_a_strange_subject_is_escaped(server, registry):
    registry.register("a/b c", Schema(TEXT))
    assert server.asked == ["POST /subjects/a%2Fb%20c/versions"]
    assert registry.subjects() == ["a/b c"]


def test_a_name_and_a_password(server):
    server.auth = f"Basic {b64encode(b'me:secret').decode()}"
    with pytest.raises(RegistryError, match="status 401: Unauthorized"):
        SchemaRegistry(server.url).subjects()
    host = server.url.removeprefix("http://")
    for right in (SchemaRegistry(server.url, auth=("me", "secret")), SchemaRegistry(f"http://me:secret@{host}/")):
        assert right.subjects() == []
        assert "secret" not in repr(right)


def test_a_bearer_token(server):
    server.auth = "Bearer abc"
    assert SchemaRegistry(server.url, token="abc").subjects() == []
    assert SchemaRegistry(server.url, token=lambda: "abc").subjects() == []


def test_over_tls():
    with schema_registry(certificate=TLS / "server.pem") as server:
        assert SchemaRegistry(server.url, ca_file=str(TLS / "ca.pem")).subjects() == []
        with pytest.raises(RegistryError, match=r"cannot be asked: .*CERTIFICATE_VERIFY_FAILED"):
            SchemaRegistry(server.url).subjects()


def test_the_next_address_is_asked_when_one_does_not_answer(server):
    registry = SchemaRegistry(["http://127.0.0.1:1", server.url])
    assert registry.subjects() == []
    assert registry.subjects() == []
    with schema_registry() as broken:
        broken.fails_with = 503, {}
        registry = SchemaRegistry([broken.url, server.url])
        assert registry.subjects() == [] and registry.subjects() == []
        assert len(broken.asked) == 1, "it is asked last from then on"


@pytest.mark.parametrize(
    ("fails_with", "told"),
    [
        ((500, {"error_code": 50001, "message": "store"}), "status 500: store"),
        ((200, b"<html>"), "makes no sense"),
        ((200, {"a": 1}), "makes no sense"),
        ((302, b""), "status 302"),
        ((404, b"nothing here"), "status 404"),
    ],
)
def test_what_is_no_answer_of_a_registry(server, registry, fails_with, told):
    server.fails_with = fails_with
    with pytest.raises(KafkaError, match=told):
        registry.subjects()
    assert len(server.asked) == 1


def test_a_registry_that_is_not_there_is_named():
    with pytest.raises(RegistryError, match=r"registry http://127\.0\.0\.1:1 cannot be asked: .*refused"):
        SchemaRegistry("http://me:secret@127.0.0.1:1").subjects()


@pytest.mark.parametrize("url", ["registry:8081", "file:///etc/passwd", []])
def test_what_is_no_address(url):
    with pytest.raises(ValueError, match="begins with http: or https:"):
        SchemaRegistry(url)
