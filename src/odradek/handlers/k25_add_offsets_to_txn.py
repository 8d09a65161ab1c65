"""AddOffsetsToTxn, versions 0-4: the partition of `__consumer_offsets` that has a group's offsets joins a transaction.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields; PRODUCER_FENCED in the place of INVALID_PRODUCER_EPOCH (KIP-588)
     3  same fields in the flexible encoding (KIP-482)
     4  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)

Who may: WRITE on the transactional id, READ on the group.
Errors: those of AddPartitionsToTxn.
"""

from odradek.coordinator.transaction.transaction import ProducerIdAndEpoch
from odradek.handlers.call import BrokerCall
from odradek.handlers.producer_fencing import fenced_as
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.internal_topics import OFFSETS_TOPIC
from odradek.protocol.java_hash import partition_of
from odradek.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from odradek.protocol.topic_partition import TopicPartition
from odradek.security.acl import GROUP, READ, TRANSACTIONAL_ID, WRITE

FENCED_VERSION_MIN = 2
CLIENT_VERSION = 0  # one of version 2 does without this request


def refuse(request: AddOffsetsToTxnRequest, error: errors.KafkaError, version: int) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=fenced_as(error, version, FENCED_VERSION_MIN))


@serves(AddOffsetsToTxnRequest, versions="0-4", refuse=refuse)
async def add_offsets_to_txn(call: BrokerCall, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    call.demand(WRITE, TRANSACTIONAL_ID, request.transactional_id)
    call.demand(READ, GROUP, request.group_id)
    if not request.transactional_id:
        raise errors.InvalidRequest("A transactional id is not empty.")
    shard = call.services.transactions.shards.active(request.transactional_id)
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    now, partition = shard.now(), _partition_of(call, request.group_id)
    await shard.run(
        lambda core: core.add_partitions(now, request.transactional_id, producer, [partition], CLIENT_VERSION)
    )
    return AddOffsetsToTxnResponse()


def _partition_of(call: BrokerCall, group_id: str) -> TopicPartition:
    topic = call.services.metadata.topic(OFFSETS_TOPIC)
    if topic is not None:
        return TopicPartition(OFFSETS_TOPIC, partition_of(group_id, len(topic.partitions)))
    partitions = call.services.configs.current.config["offsets.topic.num.partitions"]
    return TopicPartition(OFFSETS_TOPIC, partition_of(group_id, partitions))
