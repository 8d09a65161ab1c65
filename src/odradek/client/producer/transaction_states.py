r"""The states of a producer, and the ways from one to another.

    UNINITIALIZED -> INITIALIZING -> READY -> IN_TRANSACTION -> COMMITTING -> READY
                          ^                        |    \
                          |                        v     PREPARED -> COMMITTING, ABORTING or INITIALIZING
                          +---- ABORTING <- ABORTABLE_ERROR        anything -> FATAL_ERROR

Behind a commit or an abort of version 1 that went wrong in between comes INITIALIZING: the next transaction begins with
another epoch. What is prepared may be ended by somebody else, so that from there a producer can also begin anew. A
producer without a transactional id knows the first three states only.
"""

from enum import Enum


class State(Enum):
    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"  # InitProducerId is under way
    READY = "ready"
    IN_TRANSACTION = "in transaction"
    PREPARED = "prepared"  # all is written, and the end is left to whoever is told of it
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "abortable error"  # nothing but an abort is possible
    FATAL_ERROR = "fatal error"  # nothing is possible


SOURCES: dict[State, frozenset[State]] = {
    State.UNINITIALIZED: frozenset((State.READY,)),
    State.INITIALIZING: frozenset((State.UNINITIALIZED, State.PREPARED, State.COMMITTING, State.ABORTING)),
    State.READY: frozenset((State.INITIALIZING, State.COMMITTING, State.ABORTING)),
    State.IN_TRANSACTION: frozenset((State.READY,)),
    State.PREPARED: frozenset((State.IN_TRANSACTION,)),
    State.COMMITTING: frozenset((State.IN_TRANSACTION, State.PREPARED)),
    State.ABORTING: frozenset((State.IN_TRANSACTION, State.PREPARED, State.ABORTABLE_ERROR)),
    State.ABORTABLE_ERROR: frozenset((State.IN_TRANSACTION, State.COMMITTING, State.ABORTING, State.ABORTABLE_ERROR)),
    State.FATAL_ERROR: frozenset(State),
}
"""From where a state may be entered."""


class TransactionStateError(Exception):
    """The caller asked for something that the state of its producer does not allow."""
