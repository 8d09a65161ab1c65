"""The topics in which the coordinators keep their state, and why one of them cannot come to be.

Until its topic is there a coordinator answers COORDINATOR_NOT_AVAILABLE, and clients come again without a word. With
Kafka's defaults of three replicas a lone broker would let them wait for ever: so it says at the start, and whenever
somebody asks, what is missing and what to set.
"""

from typing import NamedTuple

from odradek.config.parsed import Config
from odradek.protocol.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_STATE_TOPIC


class InternalTopic(NamedTuple):
    name: str
    whose: str  # who waits for it
    factor: str  # the config with the number of its replicas
    min_isr: str | None


INTERNAL = {
    topic.name: topic
    for topic in (
        InternalTopic(OFFSETS_TOPIC, "groups", "offsets.topic.replication.factor", None),
        InternalTopic(
            TRANSACTION_STATE_TOPIC,
            "transactions",
            "transaction.state.log.replication.factor",
            "transaction.state.log.min.isr",
        ),
        InternalTopic(
            SHARE_STATE_TOPIC,
            "share groups",
            "share.coordinator.state.topic.replication.factor",
            "share.coordinator.state.topic.min.isr",
        ),
    )
}


def reason_not_creatable(topic: InternalTopic, config: Config, brokers: int) -> str | None:
    """Why these configs cannot create a usable topic, and what to set; None if they can."""
    replicas = config.get(topic.factor)
    if replicas is None:
        return None  # the release does not have it
    if replicas > brokers:
        there = "there is 1" if brokers == 1 else f"there are {brokers}"
        return (
            f"{topic.whose} will wait: {topic.factor}={replicas} needs as many brokers to create {topic.name}, "
            f"and {there}; set {topic.factor}={brokers}" + _and_min_isr(topic, config, brokers)
        )
    in_sync = config.get(topic.min_isr) if topic.min_isr is not None else None
    if in_sync is not None and in_sync > replicas:
        return (
            f"{topic.whose} will wait: {topic.min_isr}={in_sync} is more than {topic.factor}={replicas}, and nothing "
            f"could be written to {topic.name}; set {topic.min_isr}={replicas}"
        )
    return None


def _and_min_isr(topic: InternalTopic, config: Config, brokers: int) -> str:
    too_many = topic.min_isr is not None and config[topic.min_isr] > brokers
    return f" and {topic.min_isr}={brokers}" if too_many else ""
