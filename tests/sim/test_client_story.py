"""Our clients, whole, against a whole broker under faults, seed by seed: see `client_story.py` and its like.

ODRADEK_SEEDS=2000 ODRADEK_FIRST_SEED=50 pytest -n 2 tests/sim/test_client_story.py      other seeds, and more
"""

import os
import sys
from pathlib import Path

import pytest
from client_copy_story import Copiers
from client_group_story import GroupOfClients
from client_member import AUTO, MAX_POLL_MS, POLL, Member
from client_producer_story import Producers
from client_share_story import ShareGroupOfClients
from client_stalled_story import StalledRequest

import outside

SEEDS = int(os.environ.get("ODRADEK_SEEDS", "14"))
FIRST_SEED = int(os.environ.get("ODRADEK_FIRST_SEED", "0"))
SEEDS_PER_TEST = 7
HERE = Path(__file__).parent

firsts = pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, SEEDS_PER_TEST))


def told(story, first):
    stories = [story(seed) for seed in range(first, first + SEEDS_PER_TEST)]
    for each in stories:
        each.run()
    assert sum(each.crashes for each in stories) > 0, "of the broker"
    return stories


@firsts
def test_consumers_skip_nothing_and_commit_what_is_finished(first):
    """And enough happened for that to mean something."""
    stories = told(GroupOfClients, first)
    histories = [story.history for story in stories]
    assert sum(history.reads for history in histories) > 500
    assert sum(history.moves for history in histories) > 50, "partitions that have changed their member"
    assert sum(history.commits for history in histories) > 50


@firsts
def test_what_producers_were_told_is_in_the_log_once_and_in_order(first):
    stories = told(Producers, first)
    histories = [story.history for story in stories]
    assert sum(history.acked for history in histories) > 1000
    assert sum(history.failed + history.refusals for history in histories) > 0, "records that were not delivered"
    assert sum(history.resent for history in histories) > 20


@firsts
def test_what_is_copied_in_transactions_is_copied_once(first):
    stories = told(Copiers, first)
    assert sum(story.commits_made for story in stories) > 200
    assert sum(story.aborts_made for story in stories) > 2


@pytest.mark.parametrize("protocol", ["consumer", "range", "cooperative-sticky"])
def test_a_member_that_has_lost_its_place_commits_in_transactions_as_who_it_was(protocol):
    """As nobody it would not be refused: whoever has its partitions now has copied the same records."""
    story = GroupOfClients(seed=1)
    story.broker.wait_until_ready()
    story.make_topics()
    member = Member(story, "m", protocol, AUTO, POLL)
    assert story.pass_until(lambda: len(member.tenures) == len(story.places()), 10_000)
    before = who(story, member)
    assert before.member_id and before.generation_id > 0
    member.stall_ms = 2 * MAX_POLL_MS
    session = member.host.session()
    assert story.pass_until(lambda: session.group.identity() is None, 2 * MAX_POLL_MS)
    assert who(story, member) == before
    member.crash()


def who(story, member):
    asked = member.link.loop.spawn(member.host.session().group_metadata())
    assert story.pass_until(lambda: asked.is_done, 1000)
    return asked.value()


def test_memory_that_is_free_is_not_on_its_way_any_more():
    """The allocator overwrites what is freed: of a request that is still being sent, nothing may be."""
    assert digest(StalledRequest, 0, PYTHONMALLOC="debug")
    assert digest(Producers, 1, PYTHONMALLOC="debug")


def digest(story, seed, **environment):
    """Of everything that happened, in a process of its own."""
    module, name = story.__module__, story.__name__
    code = f"from {module} import {name}; story = {name}({seed}); story.run(); print(story.world.trace.digest())"
    environment = {**os.environ, **environment, "PYTHONPATH": f"{HERE}:{HERE.parent / 'kits'}"}
    done = outside.run([sys.executable, "-c", code], env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("story", [GroupOfClients, Producers, Copiers])
def test_the_same_seed_is_the_same_story(story):
    """Whatever the order of hashes, and with the compiled parts or with their twins in Python."""
    digests = {digest(story, 4, PYTHONHASHSEED=hash_seed) for hash_seed in ("0", "4711")}
    digests.add(digest(story, 4, PYTHONHASHSEED="2", ODRADEK_PURE="1"))
    assert len(digests) == 1


@firsts
def test_what_members_of_a_share_group_say_of_records_is_taken_or_told(first):
    stories = told(ShareGroupOfClients, first)
    assert sum(member.reads for story in stories for member in story.members) > 300
    fates = [fate for story in stories for fate in story.fates.values()]
    assert fates.count("settled") > 200
