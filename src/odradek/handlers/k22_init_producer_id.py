"""InitProducerId, versions 0-5: a producer gets the id and epoch that its batches are numbered under.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  request: the id and epoch that the producer had, to bump its epoch (KIP-360)
     4  same fields; PRODUCER_FENCED may be answered (KIP-588)
     5  same fields; transactions of version 2 (KIP-890)

Version 6, two-phase commit, is declared and served by no release.

Who may: IDEMPOTENT_WRITE on the cluster without a transactional id, with one WRITE on that.
Errors: INVALID_REQUEST for an empty transactional id, or for one of id and epoch without the other;
INVALID_TRANSACTION_TIMEOUT; PRODUCER_FENCED (before version 4: INVALID_PRODUCER_EPOCH) for an id and epoch that are not
the current ones; CONCURRENT_TRANSACTIONS while a transaction of the predecessor is being ended;
COORDINATOR_LOAD_IN_PROGRESS while no block of ids can be had or the coordinator loads; NOT_COORDINATOR.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.producer_fencing import fenced_as
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.security.acl import CLUSTER, CLUSTER_NAME, IDEMPOTENT_WRITE, TRANSACTIONAL_ID, WRITE

FENCED_VERSION_MIN = 4

_NO_ID = -1
_NO_EPOCH = -1


def refuse_init_producer_id(
    request: InitProducerIdRequest, error: errors.KafkaError, version: int
) -> InitProducerIdResponse:
    code = fenced_as(error, version, FENCED_VERSION_MIN)
    return InitProducerIdResponse(error_code=code, producer_id=_NO_ID, producer_epoch=_NO_EPOCH)


@serves(InitProducerIdRequest, versions="0-5", refuse=refuse_init_producer_id)
async def init_producer_id(call: BrokerCall, request: InitProducerIdRequest) -> InitProducerIdResponse:
    _authorize(call, request)
    if (request.producer_id == _NO_ID) != (request.producer_epoch == _NO_EPOCH):
        raise errors.InvalidRequest("A producer id and its epoch are given together or not at all.")
    if request.transactional_id is not None:
        return await _init_transactional(call, request, request.transactional_id)
    # An idempotent producer that lost its place starts over under a new id: nothing is kept of the old one.
    producer_id = await call.services.producer_ids.next()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _authorize(call: BrokerCall, request: InitProducerIdRequest) -> None:
    if request.transactional_id is None:
        call.demand(IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME)
    else:
        call.demand(WRITE, TRANSACTIONAL_ID, request.transactional_id)


async def _init_transactional(
    call: BrokerCall, request: InitProducerIdRequest, transactional_id: str
) -> InitProducerIdResponse:
    from odradek.coordinator.transaction.transaction import ProducerIdAndEpoch

    expected = None
    if request.producer_id != _NO_ID:
        expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    coordinator = call.services.transactions
    producer = await coordinator.init_producer_id(transactional_id, request.transaction_timeout_ms, expected)
    return InitProducerIdResponse(producer_id=producer.producer_id, producer_epoch=producer.epoch)
