"""A share consumer in a script: joins, fetches, acknowledges, one request at a time."""

from broker_kit import SimClient
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from odradek.protocol.messages.k78_share_fetch import (
    AcknowledgementBatch as FetchedAcknowledgement,
)
from odradek.protocol.messages.k78_share_fetch import FetchPartition, FetchTopic, ForgottenTopic, ShareFetchRequest
from odradek.protocol.messages.k79_share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from odradek.protocol.uuids import format_uuid
from odradek.records.batch import batches

GROUP_CONFIGS = 32
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.share.heartbeat.interval.ms": "5000",
}


def prepare(client, topic="t", partitions=1, **group_configs):
    """The topic, and the configs of the group g; it begins at the earliest record unless they say otherwise."""
    answer = client.ask(
        CreateTopicsRequest(topics=[CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)]), 7
    )
    assert answer.topics[0].error_code == 0, answer
    configs = {"share_auto_offset_reset": "earliest", **group_configs}
    alter(client, **configs)
    client.ask_until(
        FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6, lambda r: not r.coordinators[0].error_code
    )


def alter(client, **configs):
    rows = [
        AlterableConfig(name=name.replace("_", "."), config_operation=0, value=value) for name, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=GROUP_CONFIGS, resource_name="g", configs=rows)
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0, answer


def produce(client, records, topic="t", partition=0):
    data = PartitionProduceData(index=partition, records=bytes(records))
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    answer = client.ask(request, 9).responses[0].partition_responses[0]
    assert answer.error_code == 0, answer
    return answer.base_offset


class ShareConsumer:
    """`offsets` is what it has acquired, with the delivery count of each."""

    def __init__(self, broker, name, topic_names=("t",), group_id="g"):
        self.broker = broker
        self.client = SimClient(broker.world, name, broker.address)
        self.group_id = group_id
        self.member_id = format_uuid(name.encode().ljust(16, b"-"))
        self.topic_names = list(topic_names)
        self.member_epoch = 0
        self.session_epoch = 0
        self.assigned = []  # (topic id, partition)

    # The group

    def heartbeat(self, epoch=None, **fields):
        joins = self.member_epoch == 0
        request = ShareGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.member_epoch if epoch is None else epoch,
            subscribed_topic_names=self.topic_names if joins else None,
            **fields,
        )
        answer = self.client.ask(request, 1)
        if not answer.error_code:
            self.member_epoch = max(0, answer.member_epoch)
            if answer.assignment is not None:
                self.assigned = [
                    (bytes(topic.topic_id), partition)
                    for topic in answer.assignment.topic_partitions
                    for partition in topic.partitions
                ]
        return answer

    def join(self, count=1):
        """Until it has that many share-partitions."""
        for _ in range(100):
            answer = self.heartbeat()
            if answer.error_code not in (0, errors.CoordinatorLoadInProgress.code, errors.NotCoordinator.code):
                raise AssertionError(answer)
            if len(self.assigned) >= count:
                return self
            self.broker.world.run_for(1000)
        raise AssertionError(f"{self.assigned} after a hundred heartbeats")

    # Records

    def request(self, acknowledged=(), forgotten=(), **fields):
        fields = {"max_wait_ms": 500, "min_bytes": 1, "max_records": 500, "batch_size": 500, **fields}
        topics = {}
        if self.session_epoch == 0:
            for topic_id, partition in self.assigned:
                topics.setdefault(topic_id, {})[partition] = []
        for (topic_id, partition), first, last, types in acknowledged:
            batch = FetchedAcknowledgement(first_offset=first, last_offset=last, acknowledge_types=list(types))
            topics.setdefault(topic_id, {}).setdefault(partition, []).append(batch)
        return ShareFetchRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=fields.pop("epoch", self.session_epoch),
            topics=[
                FetchTopic(
                    topic_id=topic_id,
                    partitions=[
                        FetchPartition(partition_index=partition, acknowledgement_batches=batches)
                        for partition, batches in partitions.items()
                    ],
                )
                for topic_id, partitions in topics.items()
            ],
            forgotten_topics_data=[
                ForgottenTopic(topic_id=topic_id, partitions=[partition]) for topic_id, partition in forgotten
            ],
            **fields,
        )

    def send_fetch(self, *acknowledged, **fields):
        waiting = self.client.send(self.request(acknowledged, **fields), 2)
        self.session_epoch += 1
        return waiting

    def fetch(self, *acknowledged, **fields):
        return self.client.wait(self.send_fetch(*acknowledged, **fields))

    def poll(self, *acknowledged, **fields):
        """[(first, last, count)] of the one partition, and the values of the records in it."""
        return acquired(self.fetch(*acknowledged, **fields))

    def acknowledge(self, *acknowledged, epoch=None, version=2, **fields):
        topics = [
            AcknowledgeTopic(
                topic_id=topic_id,
                partitions=[
                    AcknowledgePartition(
                        partition_index=partition,
                        acknowledgement_batches=[
                            AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
                        ],
                    )
                ],
            )
            for (topic_id, partition), first, last, types in acknowledged
        ]
        request = ShareAcknowledgeRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            topics=topics,
            **fields,
        )
        answer = self.client.ask(request, version)
        if not answer.error_code:
            self.session_epoch += 1
        return answer

    def codes(self, *acknowledged, **fields):
        """What became of acknowledgements."""
        answer = self.acknowledge(*acknowledged, **fields)
        assert answer.error_code == 0, answer
        return [data.error_code for topic in answer.responses for data in topic.partitions]

    def close(self):
        """The session, and with it what was not acknowledged; then the membership."""
        self.acknowledge(epoch=-1)
        self.session_epoch = 0
        self.heartbeat(epoch=-1)
        self.member_epoch = 0
        self.assigned = []


def acquired(answer):
    assert answer.error_code == 0, answer
    told, values = [], []
    for topic in answer.responses:
        for data in topic.partitions:
            assert data.error_code == 0, data
            told += [(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records]
            values += [
                bytes(record.value)
                for batch in batches(data.records or b"")
                if not batch.is_control
                for record in batch.records()
                if any(low <= record.offset <= high for low, high, _ in told)
            ]
    return told, values
