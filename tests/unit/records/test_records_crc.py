import sys

import crc32c as package

import outside
from odradek.records.crc import crc32c


def test_the_extension_is_that_of_the_package():
    data = bytes(range(256)) * 50
    assert crc32c(data) == package.crc32c(data) == crc32c(memoryview(data))


def test_the_slow_package_is_not_imported():
    code = "import sys, odradek.records.crc; print('crc32c' in sys.modules, 'importlib.metadata' in sys.modules)"
    run = outside.run([sys.executable, "-c", code], check=True)
    assert run.stdout.split() == ["False", "False"]
