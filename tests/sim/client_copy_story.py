"""A story of programs that copy in transactions, drawn from a seed: whole consumers and whole producers of ours.

    E1  who reads what is committed sees every input once, in the order of the inputs
    E2  when everything has healed, every input is copied, and no transaction is left open

Copiers(seed).run()       # raises ViolationError or AssertionError, with the seed that tells it again
"""

from broker_invariants import LogView
from client_copier import INPUT, OUTPUT, Copier
from client_group_story import GroupOfClients
from client_member import CONSUMER
from client_reader import SimReader
from client_story import violated

COPIERS_MAX = 3
REST_MS_MAX = 90_000
PARTITIONS = 2


class Copiers(GroupOfClients):
    properties = {
        **GroupOfClients.properties,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    }
    topics = {INPUT: PARTITIONS, OUTPUT: PARTITIONS}
    moments = (6, 12)
    moment_ms = (50, 700)

    def __init__(self, seed):
        super().__init__(seed)
        self.protocol = (CONSUMER, "range", "cooperative-sticky")[seed % 3]

    def begin(self):
        super().begin()
        self.reader = SimReader(self, "reader", is_read_committed=True)

    def events(self):
        return (
            (3, self.nothing),
            (3, self.stir),
            (3, self.start_member),
            (3, self.crash_member),
            (1, self.leave),
            (2, self.pause),
            (1, self.break_off),
            (2, self.cut_off),
            (2, self.crash_broker),
        )

    def happen(self):
        self.produce([(INPUT, index) for index in range(PARTITIONS)])
        super().happen()

    def draw_place(self):
        return INPUT, self.chance.below(PARTITIONS)

    def start_member(self):
        used = {member.name for member in self.alive()}
        free = sorted({f"c{number}" for number in range(COPIERS_MAX)} - used)
        if free:
            self.members.append(Copier(self, free[self.chance.below(len(free))], self.protocol))

    def bury(self):
        super().bury()
        self.reader.crash()

    def look(self):
        core = self.core()
        if core is not None:
            core.validate()

    # The end

    def finish(self):
        self.heal()
        self.produce([(INPUT, index) for index in range(PARTITIONS)])
        self.pass_ms(500)
        if not self.pass_until(self.is_copied, REST_MS_MAX):
            violated("E2", f"{self.committed()} of {self.ends()} are copied after {REST_MS_MAX} ms: {self.alive()}")
        for member in self.members:
            member.is_leaving = True
        if not self.pass_until(lambda: not self.alive(), REST_MS_MAX):
            violated("E2", f"{self.alive()} did not come to their end")
        self.check()

    def is_copied(self):
        """Programs that have failed are started again, as whoever runs them does."""
        if not self.alive():
            self.start_member()
        committed, ends = self.committed(), self.ends()
        return all(committed.get(place) == ends[place] for place in ends if place[0] == INPUT)

    def check(self):
        if not self.pass_until(lambda: self.stable() == self.ends(), REST_MS_MAX):
            violated("E2", f"a transaction is open: {self.stable()} of {self.ends()}")
        ends = self.ends()
        if not self.pass_until(lambda: self.reader.has_read(ends), REST_MS_MAX):
            violated("E2", f"a reader is at {self.reader.positions}, of {ends}")
        files = self.broker.node.disk.snapshot()
        for index in range(PARTITIONS):
            wanted, found = LogView(files, (INPUT, index)).values, self.reader.values[OUTPUT, index]
            if wanted != found:
                violated("E1", f"{differences(wanted, found)} of partition {index}")
        self.reader.is_leaving = True
        self.pass_until(lambda: self.reader.is_over, REST_MS_MAX)
        assert self.broker.errors == self.errors == []
        self.broker.stop()

    def stable(self):
        return {place: self.log(place).last_stable_offset for place in self.places()}

    @property
    def commits_made(self):
        return sum(member.commits for member in self.members)

    @property
    def aborts_made(self):
        return sum(member.aborts for member in self.members)


def differences(wanted, found):
    missing = [value for value in wanted if value not in found]
    twice = sorted({value for value in found if found.count(value) > 1})
    return f"missing {missing}, twice {twice}, or out of order {found}"
