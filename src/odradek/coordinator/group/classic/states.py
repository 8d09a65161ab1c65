"""The states of a classic group, by the names that Kafka tells, and which may follow which (`classic_group.py`)."""

EMPTY = "Empty"
PREPARING_REBALANCE = "PreparingRebalance"
COMPLETING_REBALANCE = "CompletingRebalance"
STABLE = "Stable"
DEAD = "Dead"

TRANSITIONS = {
    EMPTY: (PREPARING_REBALANCE,),
    PREPARING_REBALANCE: (COMPLETING_REBALANCE, EMPTY),
    COMPLETING_REBALANCE: (STABLE, PREPARING_REBALANCE),
    STABLE: (PREPARING_REBALANCE, STABLE),
}

AT_REST = (EMPTY, STABLE)  # nothing is under way: the group is what the log says of it

CONSUMER = "consumer"  # the protocol type whose metadata we can read
