"""KIP-890 in the log: a question to the coordinator is guarded until the batch is in, or the transaction is over."""

import pytest

from log_kit import NOW, Partition, append_as_leader, batch, config, marker
from odradek.log.append import COORDINATOR
from odradek.log.producers.transaction_verification import GUARDS_MAX, Verifications
from odradek.protocol import errors
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

PRODUCER = 7


@pytest.fixture
def log():
    return Partition(SimDisk(SimRng(1).stream("disk")), config()).log


def append(log, records, origin=0):
    return append_as_leader(log, bytearray(records), 0, NOW, origin=origin)


def end(log, *, commit=True, epoch=0):
    return append(log, marker(PRODUCER, commit=commit, epoch=epoch), COORDINATOR)


def first(log, epoch=0, sequence=0):
    append(log, batch(b"a", producer=PRODUCER, epoch=epoch, sequence=sequence, transactional=True))


def test_a_marker_takes_the_permission_away(log):
    producers = log.producers
    guard = producers.verifications.start(PRODUCER, 0, 0)
    producers.check_in_transaction(PRODUCER, 0, 0, guard)
    end(log, commit=False)
    with pytest.raises(errors.InvalidTxnState):
        producers.check_in_transaction(PRODUCER, 0, 0, guard)
    again = producers.verifications.start(PRODUCER, 0, 0)
    producers.check_in_transaction(PRODUCER, 0, 0, again)


def test_an_open_transaction_needs_no_permission(log):
    first(log)
    log.producers.check_in_transaction(PRODUCER, 0, 1, None)
    with pytest.raises(errors.InvalidTxnState):
        log.producers.check_in_transaction(PRODUCER, 1, 0, None)
    end(log)
    with pytest.raises(errors.InvalidTxnState):
        log.producers.check_in_transaction(PRODUCER, 0, 1, None)


def test_the_first_batch_uses_the_guard_up(log):
    log.producers.verifications.start(PRODUCER, 0, 0)
    first(log)
    assert not log.producers.verifications


def test_a_later_batch_does_not_overtake_one_that_was_told_to_come_again(log):
    verifications = log.producers.verifications
    guard = verifications.start(PRODUCER, 0, 5)
    assert verifications.start(PRODUCER, 0, 8) is guard
    with pytest.raises(errors.OutOfOrderSequenceNumber):
        log.producers.check_in_transaction(PRODUCER, 0, 8, guard)
    log.producers.check_in_transaction(PRODUCER, 0, 5, guard)


def test_a_producer_of_version_2_begins_with_0(log):
    guard = log.producers.verifications.start(PRODUCER, 0, 5, begins_at_0=True)
    with pytest.raises(errors.OutOfOrderSequenceNumber):
        log.producers.check_in_transaction(PRODUCER, 0, 5, guard)


def test_epochs_of_guards():
    verifications = Verifications()
    old = verifications.start(PRODUCER, 0, 0)
    new = verifications.start(PRODUCER, 1, 0)
    assert new is not old
    zombie = verifications.start(PRODUCER, 0, 0)
    with pytest.raises(errors.InvalidTxnState):
        verifications.check(PRODUCER, 0, zombie, is_first=True)
    verifications.check(PRODUCER, 0, new, is_first=True)
    verifications.refuse(PRODUCER, old)
    assert len(verifications) == 1, "only its own guard is taken back"
    verifications.refuse(PRODUCER, new)
    assert not verifications


def test_producers_that_never_come_again_are_forgotten_in_the_end():
    verifications = Verifications()
    first = verifications.start(0, 0, 0)
    for producer_id in range(1, GUARDS_MAX + 1):
        last = verifications.start(producer_id, 0, 0)
    assert len(verifications) == GUARDS_MAX
    assert not verifications.is_valid(0, first)
    assert verifications.is_valid(GUARDS_MAX, last)


@pytest.mark.parametrize(
    ("epoch", "version", "is_refused"),
    [(0, 2, True), (1, 2, False), (0, 0, False), (0, 1, False)],
)
def test_a_marker_of_version_2_has_a_later_epoch_than_what_it_ends(log, epoch, version, is_refused):
    first(log)
    if is_refused:
        with pytest.raises(errors.InvalidProducerEpoch):
            log.producers.check_marker_epoch(PRODUCER, epoch, version)
    else:
        log.producers.check_marker_epoch(PRODUCER, epoch, version)


def test_a_marker_of_version_2_that_comes_again(log):
    first(log)
    end(log, epoch=1)
    log.producers.check_marker_epoch(PRODUCER, 1, 2)  # nothing is open: it does no harm
    with pytest.raises(errors.InvalidProducerEpoch):
        log.producers.check_marker_epoch(PRODUCER, 0, 2)
    first(log, epoch=1)
    with pytest.raises(errors.InvalidProducerEpoch):
        log.producers.check_marker_epoch(PRODUCER, 1, 2)
    log.producers.check_marker_epoch(99, 0, 2)  # of a producer that is not known here
