"""The table of what is served says what the files do."""

from pathlib import Path

import pytest

from odradek import handlers
from odradek.handlers import table
from odradek.protocol import apis, releases

FOLDER = Path(handlers.__file__).parent


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


@pytest.mark.parametrize("release", releases.ALL)
@pytest.mark.parametrize("kind", [releases.BROKER, releases.CONTROLLER])
def test_what_is_advertised_is_served(release, kind):
    told = table.advertised(release, kind, has_telemetry=True)
    assert told
    for key, (low, high) in told.items():
        assert high in table.accepted(release, kind, key)
        assert low in table.accepted(release, kind, key) or (release.name, key) == ("4.3", 0)


def test_a_handlers_file_opens_with_its_versions_and_errors():
    for path in [*FOLDER.glob("k*.py"), *(FOLDER / "controller").glob("k*.py")]:
        doc = path.read_text().split('"""')[1]
        assert "version" in doc.splitlines()[0], path
        assert "rror" in doc or "code" in doc, path


def test_telemetry_is_told_only_with_a_receiver():
    for has_telemetry in (False, True):
        told = table.advertised(releases.RELEASE_4_3, releases.BROKER, has_telemetry=has_telemetry)
        assert (71 in told) is has_telemetry
    assert list(table.accepted(releases.RELEASE_4_3, releases.BROKER, 71)) == [0]
    assert list(table.accepted(releases.RELEASE_3_3, releases.BROKER, 71)) == []
