"""EndTxn, versions 0-5: a producer commits or aborts its transaction. Answered when that is decided for good.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields; PRODUCER_FENCED in the place of INVALID_PRODUCER_EPOCH (KIP-588)
     3  same fields in the flexible encoding (KIP-482)
     4  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
     5  the epoch is raised, and answered together with the producer id, which may be a new one

Who may: WRITE on the transactional id.
Errors: INVALID_REQUEST for an empty transactional id; INVALID_PRODUCER_ID_MAPPING for a producer that is not of this
id; PRODUCER_FENCED; CONCURRENT_TRANSACTIONS while the same decision is being carried out; INVALID_TXN_STATE if there is
nothing to end, or if it was ended the other way.
"""

from odradek.coordinator.transaction.core import V2
from odradek.coordinator.transaction.transaction import ProducerIdAndEpoch
from odradek.handlers.call import BrokerCall
from odradek.handlers.producer_fencing import fenced_as
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k26_end_txn import EndTxnRequest, EndTxnResponse
from odradek.security.acl import TRANSACTIONAL_ID, WRITE

FENCED_VERSION_MIN = 2
EPOCH_VERSION_MIN = 5


def refuse(request: EndTxnRequest, error: errors.KafkaError, version: int) -> EndTxnResponse:
    return EndTxnResponse(error_code=fenced_as(error, version, FENCED_VERSION_MIN))


@serves(EndTxnRequest, versions="0-5", refuse=refuse)
async def end_txn(call: BrokerCall, request: EndTxnRequest) -> EndTxnResponse:
    call.demand(WRITE, TRANSACTIONAL_ID, request.transactional_id)
    if not request.transactional_id:
        raise errors.InvalidRequest("A transactional id is not empty.")
    client_version = V2 if call.version >= EPOCH_VERSION_MIN else 0
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    ended = await call.services.transactions.end(request.transactional_id, producer, request.committed, client_version)
    return EndTxnResponse(producer_id=ended.producer_id, producer_epoch=ended.epoch)
