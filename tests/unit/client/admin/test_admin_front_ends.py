"""The same operations, for programs that wait and for those of asyncio."""

import asyncio
import inspect
import pkgutil
from importlib import import_module

from odradek.client import admin as package
from odradek.client.admin import admin_client, asyncio_admin_client

NO_OPERATIONS = {"asking", "routing"}  # how operations ask, and whom


def operations():
    for module in pkgutil.iter_modules(package.__path__):
        if module.name not in NO_OPERATIONS:
            loaded = import_module(f"{package.__name__}.{module.name}")
            for name, found in vars(loaded).items():
                if inspect.iscoroutinefunction(found) and found.__module__ == loaded.__name__ and name[0] != "_":
                    yield name, found


def test_every_operation_is_in_both():
    found = dict(operations())
    assert len(found) > 40
    for client in (admin_client.AdminClient, asyncio_admin_client.AdminClient):
        assert {name for name in found if getattr(client, name).__wrapped__ is not found[name]} == set()


def test_it_is_awaited_in_a_program_of_asyncio(broker, admin):
    async def described():
        async with asyncio_admin_client.AdminClient(bootstrap_servers=broker.bootstrap) as client:
            return await client.describe_features(), await client.describe_log_dirs([1])

    features, dirs = asyncio.run(described())
    assert features.supported == admin.describe_features().supported
    assert set(dirs[1]) == set(admin.describe_log_dirs([1])[1])
