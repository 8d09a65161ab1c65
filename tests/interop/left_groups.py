"""Groups that one broker leaves behind and another finds: offsets alone, a static member of a classic group, a member
of a consumer group, and offsets of transactions. What is told of them is one comparable value.
"""

import json

from odradek.protocol.json_form import to_json
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from odradek.protocol.messages.k16_list_groups import ListGroupsRequest
from odradek.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest

TOPIC = "t"
SESSION_MS = 300_000  # longer than the other takes to start
UNSTABLE_OFFSET_COMMIT = 88  # a transaction holds an offset back
AGAIN = {14, 15, 16, UNSTABLE_OFFSET_COMMIT}
MEMBER = "AAECAwQFBgcICQoLDA0ODw"  # of the consumer protocol: the client's own choice
RANGE = JoinGroupRequestProtocol(
    name="range", metadata=b"\0\0" + ConsumerProtocolSubscription(topics=[TOPIC]).to_bytes(0)
)


class LeftGroups:
    """`name` tells who has left them; `talk` is whom to ask."""

    def __init__(self, talk, name):
        self._talk = talk
        self._name = name
        self.groups = [f"{name} offsets", f"{name} classic", f"{name} transactions"]
        self.consumer_groups = [f"{name} consumer"] if talk.release != "3.3" else []

    # Leaving

    def leave(self):
        for group in (*self.groups, *self.consumer_groups):
            self._find(group)
        self._commit(f"{self._name} offsets", 3, "metadata-é")
        self._leave_classic(f"{self._name} classic")
        for group in self.consumer_groups:
            self._leave_consumer(group)

    def _find(self, group):
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        self._until(request, 4, lambda answer: answer.coordinators[0].error_code)

    def _commit(self, group, offset, metadata, generation=-1, member="", instance=None, version=8):
        row = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=metadata)
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member,
            group_instance_id=instance,
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[row])],
        )
        self._until(request, version, lambda answer: answer.topics[0].partitions[0].error_code)

    def _leave_classic(self, group):
        instance = f"{group} instance"
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id="",
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[RANGE],
        )
        joined = self._until(request, 7, lambda answer: answer.error_code)
        assignment = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"the share")
        sync = SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[assignment],
        )
        self._until(sync, 5, lambda answer: answer.error_code)
        self._commit(group, 4, "", joined.generation_id, joined.member_id, instance)

    def _leave_consumer(self, group):
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=MEMBER,
            member_epoch=0,
            instance_id=f"{group} instance",
            rebalance_timeout_ms=SESSION_MS,
            subscribed_topic_names=[TOPIC],
            topic_partitions=[],
        )
        joined = self._until(request, 1, lambda answer: answer.error_code)
        self._commit(group, 5, "", joined.member_epoch, MEMBER, version=9)

    def commit_in_transaction(self, transactional_id, producer, offset):
        """As the offset of the group of transactions; it counts if the transaction is committed."""
        group = f"{self._name} transactions"
        self._find(group)
        self._talk.add_offsets(transactional_id, producer, group)
        row = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group,
            producer_id=producer[0],
            producer_epoch=producer[1],
            topics=[TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[row])],
        )
        self._until(request, 3, lambda answer: answer.topics[0].partitions[0].error_code)

    # Telling

    def told(self):
        """Once no transaction holds an offset back."""
        return {
            "listed": self._listed(),
            "described": self._form(DescribeGroupsRequest(groups=self.groups), 5)["groups"],
            "consumers": self._described_consumers(),
            "offsets": self._offsets(),
        }

    def offset_of_transactions(self):
        (row,) = [group for group in self._offsets() if group["groupId"] == f"{self._name} transactions"]
        return row["topics"][0]["partitions"][0]["committedOffset"]

    def _listed(self):
        answer = self._until(ListGroupsRequest(), 4, lambda answer: answer.error_code)
        own = (*self.groups, *self.consumer_groups)
        return sorted(
            (row.group_id, row.protocol_type, row.group_state) for row in answer.groups if row.group_id in own
        )

    def _described_consumers(self):
        if not self.consumer_groups:
            return []
        form = self._form(ConsumerGroupDescribeRequest(group_ids=self.consumer_groups), 1)
        return form["groups"]

    def _offsets(self):
        groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in (*self.groups, *self.consumer_groups)]
        request = OffsetFetchRequest(groups=groups, require_stable=True)
        answer = self._until(request, 8, _worst)
        return _sorted(to_json(answer, 8)["groups"])

    def _form(self, request, version):
        answer = self._until(request, version, lambda answer: answer.groups[0].error_code)
        return _sorted(to_json(answer, version))

    def _until(self, request, version, code_of):
        answer = self._talk.until(lambda: self._talk.ask(request, version), lambda found: code_of(found) not in AGAIN)
        assert code_of(answer) == 0, answer
        return answer


def _worst(answer):
    codes = [part.error_code for group in answer.groups for topic in group.topics for part in topic.partitions]
    return max([group.error_code for group in answer.groups] + codes)


def _sorted(form):
    if isinstance(form, dict):
        return {name: _sorted(value) for name, value in form.items()}
    if isinstance(form, list):
        return sorted((_sorted(item) for item in form), key=lambda item: json.dumps(item, sort_keys=True))
    return form
