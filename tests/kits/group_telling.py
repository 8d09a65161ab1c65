"""Groups told in text: a command, a line of dashes, what it comes to. The core is real, its log in memory.

    join a                       JoinGroup of the member that the story calls a; `new`: without an id
    ----
    a: MEMBER_ID_REQUIRED        an answer, whosever it is; `a: held` as long as it waits
    group 1 range a*             a record: generation, protocol, members; * is the leader

Commands of the classic protocol: join NAME [new] [old] [static INSTANCE] [reads TOPICS] [session MS] [rebalance MS];
sync NAME [NAME=TOPIC[N N] ...] [generation N]; beat NAME [generation N] [static INSTANCE]; leave NAME.
Of the consumer protocol: heartbeat NAME EPOCH [owns TOPIC[N N],...] [reads TOPICS] [static INSTANCE].
Of both: commit OFFSET [NAME EPOCH]; committed; topic NAME PARTITIONS; wait MS; reload; fail (appends); works; show.
"""

from consumer_kit import ConsumerStory
from group_kit import code_name
from odradek.protocol.errors import CoordinatorNotAvailable, KafkaError
from odradek.protocol.messages.consumer_offsets import GroupMetadataKey, OffsetCommitKey
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.protocol.messages.k11_join_group import JoinGroupResponse
from odradek.protocol.messages.k14_sync_group import SyncGroupResponse

MEMBER_STATES = ("stable", "unrevoked", "unreleased")


def options(words, *flags):
    """`key value` pairs, and flags that stand alone."""
    found, rest = {}, list(words)
    while rest:
        word = rest.pop(0)
        found[word] = True if word in flags else rest.pop(0)
    return found


class GroupTelling(ConsumerStory):
    def __init__(self):
        super().__init__({"a": 4, "b": 2})
        self.ids = {}  # of members, by the name that the story has for them
        self.written = 0
        self.waiting = {}  # names whose answer has not come, by ticket
        self.tickets = 0

    def tell(self, command):
        """One command; the lines that it comes to."""
        words = command.split()
        try:
            said = getattr(self, f"_tell_{words[0]}")(*words[1:])
        except KafkaError as error:
            said = error.name
        lines = [] if said is None else [said]
        return [*lines, *self._answered(), *self._records()]

    # Names

    def _name(self, member_id):
        return next((name for name, known in self.ids.items() if known == member_id), member_id)

    def _ticket(self, name):
        self.tickets += 1
        ticket = f"{name} {self.tickets}"
        self.waiting[ticket] = name
        return ticket

    # What comes

    def _answered(self):
        lines = []
        for ticket, name in list(self.waiting.items()):
            response = self.answers.get(ticket)
            if response is None:
                lines.append(f"{name}: held") if ticket == f"{name} {self.tickets}" else None
                continue
            del self.waiting[ticket]
            lines.append(f"{name}: {self._response(name, response)}")
        return lines

    def _response(self, name, response):
        if isinstance(response, JoinGroupResponse):
            if response.member_id:
                self.ids[name] = response.member_id
            if response.error_code:
                return code_name(response.error_code)
            leads = f", leads {' '.join(self._name(each.member_id) for each in response.members)}"
            skips = ", skips the assignment" if response.skip_assignment else ""
            return f"generation {response.generation_id}{leads if response.members else ''}{skips}"
        assert isinstance(response, SyncGroupResponse)
        return code_name(response.error_code) if response.error_code else self._share(response.assignment) or "nothing"

    def _share(self, data):
        if not data:
            return ""
        topics = ConsumerProtocolAssignment.decode(
            bytes(data), int.from_bytes(data[:2], "big"), at=2
        ).assigned_partitions
        return " ".join(f"{each.topic}[{' '.join(map(str, each.partitions))}]" for each in topics)

    def _records(self):
        new, self.written = self.log[self.written :], len(self.log)
        return [f"  {self._record(record.key, record.value)}" for record, _ in new]

    def _record(self, key, value):
        if isinstance(key, GroupMetadataKey):
            return "group removed" if value is None else self._group(value)
        if isinstance(key, OffsetCommitKey):
            return f"offset {key.topic}-{key.partition} " + ("removed" if value is None else str(value.offset))
        what = type(key).__name__.removeprefix("ConsumerGroup").removesuffix("Key")
        who = f" {self._name(key.member_id)}" if hasattr(key, "member_id") else ""
        return f"{what}{who} {'removed' if value is None else self._value(what, value)}".rstrip()

    def _group(self, value):
        names = [self._name(each.member_id) + "*" * (each.member_id == value.leader) for each in value.members]
        return " ".join(filter(None, (f"group {value.generation}", value.protocol, *names))) + (" empty" * (not names))

    def _value(self, what, value):
        if what == "Metadata":
            return f"epoch {value.epoch}"
        if what == "MemberMetadata":
            return f"reads {' '.join(value.subscribed_topic_names)}"
        if what == "TargetAssignmentMetadata":
            return f"epoch {value.assignment_epoch}"
        if what == "TargetAssignmentMember":
            return self.told(value.topic_partitions)
        if what == "CurrentMemberAssignment":
            pending = self.told(value.partitions_pending_revocation)
            gives = f" gives back {pending}" if pending else ""
            has = self.told(value.assigned_partitions)
            return f"{value.member_epoch} {MEMBER_STATES[value.state]} {has}".rstrip() + gives
        return ""

    # Commands

    def _tell_join(self, name, *words):
        said = options(words, "new", "old")
        fields = {"version": 3 if "old" in said else 9}
        fields["session_ms"] = int(said.get("session", 10_000))
        fields["rebalance_ms"] = int(said.get("rebalance", 60_000))
        fields["instance"] = said.get("static")
        fields["protocols"] = {"range": self.classic(*said.get("reads", "a").split(","))}
        member_id = "" if "new" in said else self.ids.get(name, "")
        self.join(self._ticket(name), member_id, **fields)

    def _tell_sync(self, name, *words):
        said = " ".join(words)
        generation = None
        if said.startswith("generation "):
            _, number, *rest = said.split()
            generation, said = int(number), " ".join(rest)
        shares = {}
        for each in said.replace("] ", "]|").split("|") if said else ():
            who, _, share = each.partition("=")
            topic, _, numbers = share.rstrip("]").partition("[")
            shares[self.ids[who]] = self.assignment(**{topic: [int(number) for number in numbers.split()]})
        self.sync(self._ticket(name), self.ids[name], shares, generation=generation)

    def _tell_beat(self, name, *words):
        said = options(words)
        generation = int(said["generation"]) if "generation" in said else None
        return self.heartbeat(self.ids[name], generation=generation, instance=said.get("static"))

    def _tell_leave(self, name):
        return " ".join(self.leave(self.ids.get(name, name)))

    def _tell_heartbeat(self, name, epoch, *words):
        said = " ".join(words).replace("[", "<").replace("]", ">")
        fields = {}
        if " reads " in f" {said}":
            said, _, topics = f" {said}".partition(" reads ")
            fields["names"] = topics.split()[0].replace(",", " ")
            said += "".join(f" {word}" for word in topics.split()[1:])
            fields["timeout_ms"] = 5000
        if " static " in f" {said}":
            said, _, instance = f" {said}".partition(" static ")
            fields["instance"] = instance.strip()
        said = said.strip().removeprefix("owns").strip().replace("<", "[").replace(">", "]").replace("nothing", "")
        owns = said.replace(",", " ") if "owns" in words else None
        return self.says(name, int(epoch), owns, **fields)

    def _tell_commit(self, offset, *who):
        if not who:
            return self.commit(int(offset), topic="a")
        name, epoch = who
        return self.commit(int(offset), topic="a", generation=int(epoch), member_id=self.ids.get(name, name), version=9)

    def _tell_committed(self):
        return str(self.committed(topic="a"))

    def _tell_topic(self, name, partitions):
        known = name in self.image.topics.by_name
        self.grow(name, int(partitions)) if known else self.create_topics(**{name: int(partitions)})

    def _tell_wait(self, ms):
        self.advance(int(ms))

    def _tell_reload(self):
        self.waiting.clear()
        self.reload()

    def _tell_fail(self):
        self.refusal = CoordinatorNotAvailable()

    def _tell_works(self):
        self.refusal = None

    def _tell_show(self):
        consumers = self.core.consumers.groups.get("g")
        if consumers is not None:
            members = [f"{name}@{each.epoch}" for name, each in sorted(consumers.members.items())]
            return " ".join((f"{consumers.state} {consumers.epoch}/{consumers.target_epoch}", *members))
        if "g" not in self.core.classic.groups:
            return "Dead"
        group = self.core.classic.groups["g"]
        members = [self._name(each) + "*" * (each == group.leader) for each in group.members]
        return " ".join((group.state, str(group.generation), *members))


def retold(text):
    """The whole story as it goes now."""
    story = GroupTelling()
    told = []
    for block in text.strip().split("\n\n"):
        if block.startswith("#"):
            told.append(block)
            continue
        command = block.split("\n")[0]
        told.append("\n".join([command, "----", *story.tell(command)]))
    return "\n\n".join(told) + "\n"
