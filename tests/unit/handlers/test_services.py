"""A node with both roles: two sets of services over the same common parts."""

import pytest

from handler_kit import Handlers, broker_services, common_services
from odradek.handlers.call import LocalConnection
from odradek.handlers.dispatch import Dispatcher
from odradek.handlers.services import ControllerServices, Services
from odradek.protocol import releases
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.security.principal import ANONYMOUS
from odradek.sim.world import World

OF_ITS_OWN = {"authorizer", "told_versions"}  # Kafka, too, gives each role an authorizer


@pytest.fixture
def common():
    return common_services(World(1).node("broker").boot(), configs=object())


@pytest.mark.parametrize("name", sorted(set(Services.__slots__) - OF_ITS_OWN))
def test_both_roles_share_the_common_parts(common, name):
    broker, controller = broker_services(common), ControllerServices(common, controller=None)
    assert getattr(broker, name) is getattr(common, name) is getattr(controller, name)


def test_a_dispatcher_serves_the_listeners_of_its_services():
    handlers = Handlers()
    kinds = [Dispatcher(role.services).kind for role in (handlers.broker, handlers.controller)]
    assert kinds == [releases.BROKER, releases.CONTROLLER]


def test_what_one_role_tells_of_its_versions_is_not_told_by_the_other():
    handlers = Handlers()
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    told = {}
    for role in (handlers.broker, handlers.controller):
        pending = role.serve_local(request, 3, principal=ANONYMOUS)
        told[role.kind] = {api.api_key for api in handlers.settled(pending).api_keys}
    assert 0 in told[releases.BROKER] and 0 not in told[releases.CONTROLLER]
    assert 62 in told[releases.CONTROLLER] and 62 not in told[releases.BROKER]


def test_a_connection_that_never_was_on_a_wire_never_closes():
    called = []
    local = LocalConnection(ANONYMOUS, "PLAINTEXT", ("127.0.0.1", 0))
    local.when_closed(called.append)
    local.forget_when_closed(called.append)
    assert not called
