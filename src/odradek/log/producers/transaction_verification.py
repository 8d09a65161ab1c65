"""While a leader asks the coordinator whether a batch belongs to a transaction, the transaction may end (KIP-890).

The question is guarded: a marker of the same producer takes the guard away, and with it the permission that was asked
for. Else the batch would open a transaction behind its own marker, which nobody would ever end.

The guard also remembers the lowest sequence that was asked for. Of two batches the first may be told to come again
while the second is let in: it must not become the first of its producer (P2). A producer of version 2, which has a new
epoch for each transaction, begins each with sequence 0: nothing else can be the first.
"""

from odradek.protocol import errors

GUARDS_MAX = 10_000  # of a partition: producers that are told to come again need not do so


class VerificationGuard:
    __slots__ = ("epoch", "lowest_sequence")

    def __init__(self, epoch: int, lowest_sequence: int) -> None:
        self.epoch = epoch
        self.lowest_sequence = lowest_sequence


class Verifications:
    """The open questions of one partition, by producer id."""

    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[int, VerificationGuard] = {}

    def __len__(self) -> int:
        return len(self._guards)

    def start(self, producer_id: int, epoch: int, sequence: int, *, begins_at_0: bool = False) -> VerificationGuard:
        if begins_at_0:
            sequence = min(sequence, 0)
        guard = self._guards.get(producer_id)
        if guard is None or guard.epoch < epoch:
            if len(self._guards) >= GUARDS_MAX:
                del self._guards[next(iter(self._guards))]  # the oldest: whoever still waits for it is asked again
            guard = self._guards[producer_id] = VerificationGuard(epoch, sequence)
        elif guard.epoch > epoch:
            return VerificationGuard(epoch, sequence)  # that of a zombie counts for nothing
        guard.lowest_sequence = min(guard.lowest_sequence, sequence)
        return guard

    def end(self, producer_id: int) -> None:
        """A marker, or the first batch of the transaction."""
        self._guards.pop(producer_id, None)

    def refuse(self, producer_id: int, guard: VerificationGuard) -> None:
        """The coordinator has said no, for good."""
        if self._guards.get(producer_id) is guard:
            del self._guards[producer_id]

    def is_valid(self, producer_id: int, guard: VerificationGuard) -> bool:
        return self._guards.get(producer_id) is guard

    def clear(self) -> None:
        self._guards.clear()

    def check(self, producer_id: int, sequence: int, guard: VerificationGuard | None, *, is_first: bool) -> None:
        """Before the append of a batch that opens a transaction; `is_first`: nothing is known of its epoch."""
        if guard is None or not self.is_valid(producer_id, guard):
            raise errors.InvalidTxnState("The transaction has ended before the record was appended.")
        if is_first and sequence > guard.lowest_sequence:
            raise errors.OutOfOrderSequenceNumber(
                f"Producer {producer_id} sent sequence {sequence}, and {guard.lowest_sequence} is still to come."
            )
