"""The simulated disk beside a model of dictionaries: what is seen, what survives at least, what survives at most."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.sim.crash import KEEP_ALL, LOSE_ALL, CrashProfile
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

NAMES = ("a", "b", "c")
names = st.sampled_from(NAMES)
sizes = st.sampled_from((1, 10, 4096, 5000, 9000))
positions = st.sampled_from((0, 1, 4095, 4096, 7000, 12_000))

steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), names, sizes),
        st.tuples(st.just("pwrite"), names, positions, sizes),
        st.tuples(st.just("truncate"), names, positions),
        st.tuples(st.just("fsync"), names),
        st.tuples(st.just("rename"), names, names),
        st.tuples(st.just("unlink"), names),
        st.tuples(st.just("fsync_dir")),
    ),
    max_size=25,
)
profiles = st.builds(CrashProfile, st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))


class ModelFile:
    def __init__(self):
        self.seen = b""
        self.synced = b""
        self.since = []  # every content since the last sync, and that one
        self.is_dirty = False


class Model:
    def __init__(self):
        self.names = {}
        self.synced_names = {}
        self.files = []

    def file(self, name):
        if name not in self.names:
            self.names[name] = ModelFile()
            self.files.append(self.names[name])
        return self.names[name]


def run(history, seed):
    disk, model = SimDisk(SimRng(seed).stream("disk")), Model()
    disk.mkdir("/d")
    disk.fsync_dir("/")
    for number, step in enumerate(history, 1):
        STEPS[step[0]](disk, model, bytes((number,)), *step[1:])
    return disk, model


def write(disk, model, fill, name, position, size):
    file, held = disk.open(f"/d/{name}", create=True), model.file(name)
    assert (file.append([fill * size]) if position is None else file.pwrite(fill * size, position)) == size
    position = len(held.seen) if position is None else position
    padded = held.seen.ljust(position, b"\0")
    changed(held, padded[:position] + fill * size + padded[position + size :])


def truncate(disk, model, _, name, size):
    disk.open(f"/d/{name}", create=True).truncate(size)
    held = model.file(name)
    changed(held, held.seen[:size].ljust(size, b"\0"))


def changed(held, content):
    held.seen = content
    held.since.append(content)
    held.is_dirty = True


def fsync(disk, model, _, name):
    if name in model.names:
        disk.open(f"/d/{name}").fsync()
        held = model.names[name]
        held.synced, held.since, held.is_dirty = held.seen, [], False


def rename(disk, model, _, old, new):
    if old in model.names and old != new:
        disk.rename(f"/d/{old}", f"/d/{new}")
        model.names[new] = model.names.pop(old)


def unlink(disk, model, _, name):
    if name in model.names:
        disk.unlink(f"/d/{name}")
        del model.names[name]


def fsync_dir(disk, model, _):
    disk.fsync_dir("/d")
    model.synced_names = dict(model.names)


STEPS = {
    "append": lambda disk, model, fill, name, size: write(disk, model, fill, name, None, size),
    "pwrite": write,
    "truncate": truncate,
    "fsync": fsync,
    "rename": rename,
    "unlink": unlink,
    "fsync_dir": fsync_dir,
}


@given(steps)
def test_a_running_program_sees_what_it_did_and_a_kill_keeps_it(history):
    disk, model = run(history, 0)
    seen = {f"/d/{name}": held.seen for name, held in model.names.items()}
    assert disk.snapshot() == seen
    assert disk.crash(KEEP_ALL).snapshot() == seen


@given(steps)
def test_the_worst_crash_leaves_exactly_what_was_synced(history):
    disk, model = run(history, 0)
    assert disk.crash(LOSE_ALL).snapshot() == {f"/d/{name}": held.synced for name, held in model.synced_names.items()}


@given(steps, profiles, st.integers(0, 1000))
def test_any_crash_leaves_only_bytes_that_once_were_there(history, profile, seed):
    disk, model = run(history, seed)
    after = disk.crash(profile).snapshot()
    for path, content in after.items():
        assert any(could_be(held, content) for held in model.files), (path, len(content))


def could_be(held, content):
    if not held.is_dirty:
        return content == held.synced
    versions = [held.synced, *held.since]
    longest = max(map(len, versions))
    if len(content) not in {len(version) for version in versions}:
        return False
    columns = zip(*(version.ljust(longest, b"\0") for version in versions), strict=True)
    return all(byte == 0 or byte in column for byte, column in zip(content, columns, strict=False))


@given(steps, profiles, st.integers(0, 1000))
def test_a_synced_file_with_a_synced_name_survives_any_crash(history, profile, seed):
    disk, model = run(history, seed)
    after = disk.crash(profile).snapshot()
    for name, held in model.names.items():
        if model.synced_names.get(name) is held and not held.is_dirty:
            assert after.get(f"/d/{name}") == held.synced


@given(steps, profiles, st.integers(0, 1000))
def test_no_file_that_ever_was_durable_is_lost_without_an_unlink(history, profile, seed):
    """A rename may be undone or done, but it leaves one name of the file."""
    history = [step for step in history if step[0] != "unlink"]
    disk, model = run(history, seed)
    replaced = {id(held) for held in model.synced_names.values()} - {id(held) for held in model.names.values()}
    after = disk.crash(profile).snapshot()
    for held in model.synced_names.values():
        if id(held) not in replaced:
            assert any(could_be(held, content) for content in after.values())


@given(steps, profiles, st.integers(0, 1000))
def test_a_clone_crashes_as_the_original_does(history, profile, seed):
    disk, _ = run(history, seed)
    clone = disk.clone()
    assert clone.crash(profile).snapshot() == disk.crash(profile).snapshot()
