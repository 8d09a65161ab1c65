"""What a member of a classic group hears that is refused: when it joins, or while it waits for a rebalance."""

from odradek.coordinator.core import Answer
from odradek.coordinator.group.classic.member import Member
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k11_join_group import JoinGroupResponse
from odradek.protocol.messages.k14_sync_group import SyncGroupResponse


def join_refusal(error: KafkaError | type[KafkaError], member_id: str) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error.code, protocol_name=None, member_id=member_id)


def refusals(member: Member, member_id: str, error: type[KafkaError]) -> list[Answer]:
    """The answers to whatever the member waits with; `member_id` is what a join tells it of itself."""
    answers = []
    if member.join_ticket is not None:
        answers.append(Answer(member.join_ticket, join_refusal(error, member_id)))
    if member.sync_ticket is not None:
        answers.append(Answer(member.sync_ticket, SyncGroupResponse(error_code=error.code)))
    return answers
