"""A producer for the length of a command, made from the same settings as the admin client."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.cli.client.connection import known_configs, told_errors
from odradek.cli.client.settings import client_configs

if TYPE_CHECKING:
    from odradek.client.producer.kafka_producer import KafkaProducer

CLOSE_TIMEOUT_S = 5.0


@contextmanager
def producer_of(options: argparse.Namespace, configs: Mapping[str, str]) -> "Iterator[KafkaProducer[bytes, bytes]]":
    from odradek.client.producer.kafka_producer import KafkaProducer
    from odradek.config.producer import TABLE

    with told_errors():
        settings = known_configs(TABLE, client_configs(options), options)
        producer: KafkaProducer[bytes, bytes] = KafkaProducer({**configs, **settings})
        try:
            yield producer
        finally:
            producer.close(CLOSE_TIMEOUT_S)
