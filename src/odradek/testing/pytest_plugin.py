"""The pytest plugin: a broker per session, a topic per test.

    def test_it(odradek_broker, odradek_topic):
        producer = KafkaProducer(bootstrap_servers=odradek_broker.bootstrap)
        producer.send(odradek_topic, b"one").get()

- `odradek_broker`: a `Broker` for the whole session; with pytest-xdist, one per worker.
- `odradek_broker_config`: Kafka's broker configs for it, none; override it in a conftest.py, with scope="session".
- `odradek_topic`: the name of a topic that was created for this test and is deleted after it. As many partitions as
  `num.partitions` says, or as a mark does: `@pytest.mark.odradek_topic(partitions=3, config={"retention.ms": 1000})`.
- Faults end with the test that asked for them, if it uses `odradek_topic`.

Options: `--odradek-release`; `--odradek-log FILE`, of which each worker of pytest-xdist has its own: `broker.log` is
`broker.gw0.log`, `broker.gw1.log` and so on.
"""

import os
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from odradek.testing.broker import Broker

NAME_CHARACTERS_MAX = 200  # Kafka allows 249
AS_CONFIGURED = -1  # as many partitions as num.partitions says
MARK = "@pytest.mark.odradek_topic"
_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("odradek", "a Kafka broker for tests")
    group.addoption(
        "--odradek-release", metavar="RELEASE", choices=("3.3", "4.3"), help="the release to speak: 3.3 or 4.3 (4.3)"
    )
    group.addoption(
        "--odradek-log",
        metavar="FILE",
        help="append the broker's server log to this file; workers of pytest-xdist add their name before the suffix",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "odradek_topic(partitions=num.partitions, config=None): what the topic of the fixture odradek_topic is like",
    )


@pytest.fixture(scope="session")
def odradek_broker_config() -> dict[str, object]:
    """Kafka's broker configs for the fixture odradek_broker: override it to set some."""
    return {}


@pytest.fixture(scope="session")
def odradek_broker(request: pytest.FixtureRequest, odradek_broker_config: dict[str, object]) -> "Iterator[Broker]":
    """A Kafka broker for the whole session; its `bootstrap` is what clients want to know."""
    from odradek.testing.broker import Broker
    from odradek.testing.broker_error import BrokerError

    option: Any = request.config.getoption  # Any: each has a type of its own, which pytest does not tell
    log = _log_of_worker(option("--odradek-log"), request.config)
    try:
        broker = Broker(option("--odradek-release"), config=odradek_broker_config, log=log).start()
    except (BrokerError, TypeError) as error:
        raise _failed("odradek_broker", error) from None
    yield broker
    broker.stop()


@pytest.fixture
def odradek_topic(request: pytest.FixtureRequest, odradek_broker: "Broker") -> Iterator[str]:
    """The name of a fresh topic on odradek_broker, deleted after the test."""
    from odradek.testing.broker_error import BrokerError

    name = _topic_name(request.node.name)
    partitions, config = _marked(request.node.get_closest_marker("odradek_topic"))
    try:
        odradek_broker.create_topic(name, partitions, config)
    except BrokerError as error:
        raise _failed("odradek_topic", error) from None
    yield name
    if odradek_broker.is_running:
        odradek_broker.faults.clear()
        try:
            odradek_broker.delete_topic(name)
        except BrokerError as error:
            if "UNKNOWN_TOPIC_OR_PARTITION" not in str(error):  # the test has deleted it itself
                raise


def _failed(fixture: str, error: Exception) -> BaseException:
    """What is printed in place of a traceback; raised from None, so that it is all that is printed."""
    return pytest.fail.Exception(f"{fixture}: {error}", pytrace=False)


def _log_of_worker(log: str | None, config: pytest.Config) -> str | None:
    """Every worker of pytest-xdist has a broker, and two of them would write over each other in one file."""
    worker: dict[str, str] | None = getattr(config, "workerinput", None)
    if log is None or worker is None:
        return log
    stem, suffix = os.path.splitext(log)
    return f"{stem}.{worker['workerid']}{suffix}"


def _marked(mark: pytest.Mark | None) -> tuple[int, Mapping[str, object] | None]:
    """Partitions and configs as the mark says; a test with a mark that says something else fails with one line."""
    if mark is None:
        return AS_CONFIGURED, None
    given = {**dict(zip(("partitions", "config"), mark.args, strict=False)), **mark.kwargs}
    partitions, config = given.pop("partitions", AS_CONFIGURED), given.pop("config", None)
    if given or len(mark.args) > 2:
        pytest.fail(f"{MARK} takes partitions and config, not {', '.join(given) or 'more'}", pytrace=False)
    if not isinstance(partitions, int):
        pytest.fail(f"{MARK}: partitions is a whole number, not {partitions!r}", pytrace=False)
    if config is not None and not isinstance(config, Mapping):
        pytest.fail(f"{MARK}: config is a dict of topic configs, not {config!r}", pytrace=False)
    return partitions, config


def _topic_name(test: str) -> str:
    """After the test, so that a log or a tool shows whose it is; the number makes it unlike any other."""
    return f"{re.sub('[^a-zA-Z0-9._-]+', '-', test)[:NAME_CHARACTERS_MAX].strip('-')}-{next(_numbers)}"
