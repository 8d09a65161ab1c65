"""What an admin and a producer do to a broker, ours or Apache Kafka's, each as one request that must succeed."""

import time

from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k30_create_acls import AclCreation, CreateAclsRequest
from odradek.protocol.messages.k31_delete_acls import DeleteAclsFilter, DeleteAclsRequest
from odradek.protocol.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from odradek.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

TIMEOUT_MS = 20_000
SET, DELETE = 0, 1
PATIENCE_S = 20
RETRIED = {3, 5, 6, 14, 15}  # it has not heard of it yet, or is still on the way
NO_FIELDS = BatchFields()


class Doing:
    """`told` is whom to ask."""

    def __init__(self, told):
        self._told = told

    def _until_done(self, request, version, codes):
        """Asks again while the broker is not there yet, as every client does."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._told.ask(request, version)
            wrong = set(codes(answer)) - {0}
            if not wrong:
                return answer
            assert wrong <= RETRIED and time.monotonic() < deadline, answer

    def create_topic(self, name, partitions=1, **configs):
        """Underscores in a config's name stand for dots."""
        rows = [CreatableTopicConfig(name=key.replace("_", "."), value=str(value)) for key, value in configs.items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=rows)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        self._until_done(request, 7, lambda answer: [row.error_code for row in answer.topics])

    def delete_topic(self, name):
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=TIMEOUT_MS)
        self._until_done(request, 6, lambda answer: [row.error_code for row in answer.responses])

    def add_partitions(self, name, count):
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        self._until_done(request, 3, lambda answer: [row.error_code for row in answer.results])

    def set_config(self, kind, resource, name, value):
        """None takes it back."""
        operation = DELETE if value is None else SET
        changed = AlterableConfig(name=name, config_operation=operation, value=value)
        request = IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[changed])]
        )
        self._until_done(request, 1, lambda answer: [row.error_code for row in answer.responses])

    def allow(self, kind, name, pattern, principal, host, operation, permission):
        creation = AclCreation(
            resource_type=kind,
            resource_name=name,
            resource_pattern_type=pattern,
            principal=principal,
            host=host,
            operation=operation,
            permission_type=permission,
        )
        self._until_done(CreateAclsRequest(creations=[creation]), 3, lambda answer: [answer.results[0].error_code])

    def forget_acls_of(self, principal):
        wanted = DeleteAclsFilter(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=principal,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        request = DeleteAclsRequest(filters=[wanted])
        answer = self._until_done(request, 3, lambda answer: [answer.filter_results[0].error_code])
        assert answer.filter_results[0].matching_acls

    def set_quota(self, entity, key, value):
        """`entity` as {type: name}; None as a name is the default, as a value takes the quota back."""
        parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        change = OpData(key=key, value=value or 0.0, remove=value is None)
        request = AlterClientQuotasRequest(entries=[EntryData(entity=parts, ops=[change])])
        self._until_done(request, 1, lambda answer: [row.error_code for row in answer.entries])

    def set_password(self, user, mechanism, iterations):
        row = ScramCredentialUpsertion(
            name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"p" * 32
        )
        request = AlterUserScramCredentialsRequest(upsertions=[row])
        self._until_done(request, 0, lambda answer: [row.error_code for row in answer.results])

    # Records

    def produce(self, topic, partition, records, *, codec=0, fields=NO_FIELDS):
        """One batch with acks=all; its base offset."""
        numbered = [Record(at, *record) for at, record in enumerate(records)]
        data = PartitionProduceData(index=partition, records=record_batch(numbered, fields, codec=codec))
        request = ProduceRequest(
            acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
        )
        answer = self._until_done(request, 9, lambda answer: [_sole_partition(answer).error_code])
        return _sole_partition(answer).base_offset

    def producer_id(self):
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=TIMEOUT_MS)
        answer = self._until_done(request, 4, lambda answer: [answer.error_code])
        return answer.producer_id, answer.producer_epoch

    def delete_records(self, topic, partition, before):
        rows = [DeleteRecordsPartition(partition_index=partition, offset=before)]
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=rows)], timeout_ms=TIMEOUT_MS)
        self._until_done(request, 2, lambda answer: [answer.topics[0].partitions[0].error_code])


def _sole_partition(answer):
    return answer.responses[0].partition_responses[0]
