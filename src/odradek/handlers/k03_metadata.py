"""Metadata, versions 0-13: the brokers, and topics with their partitions and leaders.

     1  a null list asks for all topics, an empty one for none (0: empty for all); controller, racks, internal topics
     2  cluster id in the response
     3  throttle time in the response
     4  request: whether missing topics may be created
     5  response: offline replicas
     6  a leader without this connection's listener is LISTENER_NOT_FOUND, no longer LEADER_NOT_AVAILABLE
     7  response: leader epochs
     8  authorized operations on the cluster and on topics, if asked for
     9  same fields in the flexible encoding
    10  topic ids; a request may not use them yet
    11  authorized operations on the cluster are gone: DescribeCluster has them
    12  topics may be asked for by id; the name is null where the id is unknown
    13  response: an error for the whole answer

Who may: DESCRIBE on each topic; what the caller may not see is left out of "all", TOPIC_AUTHORIZATION_FAILED by name.
To create a missing one takes CREATE on the cluster or on the topic.
Errors, per topic: INVALID_TOPIC_EXCEPTION for a name that no topic can have; UNKNOWN_TOPIC_OR_PARTITION for one that is
not there, or not yet; UNKNOWN_TOPIC_ID; per partition: LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND, in version 0 also
REPLICA_NOT_AVAILABLE. A request that names a topic by neither name nor id fails as a whole, and at each topic.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.cluster_nodes import brokers_on, controller_for_clients
from odradek.handlers.partition_view import PartitionViews
from odradek.handlers.serves import serves
from odradek.handlers.topic_names import is_legal_name
from odradek.metadata.image import MetadataImage
from odradek.metadata.topics import TopicImage
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.internal_topics import INTERNAL_TOPICS
from odradek.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.reactor.pending import Pending
from odradek.reactor.slices import Slices
from odradek.security import acl

WHOLE_ERROR_VERSION_MIN = 13
NAMES_AT_ONCE = 1000


def refuse_metadata(request: MetadataRequest, error: errors.KafkaError, version: int) -> MetadataResponse:
    topics = [
        MetadataResponseTopic(error_code=error.code, name=topic.name or "", topic_id=topic.topic_id)
        for topic in request.topics or ()
    ]
    response = MetadataResponse(topics=topics)
    if version >= WHOLE_ERROR_VERSION_MIN:
        response.error_code = error.code
    return response


@serves(MetadataRequest, versions="0-13", refuse=refuse_metadata)
def metadata(call: BrokerCall, request: MetadataRequest) -> MetadataResponse | Pending[MetadataResponse]:
    image = call.services.metadata.image
    views = PartitionViews(
        image, call.listener, only_reachable=call.version == 0, tells_missing_listener=call.version >= 6
    )
    if request.topics is None or (call.version == 0 and not request.topics):
        return call.services.loop.spawn(_of_all(call, request, image, views))
    if any(topic.topic_id != ZERO_UUID for topic in request.topics):
        return _answer(call, request, _by_id(call, image, views, request))
    named = _ByName(call, image, views, request)
    if len(named.names) > NAMES_AT_ONCE:
        return call.services.loop.spawn(_of_many(call, request, named))
    return _answer(call, request, named.finish([named.told(name) for name in named.names]))


async def _of_many(call: BrokerCall, request: MetadataRequest, named: "_ByName") -> MetadataResponse:
    slices = Slices(call.services.loop)
    topics = []
    for name in named.names:
        topics.append(named.told(name))
        if slices.is_over:
            await slices.pause()
    return _answer(call, request, named.finish(topics))


async def _of_all(
    call: BrokerCall, request: MetadataRequest, image: MetadataImage, views: PartitionViews
) -> MetadataResponse:
    slices = Slices(call.services.loop)
    topics = []
    for topic in image.topics.by_name.values():
        if _may_see(call, topic.name):
            topics.append(_described(views, topic))
        if slices.is_over:
            await slices.pause()
    return _answer(call, request, topics)


def _answer(call: BrokerCall, request: MetadataRequest, topics: list[MetadataResponseTopic]) -> MetadataResponse:
    if request.include_topic_authorized_operations:
        _add_operations(call, topics)
    response = MetadataResponse(
        topics=topics,
        brokers=[
            MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
            for broker, endpoint in brokers_on(call)
        ],
        cluster_id=call.services.cluster_id,
        controller_id=controller_for_clients(call),
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = _on_cluster(call)
    return response


def _on_cluster(call: BrokerCall) -> int:
    may_describe = call.authorize(acl.DESCRIBE, acl.CLUSTER, acl.CLUSTER_NAME)
    return call.authorized_operations(acl.CLUSTER, acl.CLUSTER_NAME) if may_describe else 0


def _may_see(call: BrokerCall, name: str) -> bool:
    return call.authorize(acl.DESCRIBE, acl.TOPIC, name)


def _by_id(
    call: BrokerCall, image: MetadataImage, views: PartitionViews, request: MetadataRequest
) -> list[MetadataResponseTopic]:
    if call.version < 12:
        raise errors.InvalidRequest(f"Topics are asked for by id from version 12 on, not in {call.version}.")
    asked = dict.fromkeys(topic.topic_id for topic in request.topics or () if topic.topic_id != ZERO_UUID)
    return [_with_id(call, image, views, topic_id) for topic_id in asked]


def _with_id(call: BrokerCall, image: MetadataImage, views: PartitionViews, topic_id: Uuid) -> MetadataResponseTopic:
    topic = image.topics.by_id.get(topic_id)
    if topic is None:
        return MetadataResponseTopic(error_code=errors.UnknownTopicId.code, name=None, topic_id=topic_id)
    if not _may_see(call, topic.name):
        return MetadataResponseTopic(error_code=errors.TopicAuthorizationFailed.code, name=None, topic_id=topic_id)
    return _described(views, topic)


class _ByName:
    """Topics that were asked for by name; those that are missing are created, if that is wanted and allowed."""

    __slots__ = ("_call", "_creates", "_image", "_missing", "_views", "names")

    def __init__(self, call: BrokerCall, image: MetadataImage, views: PartitionViews, request: MetadataRequest) -> None:
        config = call.services.configs.current.config
        self._call = call
        self._image = image
        self._views = views
        self._creates = request.allow_auto_topic_creation and config["auto.create.topics.enable"]
        self._missing: list[str] = []
        self.names = dict.fromkeys(_named(call, topic) for topic in request.topics or ())

    def told(self, name: str) -> MetadataResponseTopic:
        topic = self._image.topics.by_name.get(name)
        if not _may_see(self._call, name):
            return _failed(name, errors.TopicAuthorizationFailed)
        if topic is not None:
            return _described(self._views, topic)
        if not is_legal_name(name):
            return _failed(name, errors.InvalidTopicException)
        if self._creates and not _may_create(self._call, name):
            return _failed(name, errors.TopicAuthorizationFailed)
        self._missing.append(name)
        return _failed(name, errors.UnknownTopicOrPartition)

    def finish(self, topics: list[MetadataResponseTopic]) -> list[MetadataResponseTopic]:
        if self._creates and self._missing:
            call = self._call
            call.services.auto_creation.create(self._missing, call.principal, call.client_id)
        return topics


def _named(call: BrokerCall, topic: MetadataRequestTopic) -> str:
    if topic.name is None:
        error = errors.InvalidRequest if call.version < 12 else errors.UnknownServerError  # as Kafka has it
        raise error("A topic is asked for by name or by id.")
    return topic.name


def _failed(name: str, error: type[errors.KafkaError]) -> MetadataResponseTopic:
    is_internal = name in INTERNAL_TOPICS and error is errors.UnknownTopicOrPartition
    return MetadataResponseTopic(error_code=error.code, name=name, is_internal=is_internal)


def _may_create(call: BrokerCall, name: str) -> bool:
    return call.authorize(acl.CREATE, acl.CLUSTER, acl.CLUSTER_NAME) or call.authorize(acl.CREATE, acl.TOPIC, name)


def _described(views: PartitionViews, topic: TopicImage) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=Uuid(topic.id),
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=_partitions(views, topic),
    )


def _partitions(views: PartitionViews, topic: TopicImage) -> list[MetadataResponsePartition]:
    partitions = []
    for index, partition in topic.partitions.items():
        told = MetadataResponsePartition()  # field by field: a tenth of what the keywords cost, 100,000 times
        told.error_code, told.leader_id, told.replica_nodes, told.isr_nodes, told.offline_replicas = views.of(partition)
        told.partition_index = index
        told.leader_epoch = partition.leader_epoch
        partitions.append(told)
    return partitions


def _add_operations(call: BrokerCall, topics: list[MetadataResponseTopic]) -> None:
    for topic in topics:
        if topic.error_code == errors.NONE and topic.name is not None:
            topic.topic_authorized_operations = call.authorized_operations(acl.TOPIC, topic.name)
