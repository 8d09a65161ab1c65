"""What the members and the coordinator of a group have told, and whether it fits together: G1, G3, G5, G7 and V4.

See `group_story.py` for what they say. A *tenure* is one uninterrupted ownership of a partition as its member sees it.
"""

from group_member import CONSUMER, GROUP

from history import ViolationError


def violated(rule, message):
    raise ViolationError(rule, message)


class GroupHistory:
    """`is_strict`: a member that gives up a partition by itself has no longer a say in it, whoever is next.

    `is_mixed`: members speak both protocols. A group whose last member has left may come back as a classic one, which
    counts from one: epochs are those of a membership, not of a member id.
    """

    def __init__(self, is_strict, is_mixed, next_number):
        self._is_strict = is_strict
        self._is_mixed = is_mixed
        self._next_number = next_number
        self.commits = self.moves = 0
        self.read = {}  # offsets that somebody has read, by partition
        self._epochs = {}  # the highest that a member id was told
        self._next_read = {}  # by tenure
        self._terms = {}  # who has taken a partition last, by partition, and the number of its term
        self._sent = {}  # terms in which the commit was sent, by (partition, offset)
        self._committed = {}  # what the coordinator has had committed, in order, by partition
        self._acked = {}  # by partition, where in that list the last acknowledged one stands
        self._core = None

    # What members tell

    def check_owners(self, members, member):
        owners = {}
        for each in members:
            for place in each.believes():
                if place in owners:
                    violated("G1", f"{place} is taken for its own by {owners[place]} and by {each}")
                owners[place] = each
        if member.protocol == CONSUMER:
            self._check_epoch(member, member.membership.member_id, member.membership.epoch)

    def _check_epoch(self, member, member_id, epoch):
        if epoch > 0:
            if epoch < self._epochs.get(member_id, 0):
                violated("G3", f"{member} was told epoch {self._epochs[member_id]} before")
            self._epochs[member_id] = epoch
        elif self._is_mixed:
            self._epochs.pop(member_id, None)

    def begins(self, member, place, offset):
        """It was told where to go on: at what is committed."""
        self._next_read[member.tenures[place]] = offset
        known = self._committed.get(place)
        if offset and (known is None or offset not in known):
            violated("G7", f"{member} goes on at {offset} of {place}, which nobody has committed")

    def reads(self, member, place, offset):
        expected = self._next_read[member.tenures[place]]
        if offset != expected:
            violated("V4", f"{member} reads {offset} of {place} after {expected - 1}")
        self._next_read[member.tenures[place]] = offset + 1
        self.read.setdefault(place, set()).add(offset)

    def takes(self, member, place):
        """The number of a new tenure.

        Where the broker assigns, a member that gave up by itself may not have lost anything as the coordinator sees it:
        it goes on with the term that it had, if nobody else has had one since.
        """
        tenure = self._next_number()
        last_owner, term = self._terms.get(place, (None, None))
        if last_owner is not member or self._is_strict:
            term = tenure
            self.moves += 1
        self._terms[place] = (member, term)
        return tenure

    def sends_commit(self, member, place, offset):
        owner, term = self._terms[place]
        if owner is not member:
            term = member.tenures[place]  # a zombie's: whatever it says has to be refused
        self._sent.setdefault((place, offset), set()).add(term)

    def commit_acknowledged(self, member, place, offset):
        self.commits += 1
        history = self._committed.get(place, [])
        for at in range(len(history) - 1, -1, -1):
            if history[at] == offset:
                self._acked[place] = max(self._acked.get(place, 0), at)
                return
        violated("G7", f"{offset} of {place} was acknowledged to {member}, and the coordinator never had it")

    # What the coordinator knows

    def look_at_commits(self, core):
        if self._core is not core:
            self._core = core
            self.check_after_load(core)
        for topic, index, committed in core.offsets.places(GROUP):
            place = (topic, index)
            history = self._committed.setdefault(place, [])
            if not history or history[-1] != committed.offset:
                if history and committed.offset < history[-1]:
                    self.check_going_back(place, history[-1], committed.offset)
                history.append(committed.offset)

    def check_after_load(self, core):
        """What was acknowledged is there, or what came after it: perhaps in the turn in which the broker crashed."""
        found = {(topic, index): committed.offset for topic, index, committed in core.offsets.places(GROUP)}
        for place, history in self._committed.items():
            offset = found.get(place)
            is_news = offset not in history and (place, offset) in self._sent
            if place in self._acked and not is_news and offset not in history[self._acked[place] :]:
                wanted = history[self._acked[place] :]
                violated("G7", f"{place} is at {offset} after a start: acknowledged was {wanted}")
            if place in found:
                history.append(found[place])

    def check_going_back(self, place, before, after):
        both = self._sent.get((place, before), set()) & self._sent.get((place, after), set())
        if not both:
            violated("G5", f"{place} went back from {before} to {after}")
