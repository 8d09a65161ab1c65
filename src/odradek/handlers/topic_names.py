"""Which names a topic may have."""

from odradek.controller.topic_names import check_name
from odradek.protocol.errors import InvalidTopicException


def is_legal_name(name: str) -> bool:
    try:
        check_name(name)
    except InvalidTopicException:
        return False
    return True
