"""The table of what is served says what the files do, and the files say what they do."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from odradek import handlers
from odradek.handlers import table
from odradek.protocol import apis, errors, releases
from odradek.security import acl

FOLDER = Path(handlers.__file__).parent
KINDS = (releases.BROKER, releases.CONTROLLER)
OPERATIONS = {
    getattr(acl, name): name
    for name in (
        "ALTER_CONFIGS",
        "DESCRIBE_CONFIGS",
        "READ",
        "WRITE",
        "CREATE",
        "DELETE",
        "ALTER",
        "DESCRIBE",
        "CLUSTER_ACTION",
    )
}


def files(folder):
    return {path.stem for path in folder.glob("k[0-9][0-9]_*.py")}


def listed(kind, in_controller):
    modules = [table.module_of(kind, key) for key in table.keys(kind)]
    return {module.rpartition(".")[2] for module in modules if (".controller." in module) == in_controller}


def test_every_file_is_listed_and_every_listed_file_is_there():
    of_both = listed(releases.BROKER, False) | listed(releases.CONTROLLER, False)
    assert of_both == files(FOLDER)
    assert listed(releases.CONTROLLER, True) == files(FOLDER / "controller")


@pytest.mark.parametrize("kind", [releases.BROKER, releases.CONTROLLER])
def test_a_file_registers_what_the_table_says(kind):
    for key in table.keys(kind):
        served = table.find(kind, key)
        assert served.key == key
        api = apis.by_key(key)
        stable = [version for version in api.versions if version not in api.unstable]
        assert list(served.versions) == stable, api


@pytest.mark.contract("E51")
@pytest.mark.parametrize("release", releases.ALL)
@pytest.mark.parametrize("kind", [releases.BROKER, releases.CONTROLLER])
def test_what_is_advertised_is_served(release, kind):
    told = table.advertised(release, kind, has_telemetry=True)
    assert told
    for key, (low, high) in told.items():
        assert high in table.accepted(release, kind, key)
        assert low in table.accepted(release, kind, key) or (release.name, key) == ("4.3", 0)


HANDLERS = sorted({(table.module_of(kind, key), kind, key) for kind in KINDS for key in table.keys(kind)})
BY_FILE = {module: (kind, key) for module, kind, key in HANDLERS}


def opening(module):
    return import_module(module).__doc__


@pytest.mark.parametrize("module", BY_FILE)
def test_a_handlers_file_opens_with_the_api_and_its_versions(module):
    kind, key = BY_FILE[module]
    versions = table.find(kind, key).versions
    span = f"version {versions[0]}" if len(versions) == 1 else f"versions {versions[0]}-{versions[-1]}"
    assert re.match(rf"{apis.by_key(key).message}, {span}\b", opening(module))


@pytest.mark.parametrize("module", BY_FILE)
def test_a_handlers_file_tells_what_each_version_changed(module):
    """A table with a number and two spaces before each change; the first version changed nothing."""
    kind, key = BY_FILE[module]
    told = {int(number) for number in re.findall(r"(?:^|  )(\d+)  \S", opening(module), re.MULTILINE)}
    of_brokers_alone = "concerns brokers alone" in opening(module)
    missing = set(table.find(kind, key).versions[1:]) - told
    assert not missing or of_brokers_alone, missing
    assert told <= set(table.find(kind, key).versions)


@pytest.mark.parametrize("module", BY_FILE)
def test_a_handlers_file_tells_who_may_and_the_errors(module):
    """The operation and the resource, or that it is for everybody; errors by their names, or whose they are."""
    text = opening(module)
    who = text.partition("Who may: ")[2]
    assert re.match(r"[A-Z_]+ on |everybody|whoever|the token's owner", who), who
    told = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", text)) & {row.name for row in errors.table()}
    assert told or re.search(r"Errors: (none\b|[^.;]*\bas\s+the\s+(quorum|controller|leader of the quorum)\s)", text)


@pytest.mark.parametrize("module", BY_FILE)
def test_what_the_whole_request_needs_is_what_the_file_says(module):
    allow = table.find(*BY_FILE[module]).allow
    if allow is not None:
        assert f"Who may: {OPERATIONS[allow.operation]} on the cluster" in opening(module)


def test_telemetry_is_told_only_with_a_receiver():
    for has_telemetry in (False, True):
        told = table.advertised(releases.RELEASE_4_3, releases.BROKER, has_telemetry=has_telemetry)
        assert (71 in told) is has_telemetry
    assert list(table.accepted(releases.RELEASE_4_3, releases.BROKER, 71)) == [0]
    assert list(table.accepted(releases.RELEASE_3_3, releases.BROKER, 71)) == []
