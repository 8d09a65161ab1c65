"""What importing the tables costs, and what they leave alone."""

import sys

import pytest

import outside

BANNED = ("open", "os", "time", "random", "uuid", "secrets", "threading", "socket", "select", "dataclasses", "asyncio")
CLIENT_TABLES = ("producer", "consumer", "admin", "client", "client_rules")


def modules_after(statement: str) -> set[str]:
    bare = "import sys; import re, typing, collections.abc; before = set(sys.modules)"
    code = f"{bare}; {statement}; print(*(set(sys.modules) - before))"
    return set(outside.run([sys.executable, "-c", code], check=True).stdout.split())


def test_a_broker_does_not_import_the_clients_tables() -> None:
    loaded = modules_after("import odradek.config.broker, odradek.config.sources, odradek.config.snapshot")
    assert "odradek.config.broker.log" in loaded
    assert not {f"odradek.config.{name}" for name in CLIENT_TABLES} & loaded


def test_a_client_does_not_import_the_brokers_tables() -> None:
    loaded = modules_after("import odradek.config.producer, odradek.config.consumer, odradek.config.admin")
    assert not {name for name in loaded if name.startswith(("odradek.config.broker", "odradek.config.topic"))}


@pytest.mark.parametrize("table", ["broker", "producer", "sources", "providers", "properties", "snapshot", "quotas"])
def test_nothing_outside_the_process_and_nothing_foreign_is_imported(table: str) -> None:
    loaded = modules_after(f"import odradek.config.{table}")
    assert not set(BANNED) & loaded
    assert not {name for name in loaded if name.startswith("odradek.") and not name.startswith("odradek.config")}
