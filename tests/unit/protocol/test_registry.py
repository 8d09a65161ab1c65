"""Every declaration is found by its key and by its name, and imported no earlier than that."""

import sys

import pytest

import outside
from odradek.protocol import apis, errors, registry
from odradek.protocol.declare import Data, Header, Request, Response


def test_every_api_has_its_two_messages():
    for api in apis.ALL:
        request, response = registry.request(api.key), registry.response(api.key)
        assert issubclass(request, Request) and issubclass(response, Response)
        assert (request.api_key, response.api_key) == (api.key, api.key)
        assert (request.versions, response.versions) == (api.versions, api.versions)


def test_flexible_versions_are_those_of_the_api_table():
    for api in apis.ALL:
        for version in api.versions:
            assert registry.request(api.key).is_flexible(version) is api.is_flexible(version)
            assert registry.response(api.key).is_flexible(version) is api.is_flexible(version)


def test_every_message_is_found_by_its_name():
    found = registry.every_message()
    assert len(found) == 283
    for name, cls in found.items():
        assert name == cls.__name__
        assert registry.by_name(name) is cls


def test_messages_come_in_the_order_of_their_keys_then_the_internal_ones():
    names = list(registry.every_message())
    assert names[:4] == ["ProduceRequest", "ProduceResponse", "FetchRequest", "FetchResponse"]
    sides = [issubclass(cls, (Request, Response)) for cls in registry.every_message().values()]
    assert sides == sorted(sides, reverse=True)


def test_internal_messages_are_data_or_headers():
    for module in registry.INTERNAL:
        assert all(issubclass(cls, (Data, Header)) for cls in registry.messages_of(module).values())


@pytest.mark.parametrize("name", ["", "Fetch", "fetchrequest", "NoSuchRequest", "Struct", "FetchTopic"])
def test_a_name_that_nobody_declares(name):
    with pytest.raises(LookupError, match=f"no message is called '{name}'"):
        registry.by_name(name)


@pytest.mark.parametrize("key", [-1, 93, 32767])
def test_a_key_that_no_api_has(key):
    with pytest.raises(errors.KafkaError):
        registry.request(key)


LAZY = """
import sys
from odradek.protocol import registry
registry.request(3)
print([name for name in sys.modules if name.startswith("odradek.protocol.messages.")])
"""


def test_a_declaration_is_imported_when_it_is_asked_for():
    done = outside.run([sys.executable, "-c", LAZY], check=True)
    assert done.stdout.strip() == "['odradek.protocol.messages.k03_metadata']"
