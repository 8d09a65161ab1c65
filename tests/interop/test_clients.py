"""Real, unmodified clients against a broker that was started as a user starts one, at both releases.

Each client is one program that runs through all its scenarios and prints a line for each (`python/`, `js/`, `java/`);
here every line is a test. The programs run side by side, a few at a time, against one broker per release.
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import clients
import four_listeners
import on_disk
import pytest
from fetching import Unavailable
from scenarios import CLIENTS, RELEASES, SCENARIOS, cases

import outside

AT_ONCE = 3  # most of them wait most of the time
PROGRAM_SECONDS_MAX = 300
SECONDS_MAX = 1800  # longer than all of them together may take: it is for what nobody ends


@pytest.fixture(scope="session")
def directories(tmp_path_factory):
    return {release: tmp_path_factory.mktemp("broker") for release in RELEASES}


@pytest.fixture(scope="session")
def brokers(directories):
    with contextlib.ExitStack() as running:
        yield {
            release: running.enter_context(four_listeners.broker(directory, release))
            for release, directory in directories.items()
        }


@pytest.fixture(scope="session")
def programs(brokers, tmp_path_factory, request):
    """The outcome of every program that a selected test needs, to come."""
    with ThreadPoolExecutor(1) as fetching, ThreadPoolExecutor(AT_ONCE) as running:
        outcomes = {}
        for client in CLIENTS:
            wanted = fetching.submit(clients.command, client, tmp_path_factory.mktemp("client"))
            for release in RELEASES:
                selected = _selected(request.session.items, client, release)
                if selected:
                    outcomes[client, release] = running.submit(_run, wanted, brokers[release], selected)
        yield outcomes


def _selected(items, client, release):
    calls = [item.callspec.params for item in items if getattr(item, "originalname", "") == "test_scenario"]
    return [each["scenario"] for each in calls if (each["client"], each["release"]) == (client, release)]


def _run(wanted, where, selected):
    """{scenario: (outcome, detail)}, and what the program has said besides."""
    arguments = [*(f"{name}={value}" for name, value in where.items()), f"only={','.join(selected)}"]
    streams = {"stdout": outside.PIPE, "stderr": outside.PIPE, "text": True, "errors": "replace"}
    with outside.Program([*wanted.result(SECONDS_MAX), *arguments], seconds=PROGRAM_SECONDS_MAX, **streams) as program:
        output, complaints = program.communicate()
    if program.is_overdue:
        complaints += f"\nit did not end within {PROGRAM_SECONDS_MAX} s and was killed"
    lines = [line.split("\t") for line in output.splitlines() if line.count("\t") == 3]
    return {name: (outcome, detail) for name, outcome, _, detail in lines}, complaints


@pytest.mark.parametrize(("client", "release", "scenario"), cases(SCENARIOS))
def test_scenario(programs, directories, client, release, scenario):
    try:
        reported, complaints = programs[client, release].result(SECONDS_MAX)
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    assert scenario in reported, f"no word of it; the program ended with\n{complaints[-3000:]}"
    outcome, detail = reported[scenario]
    assert outcome == "ok", f"{detail}\n{complaints[-3000:]}"
    on_disk.check(directories[release] / "data", client, scenario)
