"""All that a broker, ours or Apache Kafka's, tells of what it holds: topics, configs, ACLs, quotas, offsets, records.

    told = Told(host, port)
    told.topics(), told.configs(TOPIC, "t"), told.acls() ...

Every request has a version that a 3.3.2 and a 4.3.0 both serve. The answers come as plain values that can be compared.
"""

import time

from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.protocol.messages.k29_describe_acls import DescribeAclsRequest
from odradek.protocol.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.k48_describe_client_quotas import DescribeClientQuotasRequest
from odradek.protocol.messages.k50_describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from odradek.protocol.messages.k61_describe_producers import DescribeProducersRequest, TopicRequest
from odradek.protocol.messages.k74_list_config_resources import ListConfigResourcesRequest
from odradek.records import control
from odradek.records.batch import batches
from wire_replay import SocketTarget

ANY = 1
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
DYNAMIC = {1: "topic", 2: "broker", 3: "all brokers", 7: "client metrics", 8: "group"}  # sources that are records
READ_COMMITTED = 1
FETCH_BYTES = 1 << 20
PATIENCE_S = 20


class Told:
    def __init__(self, host, port):
        self._target = SocketTarget(host, port)

    def close(self):
        self._target.close()

    def ask(self, request, version):
        header = RequestHeader(
            request_api_key=request.api_key, request_api_version=version, correlation_id=7, client_id="told"
        )
        answer = self._target.ask(1, b"".join(whole.encode_request(header, request)))
        assert answer != "connection closed", (request, version)
        return whole.decode_response(answer, request.api_key, version)[1]

    # The cluster

    def features(self):
        """Finalized levels by name; a feature at 0 is as good as none."""
        answer = self.ask(ApiVersionsRequest(client_software_name="told", client_software_version="1"), 3)
        return {row.name: row.max_version_level for row in answer.finalized_features if row.max_version_level}

    def topics(self):
        """{name: (topic id, number of partitions)}; every partition must have a leader."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            topics = self.ask(MetadataRequest(topics=None), 12).topics
            errors = {part.error_code for topic in topics for part in topic.partitions}
            if topics and errors == {0}:
                return {topic.name: (topic.topic_id, len(topic.partitions)) for topic in topics}
            assert time.monotonic() < deadline, topics

    def leader_epochs(self):
        topics = self.ask(MetadataRequest(topics=None), 12).topics
        return {
            (topic.name, partition.partition_index): partition.leader_epoch
            for topic in topics
            for partition in topic.partitions
        }

    def config_resources(self):
        """Only a 4.3 can list them."""
        answer = self.ask(ListConfigResourcesRequest(resource_types=[CLIENT_METRICS, GROUP]), 1)
        assert answer.error_code == 0
        return sorted((row.resource_type, row.resource_name) for row in answer.config_resources)

    def configs(self, kind, name):
        """{name: (value, source, read only, sensitive, type, synonyms)}."""
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        (result,) = self.ask(DescribeConfigsRequest(resources=[resource], include_synonyms=True), 4).results
        assert result.error_code == 0, result
        return {
            row.name: (
                row.value,
                row.config_source,
                row.read_only,
                row.is_sensitive,
                row.config_type,
                [(synonym.name, synonym.value, synonym.source) for synonym in row.synonyms],
            )
            for row in result.configs
        }

    def set_configs(self, kind, name):
        """Only what was set on that resource itself, as {name: value}."""
        own = {TOPIC: 1, BROKER: 2 if name else 3, CLIENT_METRICS: 7, GROUP: 8}[kind]
        return {key: row[0] for key, row in self.configs(kind, name).items() if row[1] == own}

    def acls(self):
        request = DescribeAclsRequest(
            resource_type_filter=ANY,
            resource_name_filter=None,
            pattern_type_filter=ANY,
            principal_filter=None,
            host_filter=None,
            operation=ANY,
            permission_type=ANY,
        )
        answer = self.ask(request, 3)
        assert answer.error_code == 0, answer
        return {
            (
                resource.resource_type,
                resource.resource_name,
                resource.pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for resource in answer.resources
            for acl in resource.acls
        }

    def quotas(self):
        """{entity: {key: value}}, an entity being its (type, name) pairs in order."""
        answer = self.ask(DescribeClientQuotasRequest(components=[], strict=False), 1)
        assert answer.error_code == 0, answer
        return {
            tuple(sorted((part.entity_type, part.entity_name) for part in entry.entity)): {
                value.key: value.value for value in entry.values
            }
            for entry in answer.entries
        }

    def scram(self):
        answer = self.ask(DescribeUserScramCredentialsRequest(users=None), 0)
        assert answer.error_code == 0, answer
        return {
            row.user: sorted((info.mechanism, info.iterations) for info in row.credential_infos)
            for row in answer.results
        }

    # A partition

    def partitions(self):
        return [(name, index) for name, (_, count) in sorted(self.topics().items()) for index in range(count)]

    def offset(self, topic, partition, timestamp, isolation=0):
        """(offset, timestamp, leader epoch) of the record, or of the end that a negative timestamp names."""
        part = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=isolation, topics=[ListOffsetsTopic(name=topic, partitions=[part])]
        )
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.ask(request, 7).topics[0].partitions[0]
            if answer.error_code == 0:
                return answer.offset, answer.timestamp, answer.leader_epoch
            assert time.monotonic() < deadline, answer

    def log_start(self, topic, partition):
        return self.offset(topic, partition, EARLIEST)[0]

    def end(self, topic, partition, isolation=0):
        return self.offset(topic, partition, LATEST, isolation)[0]

    def epoch_end(self, topic, partition, leader_epoch):
        """(epoch, end offset) of the newest epoch up to this one."""
        part = OffsetForLeaderPartition(partition=partition, leader_epoch=leader_epoch)
        request = OffsetForLeaderEpochRequest(
            replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic, partitions=[part])]
        )
        answer = self.ask(request, 4).topics[0].partitions[0]
        return answer.error_code, answer.leader_epoch, answer.end_offset

    def producers(self, topic, partition):
        request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[partition])])
        answer = self.ask(request, 0).topics[0].partitions[0]
        assert answer.error_code == 0, answer
        return {
            (
                row.producer_id,
                row.producer_epoch,
                row.last_sequence,
                row.coordinator_epoch,
                row.current_txn_start_offset,
            )
            for row in answer.active_producers
        }

    def fetch(self, topic, partition, offset, version=12, isolation=0, max_bytes=FETCH_BYTES):
        part = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=0, isolation_level=isolation, topics=[FetchTopic(topic=topic, partitions=[part])]
        )
        answer = self.ask(request, version).responses[0].partitions[0]
        assert answer.error_code == 0, answer
        return answer

    def batches(self, topic, partition, version=12):
        """Every batch from the start of the log to its end."""
        offset, end = self.log_start(topic, partition), self.end(topic, partition)
        while offset < end:
            data = bytes(self.fetch(topic, partition, offset, version).records)
            found = list(batches(data))
            if not found:
                return  # compaction took the rest
            yield from found
            offset = found[-1].next_offset

    def records(self, topic, partition):
        """Every record that a consumer gets to see, (offset, timestamp, key, value, headers)."""
        start = self.log_start(topic, partition)
        return [
            row(record)
            for batch in self.batches(topic, partition)
            if not batch.is_control
            for record in batch.records()
            if record.offset >= start
        ]

    def committed_records(self, topic, partition):
        """What a consumer in read_committed gets to see: it leaves out what the answers say was aborted."""
        return [
            row
            for offset, fetched, aborted in self._committed(topic, partition)
            for row in _without_aborted(fetched, aborted, offset)
        ]

    def aborted(self, topic, partition):
        """Every aborted transaction that such a consumer is told of, as (producer id, first offset)."""
        return {
            (entry.producer_id, entry.first_offset)
            for _, _, aborted in self._committed(topic, partition)
            for entry in aborted
        }

    def _committed(self, topic, partition):
        """(offset asked for, batches, aborted transactions) of each answer up to the last stable offset."""
        offset, end = self.log_start(topic, partition), self.end(topic, partition, READ_COMMITTED)
        while offset < end:
            answer = self.fetch(topic, partition, offset, isolation=READ_COMMITTED)
            fetched = list(batches(bytes(answer.records)))
            if not fetched:
                return  # compaction took the rest
            yield offset, fetched, answer.aborted_transactions or []
            offset = fetched[-1].next_offset


def row(record):
    return (
        record.offset,
        record.timestamp,
        _bytes(record.key),
        _bytes(record.value),
        [(key, _bytes(value)) for key, value in record.headers],
    )


def _bytes(value):
    return None if value is None else bytes(value)


def _without_aborted(fetched, aborted, offset):
    waiting = sorted(aborted, key=lambda entry: entry.first_offset)
    open_aborted = set()
    for batch in fetched:
        while waiting and waiting[0].first_offset <= batch.last_offset:
            open_aborted.add(waiting.pop(0).producer_id)
        if batch.is_control:
            if _is_abort(batch):
                open_aborted.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_aborted):
            yield from (row(record) for record in batch.records() if record.offset >= offset)


def _is_abort(batch):
    return any(control.control_type(record.key) == control.ABORT for record in batch.records())
