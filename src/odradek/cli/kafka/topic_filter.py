"""Topics by a regular expression, as scripts take it: several with commas between, quotes around it or not."""

import re

from odradek.cli.failure import Refusal
from odradek.protocol.internal_topics import INTERNAL_TOPICS


class TopicFilter:
    """A name must match as a whole."""

    def __init__(self, text: str) -> None:
        pattern = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
        try:
            self._pattern = re.compile(pattern)
        except re.error:
            raise Refusal(f"{pattern} is an invalid regex.") from None

    def allows(self, topic: str, *, excludes_internal: bool = False) -> bool:
        if excludes_internal and topic in INTERNAL_TOPICS:
            return False
        return self._pattern.fullmatch(topic) is not None
