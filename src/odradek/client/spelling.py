"""Keywords that methods of other clients have and ours spell otherwise: whoever gives one is told what to write."""

from collections.abc import Mapping
from typing import Never

_OURS = {
    "timeout_ms": "give timeout, in seconds",
    "timeout_s": "give timeout, in seconds",
    "pattern": "give topics=re.compile(...)",
    "on_assign": "give on_assigned",
    "on_revoke": "give on_revoked",
    "autocommit": "give commit=False to commit nothing",
    "update_offsets": "leave it out, the position moves on with what is handed out",
    "metadata": "leave it out, each offset has its metadata",
    "num_messages": "give max_records",
    "max_messages": "give max_records",
}


def refuse_keywords(method: str, given: Mapping[str, object]) -> Never:
    """For what a method was given beyond what it knows."""
    name = next(iter(given))
    hint = f": {_OURS[name]}" if name in _OURS else ""
    raise TypeError(f"{method}() has no {name}{hint}")
