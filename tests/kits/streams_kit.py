"""Streams groups told in stories: `ConsumerStory` with topologies, and heartbeats of the streams protocol.

Tasks are text: "0:0,1 1:2" are tasks 0 and 1 of subtopology 0 and task 2 of subtopology 1. An answer is told as
"3: 0:0,1" for member epoch 3 with these active tasks, "| 0:2" behind it for standby tasks, "3" without an assignment,
"FENCED_MEMBER_EPOCH" for a refusal; a status follows in parentheses.
"""

from consumer_kit import ConsumerStory
from group_kit import code_name
from manager_kit import layers
from odradek.coordinator.group.core import GroupCore
from odradek.coordinator.group.streams.config import StreamsConfig
from odradek.coordinator.group.streams.requests import Caller
from odradek.protocol.messages import k88_streams_group_heartbeat as k88

JOIN, LEAVE = 0, -1

STATUSES = ("stale", "no source", "wrong partitions", "no internal", "shutdown", "delayed")


def tasks(text):
    """As they stand in a request; None stays None."""
    if text is None:
        return None
    parts = (each.split(":") for each in text.split())
    return [
        k88.TaskIds(subtopology_id=name, partitions=[int(n) for n in numbers.split(",")]) for name, numbers in parts
    ]


def told(ids):
    """As text, from messages or from a mapping."""
    pairs = ids.items() if hasattr(ids, "items") else ((each.subtopology_id, each.partitions) for each in ids)
    return " ".join(f"{name}:{','.join(map(str, sorted(numbers)))}" for name, numbers in sorted(pairs))


def internal(name, partitions=0, replicas=0, **configs):
    topic_configs = [k88.KeyValue(key=key.replace("_", "."), value=value) for key, value in configs.items()]
    return k88.TopicInfo(name=name, partitions=partitions, replication_factor=replicas, topic_configs=topic_configs)


def subtopology(name, sources="", *, repartition=(), sinks="", changelogs=(), together=()):
    """`together` is pairs of places: of source topics, and of repartition topics."""
    return k88.Subtopology(
        subtopology_id=name,
        source_topics=sources.split(),
        repartition_source_topics=list(repartition),
        repartition_sink_topics=sinks.split(),
        state_changelog_topics=list(changelogs),
        copartition_groups=[
            k88.CopartitionGroup(source_topics=list(one), repartition_source_topics=list(other))
            for one, other in together
        ],
    )


def topology(*subtopologies, epoch=0):
    return k88.Topology(epoch=epoch, subtopologies=list(subtopologies))


READS_A = topology(subtopology("0", "a"))


class StreamsStory(ConsumerStory):
    def __init__(self, topics=None, *, interval_ms=0, delay_ms=0, **configs):
        streams = {
            "group_streams_assignment_interval_ms": interval_ms,
            "group_streams_initial_rebalance_delay_ms": delay_ms,
            **configs,
        }
        self.streams_config = StreamsConfig(layers("4.3", **streams).config)
        super().__init__(topics, **{name: value for name, value in configs.items() if "streams" not in name})

    def _new_core(self):
        return GroupCore(
            self.config,
            self.release,
            self._uuid,
            consumer_config=self.consumer_config,
            streams_config=self.streams_config,
            topics=self.topics,
        )

    # Members.

    def streams_beat(self, member, epoch, owns=None, *, standby="", group="g", client="client", **fields):
        """What the core answered: the response, and the topics that are missing."""
        if "timeout_ms" in fields:
            fields["rebalance_timeout_ms"] = fields.pop("timeout_ms")
        if "process" in fields:
            fields["process_id"] = fields.pop("process")
        if "endpoint" in fields:
            fields["user_endpoint"] = k88.Endpoint(host=fields.pop("endpoint"), port=99)
        request = k88.StreamsGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            active_tasks=tasks(owns),
            standby_tasks=None if owns is None else tasks(standby),
            warmup_tasks=None if owns is None else [],
            **fields,
        )
        return self.event(lambda core: core.streams.heartbeat(self.now, request, Caller(client, "/127.0.0.1")))

    def says(self, member, epoch, owns=None, **options):
        response = self.streams_beat(member, epoch, owns, **options).response
        if response.error_code:
            return code_name(response.error_code)
        text = f"{response.member_epoch}"
        if response.active_tasks is not None:
            text = f"{text}: {told(response.active_tasks)}".rstrip()
        if response.standby_tasks:
            text = f"{text} | {told(response.standby_tasks)}"
        statuses = ", ".join(STATUSES[status.status_code] for status in response.status)
        return f"{text} ({statuses})" if statuses else text

    def joins(self, member, runs=READS_A, **options):
        options.setdefault("timeout_ms", 5000)
        options.setdefault("process", f"process of {member}")
        return self.says(member, JOIN, "", topology=runs, **options)

    # What is.

    def streams_group(self, group="g"):
        return self.core.streams.groups[group]

    def epochs(self, group="g"):
        found = self.streams_group(group)
        return f"{found.state} {found.epoch}/{found.target_epoch}"

    def target(self, member, group="g"):
        return told(self.streams_group(group).target[member].active)

    def described(self, group="g"):
        return self.event(lambda core: core.streams.describe(group))
