"""The core of the transaction coordinator against a small model, with requests that come late, twice and from zombies.

The model knows, for each transactional id, the stamp (producer id and epoch) that was handed out last, whether a
transaction is open and what was decided about it. In version 2 one rule covers T5 and T6: a request that does not carry
the newest stamp changes nothing.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.coordinator.transaction import states
from odradek.coordinator.transaction.effects import SendMarkers
from odradek.coordinator.transaction.transaction import NO_PRODUCER
from odradek.protocol import errors
from transaction_kit import TIMEOUT_MS, TransactionStory

IDS = ("a", "b")
ids = st.sampled_from(IDS)
partitions = st.sets(st.tuples(st.sampled_from(("t", "u")), st.integers(0, 2)), min_size=1, max_size=3)


class Model:
    """One transactional id."""

    def __init__(self):
        self.stamp = None  # None: nobody has the newest one
        self.handed_out = set()
        self.open = None  # the partitions
        self.ending = None  # (is commit, partitions)
        self.last_ended = None  # the stamp and how it ended, for repetitions


class Transactions(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.story = TransactionStory(2)
        self.models = {each: Model() for each in IDS}
        self.sent = []  # requests that may come again: (kind, id, stamp, argument)
        self.decisions = {}  # by id and stamp of the markers

    # Producers

    @rule(transactional_id=ids)
    def a_new_producer(self, transactional_id):
        model = self.models[transactional_id]
        try:
            stamp = self.story.init(transactional_id)
        except errors.ConcurrentTransactions:
            assert model.ending is not None
            return
        assert model.ending is None
        if stamp == NO_PRODUCER:
            self._aborted(model)
            return
        assert model.open is None
        assert stamp not in model.handed_out, "an epoch belongs to one producer"
        model.stamp = stamp
        model.handed_out.add(stamp)
        model.last_ended = None

    @rule(transactional_id=ids, epoch=st.sampled_from((32764, 32765, 32766)))
    def many_transactions_later(self, transactional_id, epoch):
        model = self.models[transactional_id]
        txn = self.story.core.transactions.get(transactional_id)
        if model.stamp is None or model.open is not None or model.ending or txn.producer_epoch >= epoch:
            return
        self.story.raise_epoch(transactional_id, epoch)
        model.stamp = model.stamp._replace(epoch=epoch)
        model.handed_out.add(model.stamp)
        model.last_ended = None

    # What a producer with the newest stamp does

    @rule(transactional_id=ids, added=partitions)
    def add(self, transactional_id, added):
        model = self.models[transactional_id]
        if model.stamp is None:
            return
        self.sent.append(("add", transactional_id, model.stamp, frozenset(added)))
        try:
            self.story.add(transactional_id, model.stamp, added)
        except errors.ConcurrentTransactions:
            assert model.ending is not None
            return
        assert model.ending is None
        model.open = (model.open or set()) | added

    @rule(transactional_id=ids, is_commit=st.booleans())
    def end(self, transactional_id, is_commit):
        model = self.models[transactional_id]
        if model.stamp is None or model.ending is not None:
            return
        self.sent.append(("end", transactional_id, model.stamp, is_commit))
        try:
            stamp = self.story.end(transactional_id, model.stamp, is_commit)
        except errors.InvalidTxnState:
            assert model.open is None
            assert is_commit, "an empty transaction may be aborted"
            return
        assert stamp not in model.handed_out
        model.last_ended = (model.stamp, is_commit, stamp)
        model.ending = (is_commit, model.open or set())
        model.open = None
        model.stamp = stamp
        model.handed_out.add(stamp)

    # What comes late

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def something_comes_again(self, data):
        kind, transactional_id, stamp, argument = data.draw(st.sampled_from(self.sent))
        model = self.models[transactional_id]
        if stamp == model.stamp:
            return
        before = dict(self.story.core.transactions)
        try:
            if kind == "add":
                self.story.add(transactional_id, stamp, argument)
                answer = "ok"
            else:
                answer = self.story.end(transactional_id, stamp, argument)
        except errors.KafkaError as error:
            answer = error
        assert self.story.core.transactions == before, f"{kind} with an old stamp has changed something"
        if kind == "end" and model.last_ended is not None and model.last_ended[0] == stamp and model.open is None:
            self._check_repetition(model, argument, answer)
        else:
            assert isinstance(answer, (errors.ProducerFenced, errors.InvalidProducerIdMapping, errors.InvalidTxnState))

    def _check_repetition(self, model, is_commit, answer):
        if is_commit != model.last_ended[1]:
            assert isinstance(answer, errors.InvalidTxnState)
        elif model.ending is not None:
            assert isinstance(answer, errors.ConcurrentTransactions)
        else:
            assert answer == model.last_ended[2], "whoever repeats EndTxn gets the same answer"

    # The coordinator

    @precondition(lambda self: self._to_send())
    @rule(data=st.data())
    def markers_are_written(self, data):
        sent = data.draw(st.sampled_from(self._to_send()))
        model = self.models[sent.transactional_id]
        txn = self.story.core.to_send(sent)
        if txn is None:
            assert not self.story.complete(*sent), "what is complete is not completed again"
            return
        is_commit, enlisted = model.ending
        assert txn.is_commit == is_commit
        assert txn.partitions == enlisted
        assert self.decisions.setdefault(sent, is_commit) == is_commit, "one decision for each stamp (T4)"
        assert self.story.complete(*sent)
        model.ending = None

    def _to_send(self):
        return [effect for effect in self.story.effects if type(effect) is SendMarkers]

    @rule(ms=st.sampled_from((1000, TIMEOUT_MS, 3 * TIMEOUT_MS)))
    def time_goes_by(self, ms):
        opened = {each for each, model in self.models.items() if model.open is not None}
        self.story.wait(ms)
        for transactional_id in opened:
            if self.story.state(transactional_id) != "Ongoing":
                self._aborted(self.models[transactional_id])
            else:
                assert ms < 2 * TIMEOUT_MS, "it should have been aborted (T7)"

    def _aborted(self, model):
        """Its producer is fenced."""
        model.ending = (False, model.open)
        model.open = None
        model.stamp = None
        model.last_ended = None

    @rule()
    def another_coordinator_takes_over(self):
        before = len(self.story.effects)
        self.story.reload()
        found = {effect.transactional_id for effect in self.story.effects[before:]}
        assert found == {each for each, model in self.models.items() if model.ending is not None}

    @rule()
    def an_append_fails(self):
        self.story.fails = True
        before = dict(self.story.core.transactions)
        try:
            self.story.init("a")
        except (errors.CoordinatorNotAvailable, errors.ConcurrentTransactions):
            assert self.story.core.transactions == before
        finally:
            self.story.fails = False

    # What always holds

    @invariant()
    def state_is_what_the_model_says(self):
        for transactional_id, model in self.models.items():
            txn = self.story.core.transactions.get(transactional_id)
            if txn is None:
                assert model.stamp is None
                continue
            assert (txn.state == states.ONGOING) == (model.open is not None)
            assert (txn.state in states.PREPARED) == (model.ending is not None)
            if model.open is not None:
                assert txn.partitions == model.open
                assert txn.producer == model.stamp
            elif model.stamp is not None and model.ending is None:
                assert txn.producer == model.stamp


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=100, stateful_step_count=40)
