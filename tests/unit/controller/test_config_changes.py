"""Configs that are set at run time. Codes and words are those that a 4.3.0 gave to the same requests."""

from typing import Any

import pytest

from controllers import Harness
from odradek.config.vocabulary import BROKER, CLIENT_METRICS, GROUP, TOPIC
from odradek.protocol import releases
from odradek.protocol.messages import k33_alter_configs as k33
from odradek.protocol.messages import k44_incremental_alter_configs as k44

SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture
def harness() -> Harness:
    made = Harness()
    made.brokers(1)
    made.create("t")
    return made


def alter(harness: Harness, kind: int, name: str, *configs: tuple[str, int, str | None], validate_only: bool = False):
    items = [k44.AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in configs]
    resource = k44.AlterConfigsResource(resource_type=kind, resource_name=name, configs=items)
    outcomes = harness.run(lambda core: core.incremental_alter_configs([resource], validate_only=validate_only))
    error = outcomes[0][1]
    return (0, None) if error is None else (error.code, error.message)


@pytest.mark.parametrize(
    ("kind", "name", "config", "code", "words"),
    [
        (CLIENT_METRICS, "", ("interval.ms", SET, "5000"), 42, "Subscription name can't be empty"),
        (
            CLIENT_METRICS,
            "s",
            ("interval.ms", SET, "5"),
            42,
            "Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (CLIENT_METRICS, "s", ("nope", SET, "5"), 42, "Unknown client metrics configuration: nope"),
        (CLIENT_METRICS, "s", ("match", SET, "bogus"), 40, "Illegal client matching pattern: bogus"),
        (CLIENT_METRICS, "s", ("match", SET, "client_id=["), 40, "Illegal client matching pattern: client_id=["),
        (
            CLIENT_METRICS,
            "s",
            ("interval.ms", SET, "x"),
            40,
            "Invalid value x for configuration interval.ms: Not a number of type INT",
        ),
        (CLIENT_METRICS, "s", ("match", SET, "client_id=a.*"), 0, None),
        (
            GROUP,
            "g",
            ("consumer.session.timeout.ms", SET, "10"),
            40,
            "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"), 0, None),
        (GROUP, "g", ("nope", SET, "10"), 40, "Unknown group config name: nope"),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "50000"), 42, "Default group resources are not allowed."),
        (
            GROUP,
            "g",
            ("consumer.heartbeat.interval.ms", SET, "44999999"),
            40,
            "consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms",
        ),
        (
            GROUP,
            "g",
            ("streams.num.standby.replicas", SET, "3"),
            40,
            "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
        ),
        (BROKER, "x", ("log.cleaner.threads", SET, "2"), 42, "Node id must be an integer, but it is: x"),
        (BROKER, "9", ("log.cleaner.threads", SET, "2"), 42, "Unexpected broker id, expected 1, but received 9"),
        (
            BROKER,
            "1",
            ("num.io.threads", SET, "100"),
            42,
            "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation"
            " failed for num.io.threads=100, value should not be greater than double the current value 8 for"
            " configuration Invalid dynamic configuration",
        ),
        (BROKER, "1", ("num.io.threads", SET, "16"), 0, None),
        (
            BROKER,
            "1",
            ("principal.builder.class", SET, "org.example.Names"),
            42,
            "principal.builder.class=org.example.Names asks for protection that is not there: classes of Java cannot be"
            " loaded, and callers would go by other names than it gives; take it out, and rename principals with"
            " ssl.principal.mapping.rules",
        ),
        (
            BROKER,
            "",
            ("ssl.keystore.password", SET, "x"),
            42,
            "These security configs can be dynamically updated only per-listener using the listener prefix:"
            " [ssl.keystore.password]",
        ),
        (BROKER, "", ("log.cleanup.policy", APPEND, "compact"), 0, None),
        (
            TOPIC,
            "a/b",
            ("retention.ms", SET, "2"),
            17,
            "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_'"
            " and '-'",
        ),
        (TOPIC, "t", ("nope", DELETE, None), 0, None),
        (TOPIC, "t", ("cleanup.policy", APPEND, None), 42, "Null value not supported for : cleanup.policy"),
        (TOPIC, "t", ("cleanup.policy", SUBTRACT, "compact"), 0, None),
    ],
)
def test_one_config(
    harness: Harness, kind: int, name: str, config: tuple[str, int, str | None], code: int, words: str | None
) -> None:
    assert alter(harness, kind, name, config) == (code, words)


def test_list_operations_start_from_what_is_in_force(harness: Harness) -> None:
    alter(harness, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    assert harness.core.configs.of(TOPIC, "t") == {"cleanup.policy": "delete,compact"}
    alter(harness, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    assert harness.core.configs.of(TOPIC, "t") == {"cleanup.policy": "delete,compact"}
    alter(harness, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"))
    assert harness.core.configs.of(TOPIC, "t") == {"cleanup.policy": "compact"}


def test_a_resource_changes_as_a_whole_or_not_at_all(harness: Harness) -> None:
    code, _ = alter(harness, TOPIC, "t", ("retention.ms", SET, "5"), ("segment.bytes", SET, "1"))
    assert code == 40
    assert harness.core.configs.of(TOPIC, "t") == {}


def test_only_what_changes_is_written(harness: Harness) -> None:
    alter(harness, TOPIC, "t", ("retention.ms", SET, "5"))
    end = harness.quorum.log_end_offset
    alter(harness, TOPIC, "t", ("retention.ms", SET, "5"), ("segment.ms", DELETE, None))
    assert harness.quorum.log_end_offset == end
    alter(harness, TOPIC, "t", ("retention.ms", SET, "6"), validate_only=True)
    assert harness.quorum.log_end_offset == end
    alter(harness, BROKER, "1", ("log.cleaner.threads", SET, "2"))
    alter(harness, BROKER, "1", ("log.cleaner.threads", SET, "2"))
    assert harness.quorum.log_end_offset == end + 2, "a broker reads its keystores anew when they are set again"


def test_the_legacy_form_replaces_everything(harness: Harness) -> None:
    alter(harness, TOPIC, "t", ("retention.ms", SET, "5"), ("segment.ms", SET, "9000"))
    resource = k33.AlterConfigsResource(
        resource_type=TOPIC, resource_name="t", configs=[k33.AlterableConfig(name="segment.ms", value="8000")]
    )
    harness.run(lambda core: core.alter_configs([resource], validate_only=False))
    assert harness.core.configs.of(TOPIC, "t") == {"segment.ms": "8000"}


def test_a_resource_may_come_once_in_a_request(harness: Harness) -> None:
    resource = k44.AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[])
    outcomes: Any = harness.run(lambda core: core.incremental_alter_configs([resource, resource], validate_only=False))
    assert [error.message for _, error in outcomes] == ["Each resource must appear at most once."] * 2


def test_dynamic_broker_configs_decide_about_new_topics(harness: Harness) -> None:
    assert harness.create("before", partitions=-1).num_partitions == 1
    alter(harness, BROKER, "", ("log.retention.ms", SET, "1234"))
    told = {config.name: config for config in harness.create("after").configs}
    assert (told["retention.ms"].value, told["retention.ms"].config_source) == ("1234", 3)
    alter(harness, BROKER, "1", ("log.retention.ms", SET, "99"))
    told = {config.name: config for config in harness.create("later").configs}
    assert (told["retention.ms"].value, told["retention.ms"].config_source) == ("99", 2)


def test_a_3_3_knows_no_configs_of_groups_and_metrics() -> None:
    harness = Harness(release=releases.RELEASE_3_3)
    harness.brokers(1)
    for kind in (CLIENT_METRICS, GROUP):
        assert alter(harness, kind, "x", ("interval.ms", SET, "5000")) == (42, f"Unknown resource type {kind}")
