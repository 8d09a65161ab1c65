"""Which topics and partitions a request names, of whatever API.

The declarations are regular enough to tell without a table: an array whose name speaks of topics holds structs with a
`name`, `topic` or `topic_id`, or bare names; within them an array whose name speaks of partitions holds numbers or
structs that have one. Arrays of anything else (groups, transactions, dirs) are looked into. Configs name a topic by
resource type and name.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

from odradek.handlers.services import BrokerServices
from odradek.protocol.declare import Struct
from odradek.protocol.field import ARRAY, STRUCT, ZERO_UUID, Field

if TYPE_CHECKING:
    from odradek.handlers.call import AnyCall, BrokerCall

Named = tuple[str, int | None]  # a topic and a partition of it; None: the topic as such

_TOPIC_RESOURCE = 2
_NUMBERS = ("index", "partition", "partition_index", "partition_id")
_FETCH, _METADATA = 1, 3


def named_partitions(call: "AnyCall", request: Struct) -> Iterator[Named]:
    yield from _in(call, request)
    if call.key == _FETCH and is_of_broker(call):
        yield from _of_session(call, request)
    elif call.key == _METADATA and _asks_for_all(call, request):
        yield from ((name, None) for name in call.services.metadata.image.topics.by_name)


def is_of_broker(call: "AnyCall") -> "TypeGuard[BrokerCall]":
    """Whether it came in on a broker's listener, and not on a controller's."""
    return isinstance(call.services, BrokerServices)


def can_name_topics(struct: type[Struct]) -> bool:
    """Whether requests of this class, or their elements, have a place for topics."""
    for field in struct.fields:
        if field.name == "resource_type":
            return True
        if field.kind == ARRAY:
            if is_of_topics(field):
                return True
            element = field.item
            if element.kind == STRUCT and can_name_topics(element.item):
                return True
    return False


def topic_of(call: "AnyCall", topic: object) -> str | None:
    """The topic's name, whether the struct has it or the id alone; None if nobody knows the id."""
    if isinstance(topic, str):
        return topic
    for attribute in ("name", "topic", "topic_name"):
        name = getattr(topic, attribute, None)
        if name:
            return str(name)
    topic_id = getattr(topic, "topic_id", ZERO_UUID)
    return None if topic_id == ZERO_UUID else call.services.metadata.topic_name(bytes(topic_id))


def partition_of(partition: object) -> int | None:
    """The number of a partition, given as such or as a struct."""
    if isinstance(partition, int):
        return partition
    return next((getattr(partition, name) for name in _NUMBERS if hasattr(partition, name)), None)


def arrays(struct: Struct) -> Iterator[tuple[Field, list[Any]]]:
    """The arrays of a struct that have elements. Any: of the type that the field has."""
    for field in type(struct).fields:
        if field.kind == ARRAY:
            elements = getattr(struct, field.name)
            if elements:
                yield field, elements


def is_of_topics(field: Field) -> bool:
    return "topic" in field.name and "forgotten" not in field.name


def is_of_partitions(field: Field) -> bool:
    return "partition" in field.name and not is_of_topics(field)


def _in(call: "AnyCall", struct: Struct) -> Iterator[Named]:
    for field, elements in arrays(struct):
        for element in elements:
            if is_of_topics(field):
                yield from _of_topic(call, element)
            elif getattr(element, "resource_type", None) == _TOPIC_RESOURCE:
                yield element.resource_name, None
            elif isinstance(element, Struct):
                yield from _in(call, element)


def _of_topic(call: "AnyCall", topic: object) -> Iterator[Named]:
    name = topic_of(call, topic)
    if name is None:
        return
    yield name, None
    if isinstance(topic, Struct):
        for field, elements in arrays(topic):
            if is_of_partitions(field):
                yield from ((name, partition_of(element)) for element in elements)


def _of_session(call: "BrokerCall", request: Any) -> Iterator[Named]:
    """What an incremental fetch is about without saying so. Any: that it is one, the key of the API says."""
    session = call.services.replicas.sessions.get(request.session_id)
    for key, partitions in session.topics.items() if session is not None else ():
        name = key if isinstance(key, str) else call.services.metadata.topic_name(bytes(key))
        if name is not None:
            yield name, None
            yield from ((name, index) for index in partitions)


def _asks_for_all(call: "AnyCall", request: Any) -> bool:
    """Returns whether no topics are named: by null, or in version 0, which has no null, by an empty list.

    Any: as above; it asks for metadata.
    """
    return request.topics is None or (call.version == 0 and not request.topics)
