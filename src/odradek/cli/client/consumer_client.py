"""A consumer for the length of a command, made from the same settings as the admin client."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.cli.client.connection import known_configs, told_errors
from odradek.cli.client.settings import client_configs

if TYPE_CHECKING:
    from odradek.client.consumer.kafka_consumer import KafkaConsumer

CLOSE_TIMEOUT_S = 5.0


@contextmanager
def consumer_of(options: argparse.Namespace, configs: Mapping[str, str]) -> "Iterator[KafkaConsumer[bytes, bytes]]":
    """What the command itself needs to be so wins over what was set."""
    from odradek.client.consumer.kafka_consumer import KafkaConsumer
    from odradek.config.consumer import TABLE

    with told_errors():
        settings = known_configs(TABLE, client_configs(options), options)
        consumer: KafkaConsumer[bytes, bytes] = KafkaConsumer({**settings, **configs})
        try:
            yield consumer
        finally:
            consumer.close(CLOSE_TIMEOUT_S, commit=False)
