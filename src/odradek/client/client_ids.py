"""The names of clients that were given none, as Kafka makes them up: producer-1, consumer-GROUP-1, adminclient-1.

They stand in the brokers' logs, metrics and groups, and in the name of the client's thread. Each kind of client is
counted in its process; one that has a name of its own, a transactional.id or a group.instance.id, is called by that.
"""

from collections.abc import Mapping
from itertools import count

_NUMBERS = {"producer": count(1), "consumer": count(1), "admin": count(1)}


def made_up_id(kind: str, config: Mapping[str, object]) -> str:
    """`kind` is the name of the table of configs. To Kafka a share consumer is a consumer, and counted with them."""
    kind = "consumer" if kind == "share consumer" else kind
    own_name = config.get({"producer": "transactional.id", "consumer": "group.instance.id"}.get(kind, ""))
    last = own_name or next(_NUMBERS[kind])
    if kind == "consumer":
        return f"consumer-{config.get('group.id') or 'null'}-{last}"
    return f"{'adminclient' if kind == 'admin' else kind}-{last}"
