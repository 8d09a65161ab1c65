"""Partitions as scripts name them: `orders` for all of a topic, `orders:0,2` for some."""

from collections.abc import Iterable

from odradek.cli.kafka.java_order import in_java_order
from odradek.cli.kafka.options import Misuse
from odradek.client.admin.admin_client import AdminClient
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition


def named_partitions(admin: AdminClient, topics: Iterable[str]) -> tuple[list[TopicPartition], dict[str, KafkaError]]:
    """Those that are named, and why the partitions of a whole topic could not be found out."""
    places: list[TopicPartition] = []
    whole = []
    for text in topics:
        if ":" in text:
            places += _numbered(text)
        else:
            whole.append(text)
    described = admin.describe_topics(whole)
    for topic in in_java_order(described.values_ok, len(whole)):
        places += [TopicPartition(topic, each.partition) for each in described[topic].partitions]
    return list(dict.fromkeys(places)), described.errors


def _numbered(text: str) -> list[TopicPartition]:
    topic, _, numbers = text.partition(":")
    if not topic or not numbers or ":" in numbers:
        raise Misuse(f"Invalid topic arg '{text}', expected topic name and partitions")
    return [TopicPartition(topic, _number(number, text)) for number in numbers.split(",")]


def _number(number: str, text: str) -> int:
    try:
        return int(number)
    except ValueError:
        raise Misuse(f"Invalid partition '{number}' specified in topic arg '{text}''") from None
