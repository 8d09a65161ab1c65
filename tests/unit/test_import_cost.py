"""What the broker's part of the package imports: nothing slow, and nothing of others but crc32c and cramjam."""

import json
import sys
from pathlib import Path

import pytest

import odradek
import outside

PACKAGE = Path(odradek.__file__).parent
THIRD_PARTY = {"crc32c", "cramjam"}
SLOW = {"asyncio", "dataclasses", "inspect", "random", "socket", "threading"}

IMPORTS = """
import json, sys
from importlib import import_module
before = set(sys.modules)
for name in sys.argv[1:]:
    import_module(name)
# What an extension keeps in sys.modules for itself comes from no file, and has no spec.
loaded = {name for name, module in sys.modules.items() if getattr(module, "__spec__", None) is not None}
print(json.dumps(sorted(loaded - before)))
"""


def modules_below(package):
    """`arrow` is for those who have pyarrow, and is imported by nobody else."""
    root = PACKAGE / package
    names = sorted(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in root.rglob("*.py"))
    return [name.removesuffix(".__init__") for name in names if not name.endswith("records.arrow")]


def imported_by(*names):
    command = [sys.executable, "-c", IMPORTS, *names]
    return json.loads(outside.run(command, check=True).stdout)


BROKER_PARTS = {
    "declare": ["odradek.protocol.declare"],
    "messages": ["odradek.protocol.declare", *modules_below("protocol/messages")],
    "protocol": modules_below("protocol"),
    "records": ["odradek.records", *modules_below("records")],
    "config": ["odradek.config", *modules_below("config")],
    "broker": ["odradek.broker", *modules_below("broker"), *modules_below("metrics")],
}


@pytest.mark.parametrize("part", BROKER_PARTS)
def test_imports_of(part):
    modules = imported_by(*BROKER_PARTS[part])
    assert set(BROKER_PARTS[part]) <= set(modules) | {"odradek"}
    tops = {name.partition(".")[0] for name in modules}
    assert {top.removeprefix("_") for top in tops} & SLOW == set()
    assert tops - set(sys.stdlib_module_names) - {"odradek"} <= THIRD_PARTY


PLAIN_PRODUCER = """
import sys
import odradek
odradek.KafkaProducer(bootstrap_servers="127.0.0.1:1")
print(" ".join(sys.modules))
"""


def test_a_producer_that_neither_compresses_nor_logs_in_does_not_pay_for_it():
    loaded = set(outside.run([sys.executable, "-c", PLAIN_PRODUCER], check=True).stdout.split())
    assert "odradek.client.producer.session" in loaded
    assert loaded & {"cramjam", "odradek.records.compression", "odradek.config.jaas", "ssl", "pyarrow"} == set()
