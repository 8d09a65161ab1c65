import pytest

from odradek.testing import Broker


@pytest.fixture(scope="module")
def broker():
    with Broker(thread=True) as running:
        yield running.bootstrap
