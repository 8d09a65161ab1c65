"""Each error of each request of a transactional producer: wait, look for the coordinator, abort, or stop for good."""

import pytest
from producer_stories import Producer, name_of, started

from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.producer.transaction_states import State
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition

RETRY = [errors.CoordinatorLoadInProgress, errors.ConcurrentTransactions]
FIND = [errors.NotCoordinator, errors.CoordinatorNotAvailable]
FENCED = [errors.InvalidProducerEpoch, errors.ProducerFenced]
FATAL = [errors.TransactionalIdAuthorizationFailed, errors.UnknownServerError, errors.UnsupportedVersion]
BUMP = [errors.UnknownProducerId, errors.InvalidProducerIdMapping]

EXPECTED = {
    "FindCoordinator": {
        "again": [errors.CoordinatorNotAvailable, errors.CoordinatorLoadInProgress],
        "abort": [errors.GroupAuthorizationFailed, errors.TransactionAbortable],
        "fatal": [*FATAL, errors.InvalidRequest],
    },
    "InitProducerId": {
        "again": RETRY,
        "find": FIND,
        "fenced": FENCED,
        "fatal": [*FATAL, errors.ClusterAuthorizationFailed, errors.TransactionAbortable],
    },
    "AddPartitionsToTxn": {
        "again": [*RETRY, errors.UnknownTopicOrPartition],
        "find": FIND,
        "fenced": FENCED,
        "fatal": [errors.TransactionalIdAuthorizationFailed, errors.InvalidTxnState],
        "abort": [*BUMP, errors.TopicAuthorizationFailed, errors.OperationNotAttempted, errors.TransactionAbortable],
    },
    "AddOffsetsToTxn": {
        "again": RETRY,
        "find": FIND,
        "fenced": FENCED,
        "fatal": [*FATAL, errors.InvalidTxnState],
        "abort": [*BUMP, errors.GroupAuthorizationFailed, errors.TransactionAbortable],
    },
    "TxnOffsetCommit": {
        "again": [*RETRY, errors.UnknownTopicOrPartition],
        "find": [*FIND, errors.RequestTimedOut],
        "fenced": FENCED,
        "fatal": [*FATAL, errors.UnsupportedForMessageFormat, errors.InvalidProducerIdMapping],
        "abort": [
            errors.FencedInstanceId,
            errors.GroupAuthorizationFailed,
            errors.IllegalGeneration,
            errors.StaleMemberEpoch,
            errors.TransactionAbortable,
            errors.UnknownMemberId,
        ],
    },
    "EndTxn": {
        "again": RETRY,
        "find": FIND,
        "fenced": FENCED,
        "fatal": [*FATAL, errors.InvalidTxnState],
        "abort": [*BUMP, errors.TransactionAbortable],
    },
}
CASES = [
    (name, outcome, error, version)
    for name, outcomes in EXPECTED.items()
    for outcome, listed in outcomes.items()
    for error in listed
    for version in (1, 2)
    if not (version == 2 and name in ("AddPartitionsToTxn", "AddOffsetsToTxn"))
]


def asking(name, version):
    """A producer whose only request on its way is this one."""
    if name == "InitProducerId":
        producer = Producer("tx", version)
        producer.manager.initialize()
        producer.replies("FindCoordinator")
        return producer
    producer = started("tx", version)
    producer.manager.begin()
    if name in ("AddPartitionsToTxn", "EndTxn"):
        producer.send()
        if name == "EndTxn":
            producer.poll()
            producer.replies(*(["AddPartitionsToTxn"] if version == 1 else []), "Produce")
            producer.manager.commit()
        producer.poll()
        return producer
    producer.manager.send_offsets({TopicPartition("in", 0): 1}, ConsumerGroupMetadata("g"))
    producer.poll()
    while name_of(producer.sent[0].request) != name:
        producer.replies(name_of(producer.sent[0].request))
    return producer


@pytest.mark.parametrize(
    "name, outcome, error, version", CASES, ids=[f"{case[0]} v{case[3]} {case[2].__name__}" for case in CASES]
)
def test_error(name, outcome, error, version):
    producer = asking(name, version)
    assert [name_of(send.request) for send in producer.sent] == [name]
    state = producer.state
    first = producer.reply(error.code)
    if outcome in ("again", "find"):
        assert producer.poll() == [], "not at once"
        assert producer.state is state
        if outcome == "find":
            assert producer.wait() == ["FindCoordinator"]
            producer.replies("FindCoordinator")
        else:
            producer.wait()
        assert producer.sent[0].request == first.request
    elif outcome == "abort":
        assert producer.state is State.ABORTABLE_ERROR and isinstance(producer.manager.error, error)
        assert_it_can_go_on(producer, error, version)
    else:
        assert producer.state is State.FATAL_ERROR
        assert isinstance(producer.manager.error, errors.ProducerFenced if outcome == "fenced" else error)
        assert producer.poll() == [] and producer.sender.deadline() is None


def assert_it_can_go_on(producer, error, version):
    """The abort, another epoch where one is needed, and the next transaction."""
    producer.manager.abort()
    names = []
    while producer.state is not State.READY:
        producer.poll() or producer.sent or producer.wait()
        if producer.sent:
            names.append(name_of(producer.reply().request))
    if isinstance(error(), errors.InvalidProducerIdMapping):
        assert "EndTxn" not in names, "the coordinator does not know this producer"
    if version == 1 or "EndTxn" not in names:
        assert names[-1:] in (["InitProducerId"], [])
    producer.manager.begin()
    producer.send()
    assert producer.poll() != []


def test_of_the_errors_of_several_partitions_the_gravest_decides():
    producer = started("tx", 1)
    producer.manager.begin()
    for partition in (0, 1):
        producer.send(partition)
    producer.poll()
    response = producer_answer(producer, errors.TopicAuthorizationFailed.code, errors.ProducerFenced.code)
    producer.answer(response)
    assert producer.state is State.FATAL_ERROR and isinstance(producer.manager.error, errors.ProducerFenced)


def producer_answer(producer, *codes):
    from producer_stories import answer_to

    response = answer_to(producer.sent[0], 0, producer, {})
    for result, code in zip(response.results_by_topic_v3_and_below[0].results_by_partition, codes, strict=True):
        result.partition_error_code = code
    return response
