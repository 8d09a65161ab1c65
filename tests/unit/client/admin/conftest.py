"""One broker for the tests of a module, and an admin client that speaks to it."""

import pytest

from odradek.client.admin.admin_client import AdminClient
from odradek.testing import Broker


@pytest.fixture(scope="module")
def broker():
    with Broker(thread=True) as running:
        yield running


@pytest.fixture(scope="module")
def admin(broker):
    with AdminClient(bootstrap_servers=broker.bootstrap, client_id="the-admin") as client:
        yield client
