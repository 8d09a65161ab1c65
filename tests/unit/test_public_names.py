"""What programs import from the package: the names are there, cost nothing before they are used, and have types."""

import ast
import sys
from pathlib import Path

import pytest

import odradek
import outside
from odradek import admin, aio, errors, version
from odradek.client.admin import admin_client, asyncio_admin_client
from odradek.client.consumer import kafka_consumer
from odradek.client.share_consumer import asyncio_share_consumer, share_consumer
from odradek.protocol import errors as table
from odradek.protocol import topic_partition
from odradek.records import record

ROOT = Path(__file__).resolve().parents[2]


def printed(code):
    return outside.run([sys.executable, "-c", code], check=True).stdout.strip()


def test_the_public_names():
    assert odradek.__all__ == [
        "AdminClient",
        "Header",
        "KafkaConsumer",
        "KafkaProducer",
        "ProducerRecord",
        "Record",
        "RecordMetadata",
        "ShareConsumer",
        "TopicPartition",
        "__version__",
        "errors",
    ]
    assert odradek.Record is record.Record and odradek.Header is record.Header
    assert odradek.TopicPartition is topic_partition.TopicPartition
    assert odradek.AdminClient is admin_client.AdminClient
    assert aio.AdminClient is asyncio_admin_client.AdminClient
    assert odradek.KafkaConsumer is kafka_consumer.KafkaConsumer
    assert odradek.ShareConsumer is share_consumer.ShareConsumer
    assert aio.ShareConsumer is asyncio_share_consumer.ShareConsumer
    assert odradek.KafkaProducer.__module__ == "odradek.client.producer.kafka_producer"
    assert odradek.errors is errors and odradek.__version__ == version.VERSION


def test_what_the_operations_of_an_admin_client_give_is_public():
    """Whatever an operation's signature names can be imported from one place."""
    own = {name for name in dir(odradek.AdminClient) if not name.startswith("_") and name != "close"}
    named = set()
    for name in own:
        for annotation in getattr(odradek.AdminClient, name).__annotations__.values():
            named |= {
                kind.__name__ for kind in _kinds(annotation) if kind.__module__.startswith("odradek.client.admin")
            }
    assert named - {"Asker"} <= set(admin.__all__)


def _kinds(annotation):
    arguments = getattr(annotation, "__args__", ())
    found = {kind for argument in arguments for kind in _kinds(argument)}
    return found | ({annotation} if isinstance(annotation, type) else {getattr(annotation, "__origin__", int)})


def test_both_front_ends_have_the_same_operations():
    def operations(client):
        return {name for name in dir(client) if not name.startswith("_")}

    assert operations(odradek.AdminClient) == operations(aio.AdminClient)
    assert operations(odradek.ShareConsumer) == operations(aio.ShareConsumer)


def test_they_are_shown_before_they_are_used():
    assert set(odradek.__all__) <= set(ast.literal_eval(printed("import odradek; print(dir(odradek))")))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'odradek' has no attribute 'Recrod'"):
        _ = odradek.Recrod


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import odradek", []),
        ("from odradek import errors", ["odradek.errors", "odradek.protocol", "odradek.protocol.errors"]),
    ],
)
def test_only_what_is_used_is_loaded(code, loaded):
    shown = printed(f"import sys; {code}; print(sorted(m for m in sys.modules if m.startswith('odradek.')))")
    assert ast.literal_eval(shown) == loaded


def test_the_package_itself_loads_nothing():
    shown = printed("import sys; before = set(sys.modules); import odradek; print(sorted(set(sys.modules) - before))")
    assert ast.literal_eval(shown) == ["odradek"]


def test_an_operation_of_the_admin_client_is_loaded_with_its_first_use():
    code = """
import sys
from odradek import AdminClient
from odradek.aio import AdminClient as Aio
def loaded(): return "odradek.client.admin.topics" in sys.modules
before = loaded(), "list_topics" in dir(AdminClient)
AdminClient.list_topics
print(before, loaded(), AdminClient.list_topics is AdminClient.list_topics, Aio.list_topics.__name__)
"""
    assert printed(code) == "(False, True) True True list_topics"


def test_every_error_of_the_table_is_public():
    for row in table.table():
        assert getattr(errors, row.__name__) is row
    assert errors.by_code(6) is errors.NotLeaderOrFollower
    assert errors.PeerProtocolError is table.PeerProtocolError and errors.EncodeError is table.EncodeError


TYPED = """
from odradek import AdminClient, Header, Record, ShareConsumer, TopicPartition, __version__, aio, errors
from odradek.admin import NewTopic
from odradek.consumer import AcknowledgeType
from odradek.errors import KafkaError, NotLeaderOrFollower

header: Header = ("a", None)
reveal_type(Record(0, b"k", None, headers=[header]).value)
reveal_type(NotLeaderOrFollower.retriable)
reveal_type(errors.by_code(6))
reveal_type(__version__)
reveal_type(TopicPartition("orders", 0).partition)
with AdminClient(bootstrap_servers="localhost:9092") as admin:
    reveal_type(admin.create_topics([NewTopic("orders", 3), "letters"], timeout=3.0)["orders"].partitions)
    reveal_type(admin.create_topic("orders", partitions=3, cleanup_policy="compact").topic_id)
with ShareConsumer("orders", group_id="g", value_deserializer=lambda data: 1) as consumer:
    for record in consumer.poll(1.0):
        reveal_type(record.delivery_count)
        consumer.acknowledge(record, AcknowledgeType.RELEASE)
    reveal_type(consumer.commit_sync()[TopicPartition("orders", 0)])


async def awaited() -> None:
    async with aio.AdminClient({"bootstrap.servers": "localhost:9092"}) as admin:
        reveal_type((await admin.list_topics())["orders"].is_internal)
"""
REVEALED = [
    "bytes | None",
    "bool",
    "type[odradek.protocol.errors.KafkaError]",
    "str",
    "int",
    "int",
    "str",
    "int",
    "odradek.protocol.errors.KafkaError | None",
    "bool",
]
WRONG = """
from odradek import Recrod
from odradek.errors import NotLeader
from odradek import AdminClient

AdminClient().create_topics(3)
"""


def test_type_checkers_know_them(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed; install the extra dev")
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "typed.py", "wrong.py"]
    told = outside.run(command, cwd=tmp_path).stdout
    revealed = [line.partition("Revealed type is ")[2] for line in told.splitlines() if "Revealed" in line]
    assert [text.strip('"') for text in revealed] == REVEALED
    assert 'incompatible type "int"; expected "Iterable[NewTopic | str]"' in told
    assert 'Module "odradek" has no attribute "Recrod"' in told
    assert 'Module "odradek.errors" has no attribute "NotLeader"' in told
