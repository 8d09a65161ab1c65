"""librdkafka's configs as Kafka's own: most have the same name, some another, and some have no meaning here."""

from collections.abc import Mapping
from typing import Any

OTHER_NAMES = {
    "compression.codec": "compression.type",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.max.bytes": "max.request.size",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.cafile",
    "ssl.certificate.location": "ssl.certfile",
    "ssl.key.location": "ssl.keyfile",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
}
# Handled by the two clients, or about the inside of librdkafka.
WITHOUT_EFFECT = frozenset(
    {
        "api.version.request",
        "batch.num.messages",
        "broker.address.family",
        "debug",
        "delivery.report.only.error",
        "enable.auto.offset.store",
        "enable.partition.eof",
        "error_cb",
        "log_level",
        "logger",
        "on_delivery",
        "partitioner",
        "queue.buffering.max.messages",
        "queued.min.messages",
        "socket.keepalive.enable",
        "socket.timeout.ms",
        "statistics.interval.ms",
        "stats_cb",
    }
)
_RESETS = {"smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest", "error": "none"}


def adapted(given: Mapping[str, Any]) -> dict[str, Any]:
    """As our clients take them. Any: each config is of the type that its name suggests."""
    whole = {**given, **given.get("default.topic.config", {})}
    whole.pop("default.topic.config", None)
    found = {OTHER_NAMES.get(name, name): value for name, value in whole.items() if name not in WITHOUT_EFFECT}
    if "queue.buffering.max.kbytes" in found:
        found["buffer.memory"] = int(found.pop("queue.buffering.max.kbytes")) * 1024
    if "auto.offset.reset" in found:
        found["auto.offset.reset"] = _RESETS.get(found["auto.offset.reset"], found["auto.offset.reset"])
    if str(found.get("enable.ssl.certificate.verification", True)).lower() == "false":
        raise ValueError("enable.ssl.certificate.verification=false is not there: give an ssl.context")
    found.pop("enable.ssl.certificate.verification", None)
    return found


def seconds(timeout: float | None) -> float | None:
    """Theirs: -1 is for ever."""
    return None if timeout is None or timeout < 0 else float(timeout)
