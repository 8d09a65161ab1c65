"""kafka-python's configs as ours: most have the same name."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

logger = logging.getLogger("odradek.compat")

DEFAULT_PORT = 9092

# About the inside of kafka-python, or decided here in another way: no effect, and nothing to worry about.
_WITHOUT_EFFECT = """
    api_version api_version_auto_timeout_ms bootstrap_timeout_ms default_offset_commit_callback
    enable_incremental_fetch_sessions kafka_client max_in_flight_requests_per_connection_limit metric_group_prefix
    metric_reporters metrics_enabled metrics_num_samples metrics_sample_window_ms receive_message_max_bytes
    sasl_kerberos_domain_name sasl_kerberos_name sasl_kerberos_service_name selector sock_chunk_buffer_count
    sock_chunk_bytes socket_options
"""
WITHOUT_EFFECT = frozenset(_WITHOUT_EFFECT.split())

# What would be missed.
NOT_THERE = ("proxy_url", "socks5_proxy", "ssl_ciphers", "ssl_crlfile")

DEFAULTS = {"bootstrap_servers": "localhost"}


def adapted(given: Mapping[str, Any], own: Mapping[str, str] | None = None) -> dict[str, Any]:
    """As our clients take them. `own` are names that the one client has and ours calls otherwise.

    Any: each config is of the type that its name suggests.
    """
    found: dict[str, Any] = {}
    for name, value in {**DEFAULTS, **given}.items():
        if name in NOT_THERE and value is not None:
            raise ValueError(f"{name} is not there: see docs/compat.md")
        if name not in WITHOUT_EFFECT and name not in NOT_THERE and value is not None:
            found[(own or {}).get(name, name)] = value
    found["bootstrap_servers"] = servers(found["bootstrap_servers"])
    return found


def servers(given: str | Iterable[str]) -> list[str]:
    """A port that is not given is 9092."""
    each = given.split(",") if isinstance(given, str) else list(given)
    return [_with_port(one.strip()) for one in each]


def _with_port(server: str) -> str:
    bare = server.rpartition("]")[2] if server.startswith("[") else server
    return server if ":" in bare else f"{server}:{DEFAULT_PORT}"


def seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
