"""Groups and transactions of real, unmodified clients, at both releases: the life of a group in every assignor and in
both protocols (`group_stories.py`), and copies by transactions with crashes and a zombie (`copy_story.py`).

All groups of a client live at the same time, on one broker per release; every scenario is a test.
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import clients
import group_stories
import pytest
from copy_story import FENCED, CopyStory
from fetching import Unavailable
from group_stories import GroupStory
from member_process import MemberProcess
from scenarios import CLIENTS, COPYING, HOW_TO_JOIN, IN_GROUPS, RELEASES, cases, why_not

from broker_process import BrokerProcess
from told import Told

SECONDS_MAX = 1800  # longer than all of them together may take: it is for what nobody ends
AT_ONCE = 2  # they wait for sessions to end most of the time
CONSUMER_SESSION_MS = 10_000  # the broker's, for static members, too
CLASSIC = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": str(group_stories.OFFSETS_PARTITIONS),
    "transaction.state.log.num.partitions": "5",
}
CONSUMER = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(CONSUMER_SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
}
OVERRIDES = {"4.3": {**CLASSIC, **CONSUMER}, "3.3": CLASSIC}
SCENARIOS = [*IN_GROUPS, *COPYING]


@pytest.fixture(scope="session")
def addresses():
    with contextlib.ExitStack() as running:
        brokers = {release: running.enter_context(BrokerProcess(*arguments(release))) for release in RELEASES}
        yield {release: broker.bootstrap for release, broker in brokers.items()}
        for broker in brokers.values():
            assert broker.stop() == (0, "")


def arguments(release):
    overrides = [part for pair in OVERRIDES[release].items() for part in ("--override", "=".join(pair))]
    return "--ephemeral", "--release-version", release, *overrides


@pytest.fixture(scope="session")
def lives(addresses, tmp_path_factory, request):
    """{scenario: why it failed} of every client and release that a selected test needs, to come."""
    with ThreadPoolExecutor(1) as fetching, ThreadPoolExecutor(AT_ONCE) as running:
        outcomes = {}
        for client in CLIENTS:
            for release in RELEASES:
                selected = _selected(request.session.items, client, release)
                if selected:
                    directory = tmp_path_factory.mktemp("members")
                    command = fetching.submit(clients.members_command, client)
                    life = Life(client, release, addresses[release], directory)
                    outcomes[client, release] = running.submit(life.run, command, selected)
        yield outcomes


def _selected(items, client, release):
    calls = [item.callspec.params for item in items if getattr(item, "originalname", "") == "test_life"]
    return [each["scenario"] for each in calls if (each["client"], each["release"]) == (client, release)]


class Life:
    """All scenarios of one client with one broker."""

    def __init__(self, client, release, bootstrap, directory):
        self._prefix = f"{client}-{release}"
        self._can_consume = why_not(client, release, "group-consumer") is None
        self._bootstrap = bootstrap
        self._directory = directory

    def run(self, command, selected):
        with ThreadPoolExecutor(2) as side_by_side:
            groups = [name for name in selected if name in HOW_TO_JOIN]
            copies = [name for name in selected if name not in HOW_TO_JOIN]
            lived = side_by_side.submit(self._live, command.result(SECONDS_MAX), groups)
            copied = side_by_side.submit(self._copy, command.result(SECONDS_MAX)) if copies else None
            return {**lived.result(SECONDS_MAX), **(copied.result(SECONDS_MAX) if copied else {})}

    def _live(self, command, names):
        if not names:
            return {}
        with (
            self._processes(command, "survivor", "doomed", "predecessor", "successor") as processes,
            self._told() as told,
        ):
            stories = {name: GroupStory(f"{self._prefix}-{name}", told, HOW_TO_JOIN[name]) for name in names}
            failures = group_stories.tell(stories.values(), *processes)
        return {name: failures.get(story.name) for name, story in stories.items()}

    def _copy(self, command):
        """In the consumer protocol where the client has it."""
        how = {"protocol": "consumer"} if self._can_consume else {"assignor": "range"}
        with self._processes(command, "killed", "zombie", "copier") as processes, self._told() as told:
            story = CopyStory(f"{self._prefix}-copy", told, how)
            met_with = story.tell(*processes)
            copied = story.copied(processes[-1])
        is_fenced = FENCED.search(met_with) is not None
        return {
            "exactly-once": None if sorted(copied) == sorted(story.values) else f"copied {sorted(copied)}",
            "zombie": None if is_fenced and "from a zombie" not in copied else f"it met with {met_with}: {copied}",
        }

    @contextlib.contextmanager
    def _processes(self, command, *names):
        with contextlib.ExitStack() as running:
            logs = [self._directory / f"{name}.log" for name in names]
            yield [running.enter_context(MemberProcess(command, self._bootstrap, log)) for log in logs]

    @contextlib.contextmanager
    def _told(self):
        host, _, port = self._bootstrap.rpartition(":")
        with contextlib.closing(Told(host, int(port))) as told:
            yield told


@pytest.mark.parametrize(("client", "release", "scenario"), cases(SCENARIOS))
def test_life(lives, client, release, scenario):
    try:
        failures = lives[client, release].result(SECONDS_MAX)
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    assert failures[scenario] is None, failures[scenario]
