"""What happens outside of the core once a decision is committed."""

from typing import NamedTuple

from odradek.coordinator.transaction.transaction import ProducerIdAndEpoch


class SendMarkers(NamedTuple):
    """A transaction is decided: every partition of it gets its marker, then it is complete."""

    transactional_id: str
    producer: ProducerIdAndEpoch  # of the markers


class AbortOverdue(NamedTuple):
    """A transaction has been open for longer than its producer asked for."""

    transactional_id: str
    producer: ProducerIdAndEpoch
