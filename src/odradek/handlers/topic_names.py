"""Which topics are Kafka's own, and which names a topic may have."""

from odradek.controller.topic_names import check_name
from odradek.protocol.errors import InvalidTopicException

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_STATE_TOPIC})


def is_legal_name(name: str) -> bool:
    try:
        check_name(name)
    except InvalidTopicException:
        return False
    return True
