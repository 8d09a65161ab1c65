"""The configs of a client as a program gives them, and what becomes of those that cannot be honoured."""

import logging
import re

import pytest

from odradek import AdminClient
from odradek.client.security import channel_security
from odradek.client.settings import bootstrap_addresses, client_config
from odradek.config import consumer, producer
from odradek.config.admin import SERVED, TABLE
from odradek.config.errors import ConfigError

BOOTSTRAP = {"bootstrap.servers": "localhost:9092"}


def config(mapping=None, **keywords):
    return client_config(TABLE, {**BOOTSTRAP, **(mapping or {})}, keywords)


def test_a_mapping_has_kafkas_names_and_keywords_have_underscores():
    found = config({"client.id": "me"}, request_timeout_ms=1000, retries=None)
    assert (found["client.id"], found["request.timeout.ms"]) == ("me", 1000)
    assert found["retries"] == TABLE.at("4.3")["retries"].default, "None is not given"


def test_what_is_given_twice_is_refused():
    with pytest.raises(TypeError, match=r"client\.id is given twice: in the mapping and as the keyword client_id"):
        config({"client.id": "me"}, client_id="you")


def test_a_keyword_that_is_not_known_is_a_mistake_in_the_program():
    with pytest.raises(TypeError, match=r"request_timeout is no config .* did you mean request_timeout_ms"):
        config(request_timeout=3)


def test_a_keyword_of_another_client_is_told_what_to_do_instead():
    with pytest.raises(TypeError, match=r"consumer_timeout_ms is no config .*: give poll a timeout, or iterate over"):
        config(consumer_timeout_ms=3)


@pytest.mark.parametrize(
    ("table", "given", "found"),
    [
        (producer.TABLE, {}, r"producer-[1-9]\d*"),
        (producer.TABLE, {"transactional.id": "copy"}, "producer-copy"),
        (consumer.TABLE, {"group.id": "g"}, r"consumer-g-[1-9]\d*"),
        (consumer.TABLE, {}, r"consumer-null-[1-9]\d*"),
        (consumer.TABLE, {"group.id": "g", "group.instance.id": "first"}, "consumer-g-first"),
        (TABLE, {"client.id": ""}, r"adminclient-[1-9]\d*"),
        (TABLE, {"client.id": "me"}, "me"),
    ],
)
def test_a_client_without_a_name_is_called_as_kafka_calls_it(table, given, found):
    assert re.fullmatch(found, client_config(table, {**BOOTSTRAP, **given}, {})["client.id"])


def test_names_that_are_made_up_count():
    one, two = (int(client_config(TABLE, BOOTSTRAP, {})["client.id"].removeprefix("adminclient-")) for _ in range(2))
    assert two == one + 1


def test_a_name_in_a_mapping_that_is_not_known_is_a_warning(caplog):
    config({"request.timeout": "3"})
    assert "request.timeout is no config of a admin: ignored" in caplog.text


def test_a_config_that_is_not_honoured_is_a_warning_unless_it_is_the_default(caplog):
    config({"client.dns.lookup": "use_all_dns_ips"}, send_buffer_bytes=131072)
    assert caplog.records == []
    config({"client.dns.lookup": "resolve_canonical_bootstrap_servers_only"}, send_buffer_bytes=1)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "client.dns.lookup=resolve_canonical_bootstrap_servers_only, send.buffer.bytes=1 have no effect: "
        "the admin client does not have this yet"
    )


def test_what_is_honoured_is_in_the_table():
    assert set(TABLE.rows) >= SERVED
    assert {name for name, row in TABLE.rows.items() if row.served} == SERVED


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("localhost:9092", ("localhost", 9092)),
        ("[::1]:9092", ("::1", 9092)),
        ("PLAINTEXT://10.0.0.1:1", ("10.0.0.1", 1)),
    ],
)
def test_an_address_to_begin_at(given, found):
    assert bootstrap_addresses([given]) == [found]


@pytest.mark.parametrize("given", ["localhost", "localhost:", ":9092", "localhost:nine", ""])
def test_what_is_no_address(given):
    with pytest.raises(ConfigError, match="each must be host:port, as in localhost:9092"):
        bootstrap_addresses([given])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"},
            "the mechanisms that are built are PLAIN",
        ),
        ({"security.protocol": "SASL_PLAINTEXT"}, "set sasl.mechanism: it may be PLAIN, SCRAM-SHA-256"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, "set sasl.jaas.config, or sasl_username"),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"},
            "needs a token: give sasl_oauth_tok",
        ),
        ({"security.protocol": "SSL", "ssl.truststore.location": "x.jks"}, "only PEM is read"),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": "a.PlainLoginModule required username=me;",
            },
            "needs the options username and password",
        ),
    ],
)
def test_protection_that_is_not_there_is_refused(given, told):
    with pytest.raises(ConfigError, match=told):
        channel_security(config(given))


def test_a_client_says_so_when_it_is_made():
    with pytest.raises(ConfigError, match=r"name brokers in bootstrap\.servers"):
        AdminClient(bootstrap_controllers="localhost:9093")
    with pytest.raises(ConfigError, match=r"bootstrap\.servers"):
        AdminClient()
