"""Consumer groups told in stories: `GroupStory` with topics, and heartbeats of the consumer protocol.

Answers and states are told as text: "3: a[0 1] b[0]" is member epoch 3 with these partitions assigned, "3" an answer
without an assignment, "FENCED_MEMBER_EPOCH" a refusal.
"""

import metadata_kit
from group_kit import GroupStory, code_name
from manager_kit import layers
from odradek.coordinator.group.consumer.config import ConsumerConfig
from odradek.coordinator.group.consumer.requests import Caller
from odradek.coordinator.group.core import GroupCore
from odradek.coordinator.group.topics import GroupTopics
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import EMPTY
from odradek.protocol.messages import metadata_topics
from odradek.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

JOIN, LEAVE, LEAVE_STATIC = 0, -1, -2


class ConsumerStory(GroupStory):
    def __init__(self, topics=None, *, interval_ms=0, **configs):
        """`topics` is partitions by name. Assignments are made at once unless `interval_ms` says otherwise."""
        self.topics = GroupTopics()
        self.image = EMPTY
        self.names = {}  # of topics, by id
        self.made = 0
        configs = {"group_consumer_assignment_interval_ms": interval_ms, **configs}
        self.consumer_config = ConsumerConfig(layers("4.3", **configs).config)
        self.create_topics(**({"a": 4, "b": 2} if topics is None else topics))
        super().__init__(**{name: value for name, value in configs.items() if "consumer" not in name})

    def _new_core(self):
        return GroupCore(
            self.config, self.release, self._uuid, consumer_config=self.consumer_config, topics=self.topics
        )

    # The cluster.

    def change(self, *records):
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.offset + 1, 1)
        self.topics.applied(delta, self.image)

    def create_topics(self, **topics):
        for name, partitions in topics.items():
            self.made += 1
            self.names[metadata_kit.topic_id(self.made)] = name
            self.change(*metadata_kit.topic(self.made, partitions, name=name))

    def grow(self, name, partitions):
        number = int.from_bytes(self.id_of(name), "big")
        have = len(self.image.topics.by_name[name].partitions)
        self.change(*[metadata_kit.partition(number, index) for index in range(have, partitions)])

    def delete_topic(self, name):
        self.change(metadata_topics.RemoveTopicRecord(topic_id=self.id_of(name)))

    def set_group_config(self, name, value, group="g"):
        self.change(metadata_topics.ConfigRecord(resource_type=32, resource_name=group, name=name, value=value))

    def id_of(self, name):
        return self.image.topics.by_name[name].id

    # Members.

    def beat(self, member, epoch, owns=None, *, group="g", version=1, may_describe=lambda name: True, **fields):
        """The response. `owns` and `names` are text: "a[0 1] b[0]" and "a b"."""
        if "names" in fields:
            fields["subscribed_topic_names"] = fields.pop("names").split()
        if "regex" in fields:
            fields["subscribed_topic_regex"] = fields.pop("regex")
        if "instance" in fields:
            fields["instance_id"] = fields.pop("instance")
        if "timeout_ms" in fields:
            fields["rebalance_timeout_ms"] = fields.pop("timeout_ms")
        if "assignor" in fields:
            fields["server_assignor"] = fields.pop("assignor")
        partitions = None if owns is None else self.partitions(owns) if isinstance(owns, str) else owns
        request = ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=member, member_epoch=epoch, topic_partitions=partitions, **fields
        )
        caller = Caller("client", "/127.0.0.1", version, may_describe)
        return self.event(lambda core: core.consumers.heartbeat(self.now, request, caller))

    def says(self, member, epoch, owns=None, **options):
        """The same, told as text."""
        response = self.beat(member, epoch, owns, **options)
        if response.error_code:
            return code_name(response.error_code)
        if response.assignment is None:
            return f"{response.member_epoch}"
        return f"{response.member_epoch}: {self.told(response.assignment.topic_partitions)}".rstrip()

    def joins(self, member, names="a", **options):
        options.setdefault("timeout_ms", 5000)
        return self.says(member, JOIN, "", names=names, **options)

    def partitions(self, text):
        """ "a[0 1] b[0]" as it stands in a request."""
        topics = [each.split("[") for each in text.replace("] ", "]|").split("|") if each]
        return [
            TopicPartitions(topic_id=self.id_of(name), partitions=[int(each) for each in rest.rstrip("]").split()])
            for name, rest in topics
        ]

    def told(self, topics):
        named = sorted((self.names[bytes(each.topic_id)], sorted(each.partitions)) for each in topics)
        return " ".join(f"{name}[{' '.join(map(str, partitions))}]" for name, partitions in named)

    # What is.

    def consumer_group(self, group="g"):
        return self.core.consumers.groups[group]

    def epochs(self, group="g"):
        """The group's state, its epoch and that of the target."""
        found = self.consumer_group(group)
        return f"{found.state} {found.epoch}/{found.target_epoch}"

    def has(self, member, group="g"):
        """What is with a member, given back or not."""
        return self._text(self.consumer_group(group).members[member].held())

    def target(self, member, group="g"):
        return self._text(self.consumer_group(group).target[member])

    def _text(self, partitions):
        named = sorted((self.names[topic_id], sorted(numbers)) for topic_id, numbers in partitions.items() if numbers)
        return " ".join(f"{name}[{' '.join(map(str, numbers))}]" for name, numbers in named)

    def described(self, group="g"):
        return self.event(lambda core: core.consumers.describe(group))

    # Members of the classic protocol.

    def classic(self, *topics, owned=(), generation=-1, version=3, user_data=None):
        """Metadata of a classic member; `owned` is pairs of topic and partitions."""
        message = ConsumerProtocolSubscription(
            topics=list(topics),
            user_data=user_data,
            owned_partitions=[TopicPartition(topic=name, partitions=list(numbers)) for name, numbers in owned],
            generation_id=generation,
        )
        return version.to_bytes(2, "big") + message.to_bytes(version)

    def assignment(self, user_data=None, **topics):
        message = ConsumerProtocolAssignment(
            assigned_partitions=[
                ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=list(numbers))
                for name, numbers in topics.items()
            ],
            user_data=user_data,
        )
        return b"\0\3" + message.to_bytes(3)

    def synced(self, ticket):
        """What a classic member was told to read."""
        data = self.answers[ticket].assignment
        topics = ConsumerProtocolAssignment.decode(data, int.from_bytes(data[:2], "big"), at=2).assigned_partitions
        return " ".join(f"{each.topic}[{' '.join(map(str, each.partitions))}]" for each in topics)

    def stable_classic(self, ticket="c", user_data=None, protocol="range", **options):
        """A classic group of one member with all partitions of `a`: the member's id."""
        protocols = {protocol: self.classic("a")}
        join = self.join if "instance" in options else self.join_new
        join(ticket, protocols=protocols, **options)
        self.advance(0)
        member = self.answers[ticket].member_id
        self.sync(
            f"{ticket} sync", member, {member: self.assignment(user_data, a=range(4))}, instance=options.get("instance")
        )
        return member
