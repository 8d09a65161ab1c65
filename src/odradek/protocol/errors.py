"""The error table, and who is to blame for what.

Three kinds of trouble, three roots that share no base but Exception, so that none is caught for another:

- `KafkaError`: an answer of the protocol. A broker raises it anywhere below a handler and the dispatcher
  turns it into the response's error code; a client raises it when it reads that code (`raise_for`). One
  class per code, and the class is the table row: `code`, `name`, `retriable`, `refreshes_metadata`,
  `message`. Nobody's code is wrong; the state of the cluster or the content of the request is.
- `PeerProtocolError`: the other side sent bytes that are no message. It names the byte and the reason. There
  is nothing to answer: the connection is closed.
- `EncodeError`: our own side asked for the impossible, a value that does not fit its field or a field that
  its version does not carry. A bug in the caller, never in the peer.

An API version that nobody declares has a code of its own, so it is a `KafkaError`: `UnsupportedVersion` (35).

A row whose base is `RetriableError` may succeed if the same request is sent again; one whose base is
`InvalidMetadataError` only after the client has asked where things are now.
"""
# ruff: noqa: N818 -- the classes have the names of Kafka's codes, few of which end in "error"

NONE = 0


class KafkaError(Exception):
    """An error of the table; a subclass without a code of its own travels as its parent's code."""

    code: int = -1
    name: str = "UNKNOWN_SERVER_ERROR"
    retriable: bool = False
    refreshes_metadata: bool = False
    message: str = "The request failed for a reason that the error table does not know."

    def __init__(self, message: str | None = None) -> None:
        if message is not None:
            self.message = message
        super().__init__(self.message)

    def __init_subclass__(cls, code: int | None = None) -> None:
        if code is None:
            return
        if code in _ROWS:
            raise TypeError(f"{cls.__name__}: code {code} belongs to {_ROWS[code].__name__}")
        cls.code = code
        cls.name = constant_name(cls.__name__)
        _ROWS[code] = cls


class RetriableError(KafkaError):
    """The same request may succeed later."""

    retriable = True


class InvalidMetadataError(RetriableError):
    """The same request may succeed once the client has refreshed its metadata."""

    refreshes_metadata = True


class PeerProtocolError(Exception):
    """The peer sent bytes that do not parse: `reason` says why, `position` is the byte at which it showed."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position

    def __str__(self) -> str:
        return f"{self.reason} at byte {self.position}"


class EncodeError(ValueError):
    """A local mistake: the value does not fit its field, or the version does not carry the field."""


_ROWS: dict[int, type[KafkaError]] = {}


def constant_name(class_name: str) -> str:
    """OffsetOutOfRange -> OFFSET_OUT_OF_RANGE, as Kafka writes the names of errors and APIs."""
    return "".join(f"_{char}" if char.isupper() else char.upper() for char in class_name).lstrip("_")


def by_code(code: int) -> type[KafkaError]:
    """The row of a code; a code newer than the table is an UnknownServerError, as to Kafka's clients."""
    return _ROWS.get(code, UnknownServerError)


def raise_for(code: int, message: str | None = None) -> None:
    """Raise what a response's error code stands for; 0 is no error."""
    if code == NONE:
        return
    if message is None and code not in _ROWS:
        message = f"The peer answered with error code {code}, which this release does not know."
    raise by_code(code)(message)


def table() -> tuple[type[KafkaError], ...]:
    """Every row, in the order of the codes."""
    return tuple(_ROWS[code] for code in sorted(_ROWS))


# fmt: off
# A table reads as one: two lines per row, in the order of the codes.

class UnknownServerError(KafkaError, code=-1):
    message = "The server failed in a way it did not expect; its log has the cause."
class OffsetOutOfRange(KafkaError, code=1):
    message = "The offset lies before the log's start or after its end; seek to one that it holds."
class CorruptMessage(RetriableError, code=2):
    message = "The record batch is damaged: its checksum, size or layout does not hold."
class UnknownTopicOrPartition(InvalidMetadataError, code=3):
    message = "This broker has no such topic or partition, or the caller may not know of it."
class InvalidFetchSize(KafkaError, code=4):
    message = "The fetch size is not a positive number of bytes."
class LeaderNotAvailable(InvalidMetadataError, code=5):
    message = "The partition has no leader right now; an election may be under way."
class NotLeaderOrFollower(InvalidMetadataError, code=6):
    message = "This broker is not the leader of the partition, or holds no replica of it."
class RequestTimedOut(RetriableError, code=7):
    message = "The request's time ran out; whether it took effect is unknown."
class BrokerNotAvailable(KafkaError, code=8):
    message = "The broker that is needed is not up."
class ReplicaNotAvailable(InvalidMetadataError, code=9):
    message = "The replica of this partition is not there, or not ready to be read."
class MessageTooLarge(KafkaError, code=10):
    message = "A record batch is larger than the topic's max.message.bytes."
class StaleControllerEpoch(KafkaError, code=11):
    message = "The sender's controller epoch is old: another controller has been elected since."
class OffsetMetadataTooLarge(KafkaError, code=12):
    message = "The metadata string of an offset commit is longer than offset.metadata.max.bytes."
class NetworkException(InvalidMetadataError, code=13):
    message = "The connection broke before the answer came; whether the request took effect is unknown."
class CoordinatorLoadInProgress(RetriableError, code=14):
    message = "The coordinator is still reading its state from the log; try again shortly."
class CoordinatorNotAvailable(RetriableError, code=15):
    message = "There is no coordinator for this key right now; look it up again."
class NotCoordinator(RetriableError, code=16):
    message = "This broker does not coordinate this group or transactional id; look up which one does."
class InvalidTopicException(KafkaError, code=17):
    message = "The topic's name is not a legal one, or the topic is internal and may not be used this way."
class RecordListTooLarge(KafkaError, code=18):
    message = "The record batches of one partition are together larger than a log segment."
class NotEnoughReplicas(RetriableError, code=19):
    message = "Fewer replicas are in sync than min.insync.replicas asks for; nothing was written."
class NotEnoughReplicasAfterAppend(RetriableError, code=20):
    message = "The records were written, but fewer replicas are in sync than min.insync.replicas asks for."
class InvalidRequiredAcks(KafkaError, code=21):
    message = "Produce takes acks 0, 1 or -1 (all), and nothing else."
class IllegalGeneration(KafkaError, code=22):
    message = "The generation is not the group's current one: the group has rebalanced since."
class InconsistentGroupProtocol(KafkaError, code=23):
    message = "The member shares no protocol with the rest of the group, or is of another protocol type."
class InvalidGroupId(KafkaError, code=24):
    message = "The group id is empty, or not allowed for this request."
class UnknownMemberId(KafkaError, code=25):
    message = "The group has no such member; join again."
class InvalidSessionTimeout(KafkaError, code=26):
    message = (
        "The session timeout is outside the brokers' limits: group.min.session.timeout.ms, by default 6000, to "
        "group.max.session.timeout.ms, by default 1800000."
    )
class RebalanceInProgress(KafkaError, code=27):
    message = "The group is rebalancing; the member has to join again."
class InvalidCommitOffsetSize(KafkaError, code=28):
    message = "The offset commit makes a record that is too large for the offsets topic."
class TopicAuthorizationFailed(KafkaError, code=29):
    message = "The principal lacks the permission on this topic."
class GroupAuthorizationFailed(KafkaError, code=30):
    message = "The principal lacks the permission on this group."
class ClusterAuthorizationFailed(KafkaError, code=31):
    message = "The principal lacks the permission on the cluster."
class InvalidTimestamp(KafkaError, code=32):
    message = "A record's timestamp is missing, or too far from the broker's clock for this topic."
class UnsupportedSaslMechanism(KafkaError, code=33):
    message = "The listener does not offer this SASL mechanism."
class IllegalSaslState(KafkaError, code=34):
    message = "The request does not belong at this point of the authentication."
class UnsupportedVersion(KafkaError, code=35):
    message = "This version of the API is not served; ApiVersions tells which ones are."
class TopicAlreadyExists(KafkaError, code=36):
    message = "There is a topic of this name already."
class InvalidPartitions(KafkaError, code=37):
    message = "The number of partitions is not allowed: it must be positive, and may only grow."
class InvalidReplicationFactor(KafkaError, code=38):
    message = "The replication factor is not positive, or there are fewer brokers to hold the replicas."
class InvalidReplicaAssignment(KafkaError, code=39):
    message = "The replica assignment names a broker twice, an unknown one or none, or skips a partition."
class InvalidConfig(KafkaError, code=40):
    message = "A config has an unknown name or a value that is not allowed."
class NotController(RetriableError, code=41):
    message = "This node is not the active controller."
class InvalidRequest(KafkaError, code=42):
    message = "The request contradicts itself, or breaks a rule of its API."
class UnsupportedForMessageFormat(KafkaError, code=43):
    message = "The log's message format is too old for what is asked."
class PolicyViolation(KafkaError, code=44):
    message = "The policy that the cluster's operator configured forbids this."
class OutOfOrderSequenceNumber(KafkaError, code=45):
    message = "The batch does not follow the last sequence number of its producer: one before it is missing."
class DuplicateSequenceNumber(KafkaError, code=46):
    message = "The batch repeats sequence numbers that the log already holds."
class InvalidProducerEpoch(KafkaError, code=47):
    message = "The producer's epoch is old: a newer producer with the same id has written."
class InvalidTxnState(KafkaError, code=48):
    message = "The transaction is not in a state in which this request makes sense."
class InvalidProducerIdMapping(KafkaError, code=49):
    message = "The producer id is not the one that the transactional id has now."
class InvalidTransactionTimeout(KafkaError, code=50):
    message = "The transaction timeout is not positive, or over transaction.max.timeout.ms, by default 900000."
class ConcurrentTransactions(RetriableError, code=51):
    message = "The previous transaction of this transactional id is still being completed; try again shortly."
class TransactionCoordinatorFenced(KafkaError, code=52):
    message = "The markers come from a transaction coordinator that has been replaced."
class TransactionalIdAuthorizationFailed(KafkaError, code=53):
    message = "The principal lacks the permission on this transactional id."
class SecurityDisabled(KafkaError, code=54):
    message = "The broker runs without the security feature that the request is about."
class OperationNotAttempted(KafkaError, code=55):
    message = "Nothing was tried for this item, because another one of the same request failed."
class KafkaStorageError(InvalidMetadataError, code=56):
    message = "The log directory of the partition has failed on this broker."
class LogDirNotFound(KafkaError, code=57):
    message = "The path is none of the broker's log directories."
class SaslAuthenticationFailed(KafkaError, code=58):
    message = "The credentials were refused."
class UnknownProducerId(KafkaError, code=59):
    message = "The partition has no state for this producer: its records may have been deleted."
class ReassignmentInProgress(KafkaError, code=60):
    message = "The partition is being reassigned; wait for that to end, or cancel it."
class DelegationTokenAuthDisabled(KafkaError, code=61):
    message = "Delegation tokens are switched off: the brokers have no secret key for them."
class DelegationTokenNotFound(KafkaError, code=62):
    message = "The server has no such delegation token."
class DelegationTokenOwnerMismatch(KafkaError, code=63):
    message = "The principal neither owns this delegation token nor may renew it."
class DelegationTokenRequestNotAllowed(KafkaError, code=64):
    message = "Ask for delegation tokens over a connection that authenticated without one."
class DelegationTokenAuthorizationFailed(KafkaError, code=65):
    message = "The principal lacks the permission on this delegation token."
class DelegationTokenExpired(KafkaError, code=66):
    message = "The delegation token has expired."
class InvalidPrincipalType(KafkaError, code=67):
    message = "Principals of this type cannot be used here."
class NonEmptyGroup(KafkaError, code=68):
    message = "The group still has members."
class GroupIdNotFound(KafkaError, code=69):
    message = "There is no group of this id."
class FetchSessionIdNotFound(RetriableError, code=70):
    message = "The broker no longer has this fetch session; start with a full fetch."
class InvalidFetchSessionEpoch(RetriableError, code=71):
    message = "The fetch session's epoch is not the next one; start with a full fetch."
class ListenerNotFound(InvalidMetadataError, code=72):
    message = "The leader has no listener of the name on which the metadata was asked for."
class TopicDeletionDisabled(KafkaError, code=73):
    message = "Topics cannot be deleted: delete.topic.enable is false."
class FencedLeaderEpoch(InvalidMetadataError, code=74):
    message = "The leader epoch of the request is older than the broker's; refresh the metadata."
class UnknownLeaderEpoch(RetriableError, code=75):
    message = "The leader epoch of the request is newer than any the broker has heard of."
class UnsupportedCompressionType(KafkaError, code=76):
    message = "This request version cannot carry batches of this compression type."
class StaleBrokerEpoch(KafkaError, code=77):
    message = "The broker epoch is old: the broker has registered again since."
class OffsetNotAvailable(RetriableError, code=78):
    message = "The new leader does not know its high watermark yet; try again shortly."
class MemberIdRequired(KafkaError, code=79):
    message = "The member has to join again with the member id of this answer."
class PreferredLeaderNotAvailable(InvalidMetadataError, code=80):
    message = "The preferred replica cannot lead now: it is down or not in sync."
class GroupMaxSizeReached(KafkaError, code=81):
    message = "The group has as many members as the broker allows."
class FencedInstanceId(KafkaError, code=82):
    message = "Another member has taken over this group.instance.id."
class EligibleLeadersNotAvailable(InvalidMetadataError, code=83):
    message = "None of the replicas that may lead the partition is up."
class ElectionNotNeeded(InvalidMetadataError, code=84):
    message = "The partition already has the leader that the election would choose."
class NoReassignmentInProgress(KafkaError, code=85):
    message = "The partition is not being reassigned."
class GroupSubscribedToTopic(KafkaError, code=86):
    message = "The group's members subscribe to the topic, so its offsets cannot be deleted."
class InvalidRecord(KafkaError, code=87):
    message = "A record breaks a rule of the topic or of its batch."
class UnstableOffsetCommit(RetriableError, code=88):
    message = "A transaction that commits offsets of these partitions is still open; try again shortly."
class ThrottlingQuotaExceeded(RetriableError, code=89):
    message = "The quota for changes is used up; wait for the answer's throttle time."
class ProducerFenced(KafkaError, code=90):
    message = "A newer producer with the same transactional id has taken over."
class ResourceNotFound(KafkaError, code=91):
    message = "What the request names does not exist."
class DuplicateResource(KafkaError, code=92):
    message = "The request names the same thing twice, or creates one that exists."
class UnacceptableCredential(KafkaError, code=93):
    message = "The credential does not meet the requirements, for example on iterations, salt or user name."
class InconsistentVoterSet(KafkaError, code=94):
    message = "Sender and receiver disagree on who the voters of the quorum are."
class InvalidUpdateVersion(KafkaError, code=95):
    message = "The update carries a version that does not follow the current one."
class FeatureUpdateFailed(KafkaError, code=96):
    message = "The finalized features could not be changed."
class PrincipalDeserializationFailure(KafkaError, code=97):
    message = "The principal inside a forwarded request does not parse; all nodes need the same format."
class SnapshotNotFound(KafkaError, code=98):
    message = "The quorum leader does not have the snapshot that was asked for."
class PositionOutOfRange(KafkaError, code=99):
    message = "The position is negative, or past the end of the snapshot."
class UnknownTopicId(InvalidMetadataError, code=100):
    message = "This broker has no topic of this id."
class DuplicateBrokerRegistration(KafkaError, code=101):
    message = "A broker that is still alive has registered with this id."
class BrokerIdNotRegistered(KafkaError, code=102):
    message = "No broker is registered with this id."
class InconsistentTopicId(InvalidMetadataError, code=103):
    message = "The topic's id in the log differs from the one in the request: the topic was made anew."
class InconsistentClusterId(KafkaError, code=104):
    message = "The request is meant for a cluster of another id."
class TransactionalIdNotFound(KafkaError, code=105):
    message = "The coordinator knows no such transactional id."
class FetchSessionTopicIdError(RetriableError, code=106):
    message = "The fetch session mixes topic names and topic ids; start with a full fetch."
class IneligibleReplica(KafkaError, code=107):
    message = "The new in-sync replicas include one that may not join: it is fenced or shutting down."
class NewLeaderElected(KafkaError, code=108):
    message = "The change was made, and gave the partition another leader."
class OffsetMovedToTieredStorage(KafkaError, code=109):
    message = "The offset is no longer on the leader's disk, only in remote storage."
class FencedMemberEpoch(KafkaError, code=110):
    message = "The member epoch is not the one the coordinator holds; give up the partitions and join again."
class UnreleasedInstanceId(KafkaError, code=111):
    message = "Another member still holds this instance id; it has to leave first."
class UnsupportedAssignor(KafkaError, code=112):
    message = "The group cannot use this assignor: the server does not have it, or not every member does."
class StaleMemberEpoch(KafkaError, code=113):
    message = "The member epoch is old; heartbeat, then try again with the epoch of the answer."
class MismatchedEndpointType(KafkaError, code=114):
    message = "The request was meant for the other kind of node, broker or controller."
class UnsupportedEndpointType(KafkaError, code=115):
    message = "Endpoints of this type cannot be described here."
class UnknownControllerId(KafkaError, code=116):
    message = "No controller has this id."
class UnknownSubscriptionId(KafkaError, code=117):
    message = "The telemetry subscription has changed; ask for the current one."
class TelemetryTooLarge(KafkaError, code=118):
    message = "The telemetry is larger than the broker takes in one request."
class InvalidRegistration(KafkaError, code=119):
    message = "The controller refuses what the broker registered with."
class TransactionAbortable(KafkaError, code=120):
    message = "The transaction cannot be committed any more, but the producer can go on after aborting it."
class InvalidRecordState(KafkaError, code=121):
    message = "The record's delivery state does not allow this: the member does not hold it now."
class ShareSessionNotFound(RetriableError, code=122):
    message = "The broker no longer has this share session; open a new one."
class InvalidShareSessionEpoch(RetriableError, code=123):
    message = "The share session's epoch is not the next one; open a new session."
class FencedStateEpoch(KafkaError, code=124):
    message = "The state epoch is old: the share-partition has been initialized again since."
class InvalidVoterKey(KafkaError, code=125):
    message = "The voter's id and directory id are not those of the receiver."
class DuplicateVoter(KafkaError, code=126):
    message = "The quorum already has a voter of this id."
class VoterNotFound(KafkaError, code=127):
    message = "The quorum has no voter of this id and directory."
class InvalidRegularExpression(KafkaError, code=128):
    message = "The subscription pattern is not a regular expression that the server can compile."
class RebootstrapRequired(KafkaError, code=129):
    message = "What the client knows of the cluster is useless here; start over from the bootstrap servers."
class StreamsInvalidTopology(KafkaError, code=130):
    message = "The topology of the streams group cannot be served as it was sent."
class StreamsInvalidTopologyEpoch(KafkaError, code=131):
    message = "The topology epoch does not follow the one that the streams group has."
class StreamsTopologyFenced(KafkaError, code=132):
    message = "The topology epoch is old: the streams group has moved to a newer topology."
class ShareSessionLimitReached(RetriableError, code=133):
    message = "The broker holds as many share sessions as it may; try again later."
# fmt: on
