"""Under which subject of a registry the schema of a key or a value stands.

A rule is a function of the topic, of whether it is a key, and of the full name of the record type, if there is one.
"""

from collections.abc import Callable

from odradek.serde.errors import SerializationError

SubjectRule = Callable[[str, bool, str | None], str]


def topic_name(topic: str, is_key: bool, record: str | None) -> str:
    """One type of record for each topic: orders-value. What everybody has unless they say otherwise."""
    return f"{topic}-{'key' if is_key else 'value'}"


def record_name(topic: str, is_key: bool, record: str | None) -> str:
    """One subject for a type of record, whatever topics it is in: shop.Order."""
    if record is None:
        raise SerializationError("the schema has no name, so that its subject cannot be that name")
    return record


def topic_record_name(topic: str, is_key: bool, record: str | None) -> str:
    """Several types of records in a topic, each with a subject there: orders-shop.Order."""
    return f"{topic}-{record_name(topic, is_key, record)}"
