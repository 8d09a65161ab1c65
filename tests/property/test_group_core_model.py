"""A stateful test: members that join, sync, commit, fall silent and leave in any order, against a small model.

The model knows only what members were told: in which generation they are and what they have committed. It holds the
core to G1 (nobody is assigned what another member of the same generation has), G5 (a member of another generation does
not commit, and an offset never goes back), G6 (left in peace, the group becomes stable) and G7 (a new coordinator knows
everything that was acknowledged).
"""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from group_kit import GroupStory

PARTITIONS = [bytes([index]) for index in range(6)]


class Consumer:
    """An honest client: it does what the answers say."""

    def __init__(self, name, instance):
        self.name = name
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.waits = None  # the ticket that it waits with, "join" or "sync"
        self.phase = "out"  # out, joining, joined, syncing, stable
        self.owned = b""
        self.tickets = 0

    def new_ticket(self, kind):
        self.tickets += 1
        self.waits = f"{self.name} {kind} {self.tickets}"
        return self.waits


class Groups(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.story = GroupStory()
        self.consumers = [Consumer("a", None), Consumer("b", None), Consumer("c", "i1"), Consumer("d", "i2")]
        self.committed = 0  # the newest acknowledged offset

    # What clients do

    @rule(index=st.integers(0, 3))
    def act(self, index):
        self._act(self.consumers[index])

    def _act(self, consumer):
        self._take_answer(consumer)
        if consumer.phase == "out":
            self._join(consumer)
        elif consumer.phase == "joined":
            self._sync(consumer)
        elif consumer.phase == "stable":
            self._heartbeat(consumer)

    def _join(self, consumer):
        consumer.phase = "joining"
        self.story.join(consumer.new_ticket("join"), consumer.member_id, instance=consumer.instance, session_ms=10_000)
        self._take_answer(consumer)

    def _sync(self, consumer):
        consumer.phase = "syncing"
        assignments = None
        told = self.story.answers.get(f"{consumer.name} told")
        if told is not None and told.leader == consumer.member_id:
            members = [member.member_id for member in told.members]
            assignments = {member: b"".join(PARTITIONS[at :: len(members)]) for at, member in enumerate(members)}
        self.story.sync(
            consumer.new_ticket("sync"),
            consumer.member_id,
            assignments,
            generation=consumer.generation,
            instance=consumer.instance,
        )
        self._take_answer(consumer)

    def _heartbeat(self, consumer):
        answer = self.story.heartbeat(consumer.member_id, generation=consumer.generation, instance=consumer.instance)
        if answer != "ok":
            self._leave_generation(consumer, answer)

    def _take_answer(self, consumer):
        response = self.story.answers.get(consumer.waits)
        if response is None:
            return
        consumer.waits = None
        code = response.error_code
        if consumer.phase == "joining":
            if code == 79:
                consumer.member_id = response.member_id
                consumer.phase = "out"
            elif code:
                self._leave_generation(consumer, code)
            else:
                consumer.member_id, consumer.generation = response.member_id, response.generation_id
                consumer.phase = "joined"
                self.story.answers[f"{consumer.name} told"] = response
        elif code:
            self._leave_generation(consumer, code)
        else:
            consumer.phase, consumer.owned = "stable", response.assignment

    def _leave_generation(self, consumer, reason):
        if reason in (25, "UNKNOWN_MEMBER_ID", 82, "FENCED_INSTANCE_ID"):
            consumer.member_id = ""
        consumer.phase, consumer.owned, consumer.generation = "out", b"", -1

    @rule(index=st.integers(0, 3))
    def leave(self, index):
        consumer = self.consumers[index]
        if consumer.member_id and consumer.phase in ("stable", "joined"):
            self.story.leave(consumer.member_id)
            self._leave_generation(consumer, "UNKNOWN_MEMBER_ID")

    @rule(index=st.integers(0, 3))
    def crash(self, index):
        """It forgets everything; whoever it was may still be a member."""
        consumer = self.consumers[index]
        consumer.waits = None
        self._leave_generation(consumer, "UNKNOWN_MEMBER_ID")

    @rule(index=st.integers(0, 3))
    def commit(self, index):
        consumer = self.consumers[index]
        if consumer.phase not in ("stable", "joined"):
            return
        answer = self.story.commit(
            self.committed + 1,
            member_id=consumer.member_id,
            generation=consumer.generation,
            instance_id=consumer.instance,
        )
        is_current = consumer.generation == self.story.generation()
        assert is_current or answer != "ok", "G5: a member of another generation has committed"
        if answer == "ok":
            self.committed += 1

    @rule(offset=st.integers(0, 50))
    def commit_from_outside(self, offset):
        is_empty = self.story.state() in ("Empty", "Dead")
        answer = self.story.commit(self.committed + offset)
        assert (answer == "ok") == is_empty, f"{answer} while the group is {self.story.state()}"
        if answer == "ok":
            self.committed += offset

    @rule(ms=st.sampled_from([1, 500, 3000, 9999, 10_000, 61_000]))
    def time_passes(self, ms):
        self.story.advance(ms)

    @rule()
    def the_coordinator_changes(self):
        """Requests that were held are refused: NOT_COORDINATOR, and clients come again as who they are."""
        self.story.reload()
        for consumer in self.consumers:
            if consumer.waits is not None and consumer.waits not in self.story.answers:
                consumer.waits = None
                consumer.phase = "out"

    # What must hold

    @invariant()
    def acknowledged_commits_are_there(self):
        if self.committed:
            assert self.story.committed() == self.committed, "G7"

    @invariant()
    def nobody_owns_what_another_owns(self):
        owners = {}
        for consumer in self.consumers:
            if consumer.phase == "stable" and consumer.generation == self.story.generation():
                for partition in consumer.owned:
                    assert partition not in owners, f"G1: {consumer.name} and {owners[partition]} own {partition}"
                    owners[partition] = consumer.name

    @invariant()
    def redundant_state_agrees(self):
        self.story.core.validate()

    @precondition(lambda self: any(consumer.phase != "out" for consumer in self.consumers))
    @rule()
    def left_in_peace_it_becomes_stable(self):
        for _ in range(60):
            for consumer in self.consumers:
                self._act(consumer)
            self.story.advance(3000)
            if all(consumer.phase == "stable" for consumer in self.consumers) and self.story.state() == "Stable":
                break
        assert self.story.state() == "Stable", "G6"
        owned = sorted(partition for consumer in self.consumers for partition in consumer.owned)
        assert owned == sorted(b"".join(PARTITIONS)), "G2: every partition exactly once"


TestGroups = Groups.TestCase
TestGroups.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
