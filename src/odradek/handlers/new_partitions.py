"""Waiting for the logs of partitions that were just made, so that whoever had them made can write to them at once."""

from odradek.handlers.call import BrokerCall

WAIT_MS_MAX = 1000  # a request for thousands of partitions is answered before they are all there, as Kafka answers it


async def until_open(call: BrokerCall, partitions: dict[str, int], timeout_ms: int) -> None:
    """Waits until the new partitions are open on this broker.

    `partitions` has, by topic, the number of partitions that it must have before it counts as created. One is enough
    for a new topic: its records are one batch, and an image has all of a batch.
    """
    replicas = call.services.replicas
    deadline_ms = call.mono_ms() + min(timeout_ms, WAIT_MS_MAX)
    for topic, count in partitions.items():
        while (left_ms := deadline_ms - call.mono_ms()) > 0 and not _is_open(call, topic, count):
            await replicas.unopened_topics.until_opened(topic, left_ms)


def _is_open(call: BrokerCall, topic: str, count: int) -> bool:
    image = call.services.metadata.topic(topic)
    is_made = image is not None and len(image.partitions) >= count
    return is_made and topic not in call.services.replicas.unopened_topics
