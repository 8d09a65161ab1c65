"""Streams groups under any order of events: nothing is run twice, and in the end everything is run."""

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.coordinator.group.streams.sticky_assignor import Assignee, TaskGroup, assign
from odradek.coordinator.group.streams.tasks import NO_TASK_SET, each
from streams_kit import LEAVE, StreamsStory, internal, subtopology, told, topology

NAMES = ("m", "n", "o", "p")
PROCESSES = {"m": "1", "n": "1", "o": "2", "p": "3"}
RUNS = topology(subtopology("0", "a", changelogs=[internal("c")]), subtopology("1", "b"))


class Application:
    """Members that do what they are told, if not at once."""

    def __init__(self):
        self.story = StreamsStory({"a": 3, "b": 2, "c": 3}, group_streams_num_standby_replicas=1)
        self.epochs = {}
        self.owned = {}  # by member: active and standby tasks as text

    def beat(self, name, tells):
        if name not in self.epochs:
            fields = {"topology": RUNS, "timeout_ms": 5000, "process": PROCESSES[name]}
            response = self.story.streams_beat(name, 0, "", **fields).response
        else:
            owns, standby = self.owned[name] if tells else (None, "")
            response = self.story.streams_beat(name, self.epochs[name], owns, standby=standby).response
        if response.error_code:  # fenced: it was silent for too long
            self.epochs.pop(name)
            return
        self.epochs[name] = response.member_epoch
        if response.active_tasks is not None:
            self.owned[name] = (told(response.active_tasks), told(response.standby_tasks))

    def leave(self, name):
        if self.epochs.pop(name, None) is not None:
            self.story.says(name, LEAVE)

    def settle(self):
        """Everybody comes a few times: `validate` has looked at the group after each."""
        for _ in range(8):
            for name in [*self.epochs] or ["m"]:
                self.beat(name, tells=True)


EVENTS = st.one_of(
    st.tuples(st.just("beat"), st.sampled_from(NAMES), st.booleans()),
    st.tuples(st.just("leave"), st.sampled_from(NAMES)),
    st.tuples(st.just("wait"), st.integers(0, 30_000)),
    st.tuples(st.just("reload")),
    st.tuples(st.just("standby"), st.sampled_from(("0", "1", "2"))),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=40))
def test_every_task_is_run_once_in_the_end(events):
    application = Application()
    story = application.story
    for what, *details in events:
        if what == "beat":
            application.beat(*details)
        elif what == "leave":
            application.leave(*details)
        elif what == "wait":
            story.advance(*details)
        elif what == "reload":
            story.reload()
        else:
            story.set_group_config("streams.num.standby.replicas", *details)
    application.settle()
    group = story.streams_group()
    assert group.state == "Stable"
    runs = sorted(task for member in group.members.values() for task in each(member.assigned.active))
    assert runs == [("0", 0), ("0", 1), ("0", 2), ("1", 0), ("1", 1)]


MEMBERS = st.lists(st.sampled_from("pqrs"), min_size=1, max_size=8)  # the process of each
TASKS = st.lists(st.tuples(st.integers(1, 7), st.booleans()), max_size=4)


@settings(max_examples=150, deadline=None)
@given(MEMBERS, TASKS, st.integers(0, 2), st.data())
def test_an_assignment_is_whole_balanced_and_stays(processes, shapes, replicas, data):
    tasks = [TaskGroup(f"{number}", count, stateful) for number, (count, stateful) in enumerate(shapes)]
    fresh = [Assignee(f"m{number}", process, NO_TASK_SET) for number, process in enumerate(processes)]
    made = assign(fresh, tasks, replicas)
    check(fresh, tasks, replicas, made)
    again = assign([each._replace(before=made[each.member_id]) for each in fresh], tasks, replicas)
    assert {name: found.active for name, found in again.items()} == {name: was.active for name, was in made.items()}
    left = data.draw(st.lists(st.sampled_from(fresh), min_size=1, unique_by=lambda assignee: assignee.member_id))
    fewer = [each._replace(before=made[each.member_id]) for each in left]
    check(fewer, tasks, replicas, assign(fewer, tasks, replicas))


def check(assignees, tasks, replicas, made):
    wanted = {(group.subtopology_id, n) for group in tasks for n in range(group.task_count)}
    runs = [task for found in made.values() for task in each(found.active)]
    assert sorted(runs) == sorted(wanted), "each task once"
    counts = [sum(map(len, found.active.values())) for found in made.values()]
    if len({assignee.process_id for assignee in assignees}) == len(assignees):
        assert max(counts) - min(counts) <= 1, "members have about the same"
    process_of = {assignee.member_id: assignee.process_id for assignee in assignees}
    stateful = {group.subtopology_id for group in tasks if group.is_stateful}
    for task in wanted:
        homes = [process_of[name] for name, found in made.items() for kind in (found.active, found.standby)
                 if task in set(each(kind))]  # fmt: skip
        assert len(homes) == len(set(homes)), "one process has it once"
        copies = min(replicas, len(set(process_of.values())) - 1) if task[0] in stateful else 0
        assert len(homes) == 1 + copies
