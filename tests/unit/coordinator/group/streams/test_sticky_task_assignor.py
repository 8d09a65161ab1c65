"""The task assignor of streams groups: sticky, balanced over members and processes, copies apart."""

from odradek.coordinator.group.streams.sticky_assignor import Assignee, TaskGroup, assign
from odradek.coordinator.group.streams.tasks import NO_TASK_SET, TaskSet
from streams_kit import told


def member(name, process=None, active=None, standby=None):
    return Assignee(name, process or f"process of {name}", TaskSet(_set(active), _set(standby)))


def _set(tasks):
    return {name: frozenset(partitions) for name, partitions in (tasks or {}).items()}


def active(made):
    return {name: told(tasks.active) for name, tasks in made.items()}


def standby(made):
    return {name: told(tasks.standby) for name, tasks in made.items()}


def test_nobody_to_assign_to():
    assert assign([], [TaskGroup("0", 3, False)], 0) == {}


def test_nothing_to_assign():
    assert assign([member("m")], [], 1) == {"m": NO_TASK_SET}


def test_subtopologies_are_spread():
    made = assign([member("m"), member("n")], [TaskGroup("0", 2, False), TaskGroup("1", 2, False)], 0)
    assert active(made) == {"m": "0:0,1", "n": "1:0,1"}


def test_tasks_stay():
    before = [member("m", active={"0": [1, 2]}), member("n", active={"0": [0, 3]})]
    assert active(assign(before, [TaskGroup("0", 4, True)], 0)) == {"m": "0:1,2", "n": "0:0,3"}


def test_no_more_stay_than_the_share():
    before = [member("m", active={"0": [0, 1, 2, 3]}), member("n")]
    assert active(assign(before, [TaskGroup("0", 4, True)], 0)) == {"m": "0:0,1", "n": "0:2,3"}


def test_a_process_with_more_members_gets_more():
    members = [member("m", "p"), member("n", "p"), member("o", "q")]
    made = assign(members, [TaskGroup("0", 6, False)], 0)
    assert sorted(len(tasks.active["0"]) for tasks in made.values()) == [2, 2, 2]


def test_who_stood_by_takes_over():
    before = [member("m", standby={"0": [1]}), member("n", active={"0": [0]})]
    assert active(assign(before, [TaskGroup("0", 2, True)], 0)) == {"m": "0:1", "n": "0:0"}


def test_copies_are_in_other_processes():
    members = [member("m", "p"), member("n", "p"), member("o", "q")]
    made = assign(members, [TaskGroup("0", 3, True)], 1)
    process = {"m": "p", "n": "p", "o": "q"}
    runs = {partition: process[name] for name, tasks in made.items() for partition in tasks.active.get("0", ())}
    copies = {partition: process[name] for name, tasks in made.items() for partition in tasks.standby.get("0", ())}
    assert runs.keys() == copies.keys() == {0, 1, 2}
    assert all(runs[partition] != copies[partition] for partition in runs)


def test_there_are_no_more_copies_than_other_processes():
    made = assign([member("m"), member("n")], [TaskGroup("0", 2, True)], 5)
    assert standby(made) == {"m": "0:1", "n": "0:0"}


def test_tasks_without_state_need_no_copies():
    made = assign([member("m"), member("n")], [TaskGroup("0", 2, False), TaskGroup("1", 1, True)], 1)
    assert sorted(standby(made).values()) == ["", "1:0"]


def test_who_ran_a_task_stands_by_for_it_now():
    before = [member("m", active={"0": [0, 1]}), member("n"), member("o")]
    made = assign(before, [TaskGroup("0", 2, True)], 1)
    assert active(made) == {"m": "0:0", "n": "0:1", "o": ""}
    assert "0:1" in standby(made)["m"]


def test_copies_stay():
    before = [
        member("m", active={"0": [0]}, standby={"0": [2]}),
        member("n", active={"0": [1]}, standby={"0": [0]}),
        member("o", active={"0": [2]}, standby={"0": [1]}),
    ]
    made = assign(before, [TaskGroup("0", 3, True)], 1)
    assert standby(made) == {"m": "0:2", "n": "0:0", "o": "0:1"}
