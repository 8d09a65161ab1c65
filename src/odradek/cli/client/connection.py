"""A client for the length of a command: made from the settings, in touch with a broker, and its errors as one line.

with admin_of(options) as admin:
    admin.list_topics()
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

from odradek.cli.client.contexts_file import BOOTSTRAP_SERVERS
from odradek.cli.client.near import nearest
from odradek.cli.client.settings import client_configs, named_values
from odradek.cli.client.waiting import Status, told_if_slow
from odradek.cli.failure import Failure, Refusal
from odradek.cli.output import complain
from odradek.cli.progress import SILENT_SECONDS

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.config.definition import Table

K = TypeVar("K")

DEFAULT_TIMEOUT_S = 10.0

_CLOSE_TIMEOUT_S = 1.0
_ABOUT_S = 0.6  # a client gives up when the next pause between two attempts would end too late


@contextmanager
def admin_of(options: argparse.Namespace, *, is_long: bool = False) -> "Iterator[AdminClient]":
    """An admin client that has reached a broker. A command that `is_long` tells by itself how far it is."""
    from odradek.client.admin.admin_client import AdminClient
    from odradek.config.admin import TABLE

    settings = client_configs(options)
    timeout = timeout_s(options)
    with told_errors():
        configs = known_configs(TABLE, settings, options)
        configs.setdefault("default.api.timeout.ms", str(round(timeout * 1000)))
        configs["request.timeout.ms"] = str(min(30_000, int(configs["default.api.timeout.ms"])))
        admin = AdminClient(configs)
        try:
            reach(admin, settings[BOOTSTRAP_SERVERS], timeout)
            with nullcontext() if is_long else told_if_slow("waiting for an answer"):
                yield admin
        finally:
            admin.close(_CLOSE_TIMEOUT_S)


def timeout_s(options: argparse.Namespace) -> float:
    return DEFAULT_TIMEOUT_S if options.timeout is None else float(options.timeout)


def reach(admin: "AdminClient", bootstrap: str, timeout: float) -> None:
    """Waits until a broker answers; after two seconds it tells for what, and why it does not. Refusal at the end."""
    from odradek.protocol.errors import RequestTimedOut

    began, status = time.monotonic(), Status()
    deadline = began + timeout
    try:
        while True:
            left = deadline - time.monotonic()
            try:
                admin.describe_cluster(timeout=max(_ABOUT_S, min(left, SILENT_SECONDS)))
                return
            except RequestTimedOut as error:
                reason = why_unreachable(str(error))
            if time.monotonic() + _ABOUT_S >= deadline:
                raise Refusal(
                    f"no broker answers at {bootstrap}: {reason}; start one (odradek start) or name another with -b"
                )
            if time.monotonic() + _ABOUT_S >= began + SILENT_SECONDS:
                status.show(f"waiting for {bootstrap} ... {reason}")
    finally:
        status.clear()


def why_unreachable(text: str) -> str:
    """The end of a chain of causes, which says what the matter is: `connection refused`."""
    _, found, cause = text.partition("The last attempt failed: ")
    last = (cause if found else text).rstrip(".").rpartition(": ")[2]
    return last[:1].lower() + last[1:] if last else "no answer"


def known_configs(table: "Table", settings: Mapping[str, str], options: argparse.Namespace) -> dict[str, str]:
    """Those that this kind of client has: a file is shared by all. What was typed must be known to one."""
    from odradek.client.settings import RELEASE

    mine = table.at(RELEASE)
    for name in named_values(options.configs, "-X"):
        if name not in mine and not _is_known(name):
            near = nearest(name, _all_names())
            raise Failure(f"-X {name}: no client of Kafka's has this config{_meant(near)}")
    return {name: value for name, value in settings.items() if name in mine}


def _is_known(name: str) -> bool:
    return name in _all_names()


def _all_names() -> set[str]:
    from odradek.client.settings import RELEASE
    from odradek.config import admin, consumer, producer

    return {name for table in (admin.TABLE, consumer.TABLE, producer.TABLE) for name in table.at(RELEASE)}


def _meant(near: list[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""


@contextmanager
def told_errors() -> Iterator[None]:
    """What goes wrong with a cluster as one line: nobody who types a command wants a traceback."""
    import logging

    from odradek.config.errors import ConfigError, one_line
    from odradek.protocol.errors import EncodeError, KafkaError

    logger = logging.getLogger("odradek.client")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    except KafkaError as error:
        raise Refusal(one_line(_told(error))) from None
    except EncodeError as error:
        raise Refusal(f"the broker is too old for this: {one_line(str(error))}") from None
    except ConfigError as error:
        raise Failure(str(error)) from None
    finally:
        logger.setLevel(before)


def tell_errors(errors: Mapping[K, Exception]) -> int:
    """Tells of each of several things why it could not be done; the exit status."""
    from odradek.config.errors import one_line

    for key, error in errors.items():
        complain(one_line(f"{key}: {_told(error)}"))
    return 1 if errors else 0


def _told(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
