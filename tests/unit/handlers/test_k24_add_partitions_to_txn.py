"""AddPartitionsToTxn: who may ask it, as a client and as a broker."""

import pytest

from handler_kit import Handlers, Rights
from odradek.protocol import errors
from odradek.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.security import acl

ASKED = [AddPartitionsToTxnTopic(name="t", partitions=[0])]
OF_BROKER = AddPartitionsToTxnRequest(transactions=[AddPartitionsToTxnTransaction(transactional_id="x", topics=ASKED)])
OF_CLIENT = AddPartitionsToTxnRequest(v3_and_below_transactional_id="x", v3_and_below_topics=ASKED)


def ask(request, version, *rights):
    handlers = Handlers()
    handlers.services.authorizer = Rights(*rights)
    return handlers.ask(request, version)


@pytest.mark.parametrize("version", [4, 5])
def test_only_a_broker_may_ask_as_a_broker(version):
    client = [(acl.WRITE, acl.TRANSACTIONAL_ID, "x"), (acl.WRITE, acl.TOPIC, "t")]
    refused = ask(OF_BROKER, version, *client)
    assert refused.error_code == errors.ClusterAuthorizationFailed.code and not refused.results_by_transaction
    answered = ask(OF_BROKER, version, (acl.CLUSTER_ACTION, acl.CLUSTER, acl.CLUSTER_NAME))
    assert (answered.error_code, answered.results_by_transaction[0].transactional_id) == (0, "x")
    assert codes(answered.results_by_transaction[0].topic_results) == [errors.UnknownTopicOrPartition.code]


def test_a_client_needs_the_right_to_its_id_and_to_each_topic():
    assert codes(ask(OF_CLIENT, 3).results_by_topic_v3_and_below) == [errors.TransactionalIdAuthorizationFailed.code]
    of_id = (acl.WRITE, acl.TRANSACTIONAL_ID, "x")
    told = ask(OF_CLIENT, 3, of_id).results_by_topic_v3_and_below
    assert codes(told) == [errors.TopicAuthorizationFailed.code]
    told = ask(OF_CLIENT, 3, of_id, (acl.WRITE, acl.TOPIC, "t")).results_by_topic_v3_and_below
    assert codes(told) == [errors.UnknownTopicOrPartition.code], "both are there: now it is looked for"


def codes(topics):
    return [each.partition_error_code for topic in topics for each in topic.results_by_partition]
