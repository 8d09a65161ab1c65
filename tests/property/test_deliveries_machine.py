"""The records of a share consumer's program against a model that knows of each record only where it is: with the
broker, in hand, said, on its way, or settled. Nothing is said of a record twice, and nothing is forgotten.
"""

from collections import deque

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.client.consumer.records import ConsumerRecord
from odradek.client.share_consumer.acknowledgement import ACCEPT, GAP, RENEW, AcknowledgeType, Source
from odradek.client.share_consumer.deliveries import Deliveries, Delivery, failed
from odradek.protocol.errors import InvalidRecordState
from odradek.protocol.topic_partition import TopicPartition

PARTITIONS = [Source(1 + number % 2, b"t" * 16, TopicPartition("t", number)) for number in range(3)]
IN_HAND, SAID, SENT, RENEWED = "in hand", "said", "sent", "renewed"
picks = st.integers(0, 30)


class DeliveriesMachine(RuleBasedStateMachine):
    """`where` has every offset that was acquired and is not settled, with what was said of it."""

    def __init__(self):
        super().__init__()
        self.deliveries = Deliveries()
        self.where = {}  # (place, offset): [where, said, is a record]
        self.sent = []
        self.next_offset = 0
        self.given = 0
        self.settled = 0

    def pick(self, index, *states):
        found = sorted(key for key, (state, _, _) in self.where.items() if state in states)
        return found[index % len(found)] if found else None

    @rule(partition=st.sampled_from(PARTITIONS), kinds=st.lists(st.sampled_from("rgf"), min_size=1, max_size=5))
    def give(self, partition, kinds):
        """Records, gaps, and records that could not be deserialized."""
        found = []
        for kind in kinds:
            offset, self.next_offset = self.next_offset, self.next_offset + 1
            key = (partition.place, offset)
            if kind == "r":
                found.append(Delivery(partition, offset, ConsumerRecord("t", partition.place.partition, offset)))
                self.where[key] = [IN_HAND, None, True]
            else:
                found.append(Delivery(partition, offset, said=GAP) if kind == "g" else failed(partition, offset))
                self.where[key] = [SAID, GAP if kind == "g" else AcknowledgeType.RELEASE, False]
        self.given += len(found)
        self.deliveries.give(found)
        self.deliveries.give(found)  # an interrupted poll gives them again

    @rule(index=picks, kind=st.sampled_from(AcknowledgeType))
    def acknowledge(self, index, kind):
        key = self.pick(index, IN_HAND, SAID, RENEWED)
        if key is None:
            return
        _, said, is_record = self.where[key]
        try:
            self.deliveries.acknowledge(*key, kind)
        except RuntimeError:
            assert said == GAP or (not is_record and kind == RENEW)
        else:
            assert said != GAP
            self.where[key] = [SAID, kind, is_record]

    @rule(index=picks)
    def acknowledge_what_is_not_in_hand(self, index):
        key = self.pick(index, SENT) or (PARTITIONS[0].place, self.next_offset + 1)
        try:
            self.deliveries.acknowledge(*key, ACCEPT)
        except RuntimeError:
            return
        raise AssertionError(key)

    @rule()
    def accept_rest(self):
        self.deliveries.accept_rest()
        for each in self.where.values():
            if each[0] == IN_HAND:
                each[:2] = [SAID, ACCEPT]

    @rule()
    def take(self):
        unsent = deque()
        taken = self.deliveries.take(unsent)
        assert taken == list(unsent)
        said = {(each.source.place, offset): kind for each in taken for offset, kind in each.types.items()}
        assert said == {key: kind for key, (state, kind, _) in self.where.items() if state == SAID}
        assert len({each.source for each in taken}) == len(taken)
        for key in said:
            self.where[key][0] = SENT
        self.sent += taken

    @precondition(lambda self: self.sent)
    @rule(index=picks, is_well=st.booleans())
    def answer(self, index, is_well):
        answered = self.sent.pop(index % len(self.sent))
        answered.done(None if is_well else InvalidRecordState())
        self.deliveries.outcome(answered)
        for offset, kind in answered.types.items():
            key = (answered.source.place, offset)
            if kind == RENEW and is_well:
                self.where[key] = [RENEWED, None, True]
            else:
                del self.where[key]
                self.settled += 1

    @rule()
    def give_renewed(self):
        renewed = self.deliveries.renewed()
        assert {each.key for each in renewed} == {key for key, each in self.where.items() if each[0] == RENEWED}
        assert all(each.record is not None for each in renewed)
        self.deliveries.give(renewed)
        for each in renewed:
            self.where[each.key] = [IN_HAND, None, True]

    @invariant()
    def it_knows_what_is_left_to_say(self):
        states = [state for state, _, _ in self.where.values()]
        assert self.deliveries.has_unacknowledged == (IN_HAND in states)

    @invariant()
    def it_knows_whether_locks_are_being_renewed(self):
        assert self.deliveries.is_renewing == any(
            state == SENT and kind == RENEW for state, kind, _ in self.where.values()
        )

    @invariant()
    def nothing_is_forgotten(self):
        assert len(self.where) + self.settled == self.given


TestDeliveries = DeliveriesMachine.TestCase
