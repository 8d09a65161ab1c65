"""Consumer groups with honest clients: what members believe they own never overlaps, whatever is lost on the way.

A client owns what it believes: it takes an assignment over when it gets to it, gives back before it takes, and says
what it owns. Answers are lost, clients crash, pause, restart with their instance id and change their mind; topics come,
grow and go; appends fail, and the coordinator is loaded anew from its log. Checked after every step: G1 by belief, G3
and G4 (`validate` has them as the coordinator sees it), G5; at the end, when all is quiet, G6 and with it G2.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from consumer_kit import JOIN, LEAVE, LEAVE_STATIC, ConsumerStory
from odradek.protocol import errors
from odradek.protocol.messages.k68_consumer_group_heartbeat import TopicPartitions

TOPICS = ("a", "b", "c")
SUBSCRIPTIONS = st.sets(st.sampled_from(TOPICS), min_size=1).map(sorted).map(tuple)
CLIENTS_MAX = 5
TIMEOUT_MS = 8_000
INTERVAL_MS = 1_000


class Client:
    """What a member knows."""

    def __init__(self, member_id, topics, instance=None, assignor=None):
        self.member_id = member_id
        self.topics = topics
        self.instance = instance
        self.assignor = assignor
        self.epoch = JOIN
        self.owned = frozenset()  # (topic id, partition)
        self.wanted = None  # an assignment that it has been told and not taken over yet
        self.tells_all = True  # it joins, or has missed an answer
        self.is_paused = False

    def take_over(self):
        if self.wanted is not None:
            self.owned, self.wanted = self.wanted, None

    def forget(self):
        """It was fenced: it owns nothing and joins again."""
        self.epoch, self.owned, self.wanted, self.tells_all = JOIN, frozenset(), None, True


class ConsumerGroupMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.clients = []
        self.names = 0
        self.epochs = {}  # the highest that a member was told

    @initialize(interval_ms=st.sampled_from([0, INTERVAL_MS]))
    def begin(self, interval_ms):
        self.story = ConsumerStory({"a": 3, "b": 2}, interval_ms=interval_ms)

    def client(self, number):
        return self.clients[number % len(self.clients)]

    @property
    def members(self):
        group = self.story.core.consumers.groups.get("g")
        return {} if group is None else group.members

    # Requests

    def beat(self, client, *, is_lost=False, epoch=None):
        epoch = client.epoch if epoch is None else epoch
        is_leaving = epoch < JOIN
        fields = {}
        if client.tells_all and not is_leaving:
            fields = {"subscribed_topic_names": list(client.topics), "timeout_ms": TIMEOUT_MS}
            if client.assignor is not None:
                fields["assignor"] = client.assignor
        owns = self.said(client) if client.tells_all or client.wanted is None else None
        if epoch == JOIN:
            client.owned, client.wanted = frozenset(), None
            owns = []
        response = self.asked(client, epoch, owns if not is_leaving else None, fields)
        if response is None or is_lost:
            client.tells_all = True
            return None
        return self.heard(client, response) if not is_leaving else response

    def asked(self, client, epoch, owns, fields):
        try:
            return self.story.beat(client.member_id, epoch, owns, **fields, instance=client.instance)
        except errors.CoordinatorNotAvailable:
            return None

    def said(self, client):
        topics = {}
        for topic_id, partition in sorted(client.owned):
            topics.setdefault(topic_id, []).append(partition)
        return [TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in topics.items()]

    def heard(self, client, response):
        if response.error_code in (errors.UnknownMemberId.code, errors.FencedMemberEpoch.code):
            client.forget()
            return response
        if response.error_code:
            assert response.error_code in (errors.FencedInstanceId.code, errors.UnreleasedInstanceId.code), response
            self.clients.remove(client)
            return response
        client.tells_all = False
        client.epoch = response.member_epoch
        if response.assignment is not None:
            client.wanted = frozenset(
                (bytes(topic.topic_id), partition)
                for topic in response.assignment.topic_partitions
                for partition in topic.partitions
            )
        last = self.epochs.get(client.member_id, 0)
        assert response.member_epoch >= last, "G3: epochs only grow"
        self.epochs[client.member_id] = response.member_epoch
        return response

    # Clients

    @precondition(lambda self: len(self.clients) < CLIENTS_MAX)
    @rule(topics=SUBSCRIPTIONS, is_static=st.booleans(), assignor=st.sampled_from([None, "range"]), lost=st.booleans())
    def join(self, topics, is_static, assignor, lost):
        self.names += 1
        instance = f"i{self.names}" if is_static else None
        client = Client(f"m{self.names}", topics, instance, assignor)
        self.clients.append(client)
        self.beat(client, is_lost=lost)

    @precondition(lambda self: self.clients)
    @rule(number=st.integers(0, 9), lost=st.booleans())
    def heartbeat(self, number, lost):
        client = self.client(number)
        if not client.is_paused:
            self.beat(client, is_lost=lost)

    @precondition(lambda self: self.clients)
    @rule(number=st.integers(0, 9))
    def take_over(self, number):
        self.client(number).take_over()

    @precondition(lambda self: self.clients)
    @rule(number=st.integers(0, 9), topics=SUBSCRIPTIONS)
    def subscribe(self, number, topics):
        client = self.client(number)
        client.topics, client.tells_all = topics, True

    @precondition(lambda self: self.clients)
    @rule(number=st.integers(0, 9))
    def pause(self, number):
        client = self.client(number)
        client.is_paused = not client.is_paused

    @precondition(lambda self: self.clients)
    @rule(number=st.integers(0, 9), says_so=st.booleans())
    def leave(self, number, says_so):
        """Or crash: then the coordinator finds out by itself."""
        client = self.client(number)
        self.clients.remove(client)
        if says_so:
            self.beat(client, epoch=LEAVE)

    @precondition(lambda self: any(client.instance for client in self.clients))
    @rule(number=st.integers(0, 9), is_clean=st.booleans(), topics=SUBSCRIPTIONS)
    def restart(self, number, is_clean, topics):
        static = [client for client in self.clients if client.instance]
        old = static[number % len(static)]
        self.clients.remove(old)
        if is_clean:
            self.beat(old, epoch=LEAVE_STATIC)
        self.names += 1
        new = Client(f"m{self.names}", topics, old.instance)
        self.clients.append(new)
        self.beat(new)

    @precondition(lambda self: self.clients)
    @rule(number=st.integers(0, 9), partition=st.integers(0, 2), topic=st.sampled_from(TOPICS))
    def commit(self, number, topic, partition):
        client = self.client(number)
        is_member = client.member_id in self.members
        try:
            told = self.story.commit(
                1,
                topic=topic,
                partition=partition,
                generation=client.epoch,
                member_id=client.member_id,
                instance_id=client.instance,
                version=9,
            )
        except errors.CoordinatorNotAvailable:
            return
        if self.members and not is_member:
            assert told != "ok", "G5: who is no member any more commits nothing"

    # The cluster

    @rule(topic=st.sampled_from(TOPICS), partitions=st.integers(1, 6))
    def change_topic(self, topic, partitions):
        known = self.story.image.topics.by_name.get(topic)
        if known is None:
            self.story.create_topics(**{topic: partitions})
        elif partitions > len(known.partitions):
            self.story.grow(topic, partitions)
        elif partitions == 1:
            self.story.delete_topic(topic)

    @rule(ms=st.sampled_from([1, 500, INTERVAL_MS, TIMEOUT_MS, 20_000]))
    def advance(self, ms):
        if self.story.refusal is None:
            self.story.advance(ms)

    @rule()
    def reload(self):
        before = {name: group.copy() for name, group in self.story.core.consumers.groups.items()}
        self.story.reload()
        after = self.story.core.consumers.groups
        assert set(after) == set(before)
        for name, group in before.items():
            assert (after[name].members, after[name].target) == (group.members, group.target)
            assert (after[name].epoch, after[name].target_epoch) == (group.epoch, group.target_epoch)

    @rule(fails=st.booleans())
    def appends(self, fails):
        self.story.refusal = errors.CoordinatorNotAvailable() if fails else None

    # What must hold

    @invariant()
    def nobody_believes_to_own_what_another_owns(self):
        owners = {}
        for client in self.clients:
            if client.member_id not in self.members:
                continue  # it is not in the group any more, and will hear of it
            for place in client.owned:
                assert place not in owners, f"G1: {place} of {owners[place]} and {client.member_id}"
                owners[place] = client.member_id

    @invariant()
    def a_stable_group_is_at_rest(self):
        group = self.story.core.consumers.groups.get("g") if hasattr(self, "story") else None
        if group is not None and group.state == "Stable":
            for member in group.members.values():
                assert member.epoch == group.epoch and not any(member.pending_revocation.values()), "G4"

    def teardown(self):
        """G6: when all is quiet, everybody who is there has a share, and everything has an owner."""
        if not hasattr(self, "story"):
            return
        self.story.refusal = None
        for client in self.clients:
            client.is_paused = False
        for _ in range(60):
            self.story.advance(INTERVAL_MS)
            for client in list(self.clients):
                self.beat(client)
                client.take_over()
        if self.clients:
            assert self.story.epochs().startswith("Stable"), self.story.consumer_group().members
        owned = sorted(place for client in self.clients for place in client.owned)
        subscribed = {topic for client in self.clients for topic in client.topics}
        by_name = self.story.image.topics.by_name
        expected = sorted(
            (by_name[topic].id, partition)
            for topic in subscribed
            if topic in by_name
            for partition in by_name[topic].partitions
        )
        assert owned == expected, "G2: every partition that somebody reads, once"


ConsumerGroupMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestConsumerGroupMachine = ConsumerGroupMachine.TestCase
