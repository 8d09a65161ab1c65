"""The states of a transactional id, with the numbers that `__transaction_state` has for them.

| state | how it is entered | from |
|---|---|---|
| Empty | InitProducerId | nothing, Empty, CompleteCommit, CompleteAbort |
| Ongoing | AddPartitionsToTxn, AddOffsetsToTxn, the produce path | Empty, Ongoing, CompleteCommit, CompleteAbort |
| PrepareCommit | EndTxn: the decision, never taken back | Ongoing |
| PrepareAbort | EndTxn, a timeout, a new producer | Ongoing; by EndTxn 5 also Empty, CompleteCommit, CompleteAbort |
| CompleteCommit | every partition has its marker | PrepareCommit |
| CompleteAbort | every partition has its marker | PrepareAbort |
| Dead | unused for too long: a record without a value, and forgotten | Empty, CompleteCommit, CompleteAbort |

PrepareEpochFence is what Kafka calls the step between Ongoing and PrepareAbort when it is not the producer that aborts.
It never reaches the log; here the step is one with PrepareAbort. Its name is still one to ask for in ListTransactions.
"""

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, DEAD, PREPARE_EPOCH_FENCE = range(8)

NAMES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)

IDLE = frozenset((EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT))  # no transaction is open
PREPARED = frozenset((PREPARE_COMMIT, PREPARE_ABORT))  # decided, the markers are under way

PREDECESSORS: dict[int, frozenset[int]] = {
    EMPTY: IDLE,
    ONGOING: IDLE | {ONGOING},
    PREPARE_COMMIT: frozenset((ONGOING,)),
    PREPARE_ABORT: IDLE | {ONGOING},
    COMPLETE_COMMIT: frozenset((PREPARE_COMMIT,)),
    COMPLETE_ABORT: frozenset((PREPARE_ABORT,)),
    DEAD: IDLE,
}


def prepare_state(is_commit: bool) -> int:
    return PREPARE_COMMIT if is_commit else PREPARE_ABORT


def complete_state(is_commit: bool) -> int:
    return COMPLETE_COMMIT if is_commit else COMPLETE_ABORT
