"""What a topic may be called."""

import re

from odradek.controller.topics import Topics, collision_form
from odradek.protocol.errors import InvalidTopicException

NAME_CHARS_MAX = 249  # a directory is called after the topic, a partition and a suffix, in at most 255
_LEGAL = r"[a-zA-Z0-9._-]+\Z"


def check_name(name: str) -> None:
    reason = _reason_against(name)
    if reason is not None:
        raise InvalidTopicException(f"Topic name is invalid: {reason}")


def check_collision(topics: Topics, name: str) -> None:
    for other in topics.with_collisions.get(collision_form(name), ()):
        if other != name:
            raise InvalidTopicException(f"Topic '{name}' collides with existing topic: {other}")


def _reason_against(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_CHARS_MAX:
        return f"the length of '{name}' is longer than the max allowed length {NAME_CHARS_MAX}"
    if not re.match(_LEGAL, name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
