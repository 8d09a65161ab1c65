"""InitProducerId, versions 0-5: a producer gets the id and epoch that its batches are numbered under.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  request: the id and epoch that the producer had, to bump its epoch (KIP-360)
     4  same fields; PRODUCER_FENCED may be answered (KIP-588)
     5  same fields; transactions of version 2 (KIP-890)
     6  two-phase commit; declared, and served by no release

Who may: without a transactional id IDEMPOTENT_WRITE on the cluster, with one WRITE on that.
Errors: INVALID_REQUEST for an empty transactional id, or for one of id and epoch without the other;
INVALID_TRANSACTION_TIMEOUT; COORDINATOR_LOAD_IN_PROGRESS while no block of ids can be had; COORDINATOR_NOT_AVAILABLE
for a transactional id: there is no transaction coordinator yet.
"""

from odradek.handlers.authorization import CLUSTER, CLUSTER_NAME, IDEMPOTENT_WRITE, TRANSACTIONAL_ID, WRITE
from odradek.handlers.call import Call
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_NO_ID = -1
_NO_EPOCH = -1


def refuse_init_producer_id(
    request: InitProducerIdRequest, error: errors.KafkaError, version: int
) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=_NO_ID, producer_epoch=_NO_EPOCH)


@serves(InitProducerIdRequest, versions="0-5", refuse=refuse_init_producer_id)
async def init_producer_id(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    _authorize(call, request)
    if (request.producer_id == _NO_ID) != (request.producer_epoch == _NO_EPOCH):
        raise errors.InvalidRequest("A producer id and its epoch are given together or not at all.")
    if request.transactional_id is not None:
        _refuse_transactional(call, request)
    # An idempotent producer that lost its place starts over under a new id: nothing is kept of the old one.
    producer_id = await call.services.producer_ids.next()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _authorize(call: Call, request: InitProducerIdRequest) -> None:
    if request.transactional_id is None:
        call.demand(IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME)
    else:
        call.demand(WRITE, TRANSACTIONAL_ID, request.transactional_id)


def _refuse_transactional(call: Call, request: InitProducerIdRequest) -> None:
    if not request.transactional_id:
        raise errors.InvalidRequest("A transactional id is not empty.")
    timeout_ms_max = call.services.layers.current.config["transaction.max.timeout.ms"]
    if not 0 < request.transaction_timeout_ms <= timeout_ms_max:
        raise errors.InvalidTransactionTimeout()
    raise errors.CoordinatorNotAvailable("This broker has no transaction coordinator yet.")
