"""ListTransactions, versions 0-2: the transactional ids that this broker coordinates, filtered.

     1  only those whose transaction has been open for longer than so many milliseconds (KIP-994)
     2  only those whose id matches a pattern (KIP-1152)

Who may: DESCRIBE on a transactional id; others are left out.
Errors: COORDINATOR_LOAD_IN_PROGRESS while one of the partitions is being loaded; INVALID_REGULAR_EXPRESSION.
States that do not exist are told, not refused.
"""

from odradek.coordinator.shard import LOADING
from odradek.coordinator.transaction import states
from odradek.coordinator.transaction.listing import Filters
from odradek.coordinator.transaction.transaction import Transaction
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k66_list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from odradek.replicated.decision import answer
from odradek.security.acl import DESCRIBE, TRANSACTIONAL_ID


@serves(ListTransactionsRequest, versions="0-2", is_read=True)
async def list_transactions(call: BrokerCall, request: ListTransactionsRequest) -> ListTransactionsResponse:
    coordinator = call.services.transactions
    if any(shard.state is LOADING for shard in coordinator.shards):
        raise errors.CoordinatorLoadInProgress()
    filters = Filters(
        request.state_filters, request.producer_id_filters, request.duration_filter, request.transactional_id_pattern
    )
    now_ms = call.now_ms()
    found: list[Transaction] = []
    for shard in coordinator.shards:
        found += await shard.run(
            lambda core: answer([txn for txn in core.transactions.values() if filters.lets(txn, now_ms)])
        )
    allowed = call.authorize_all(DESCRIBE, TRANSACTIONAL_ID, [txn.transactional_id for txn in found])
    return ListTransactionsResponse(
        unknown_state_filters=filters.unknown_states,
        transaction_states=[
            TransactionState(
                transactional_id=txn.transactional_id,
                producer_id=txn.producer_id,
                transaction_state=states.NAMES[txn.state],
            )
            for txn in found
            if txn.transactional_id in allowed
        ],
    )
