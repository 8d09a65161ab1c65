"""The configs of a client that are about its connections, with Kafka's defaults."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self


class ChannelConfig(NamedTuple):
    client_id: str = ""
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1000
    socket_connection_setup_timeout_ms: int = 10_000
    socket_connection_setup_timeout_max_ms: int = 30_000
    request_timeout_ms: int = 30_000
    connections_max_idle_ms: int = 540_000
    max_in_flight_requests_per_connection: int = 5
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1000
    metadata_max_age_ms: int = 300_000
    metadata_recovery_strategy: str = "rebootstrap"

    @classmethod
    def from_config(cls, config: Mapping[str, Any], **others: int | str) -> Self:
        """From the parsed config of any client, or of a broker that talks to others; `others` replace what it says.
        Its values are Any: of the types that its table says, and the fields above have.

        A config that this kind of client does not have keeps its default.
        """
        names = {field: field.replace("_", ".") for field in cls._fields}
        found = {field: config[name] for field, name in names.items() if config.get(name) is not None}
        return cls(**{**found, **others})
