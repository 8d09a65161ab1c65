"""The directories of one simulated disk: which names are seen, which are durable, and the changes between the
two.

A change is atomic: a rename never leaves both names or none. Changes that touch the same name land in order,
others in any order: a crash may undo a creation and keep a later unlink elsewhere. `fsync_dir` lands every
change of a directory, and first those that they build on. A directory is itself a name: until its parent is
synced, it may vanish with all that is in it, except that a file moved into it is never lost: the move lands
only with the directory.
"""

import posixpath
from collections.abc import Iterator
from errno import EEXIST, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY

from odradek.sim.crash import CrashProfile
from odradek.sim.inode import Inode
from odradek.sim.rng import SimStream


class Directory:
    __slots__ = ("durable", "home", "mtime_ms", "seen")

    def __init__(self, home: "Entry | None", mtime_ms: int) -> None:
        self.seen: dict[str, Directory | Inode] = {}
        self.durable: dict[str, Directory | Inode] = {}
        self.home = home  # its own entry; the root has none
        self.mtime_ms = mtime_ms


class Entry:
    """A name in a directory."""

    __slots__ = ("directory", "name")

    def __init__(self, directory: Directory, name: str) -> None:
        self.directory = directory
        self.name = name

    def key(self) -> tuple[int, str]:
        return id(self.directory), self.name

    def node(self) -> "Directory | Inode | None":
        return self.directory.seen.get(self.name)


class Change:
    """Some names that change together, and the names that must have landed before."""

    __slots__ = ("needs", "nodes", "touched")

    def __init__(self, touched: list[Entry], nodes: "list[Directory | Inode | None]", needs: list[Entry]) -> None:
        self.touched = touched
        self.nodes = nodes
        self.needs = needs

    def keys(self) -> set[tuple[int, str]]:
        return {entry.key() for entry in self.touched}

    def is_held_by(self, keys: set[tuple[int, str]]) -> bool:
        return any(entry.key() in keys for entry in self.touched + self.needs)

    def show(self) -> None:
        for entry, node in zip(self.touched, self.nodes, strict=True):
            _set(entry.directory.seen, entry.name, node)

    def land(self) -> None:
        for entry, node in zip(self.touched, self.nodes, strict=True):
            _set(entry.directory.durable, entry.name, node)


def _set(names: "dict[str, Directory | Inode]", name: str, node: "Directory | Inode | None") -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


class Names:
    __slots__ = ("_pending", "root")

    def __init__(self) -> None:
        self.root = Directory(None, 0)
        self._pending: list[Change] = []

    # Finding

    def entry(self, path: str) -> Entry:
        """The place of a name that need not exist; its directory must."""
        parent, name = posixpath.split(posixpath.normpath("/" + path))
        if not name:
            raise OSError(EISDIR, "the root has no name", path)
        directory = self.find(parent)
        if not isinstance(directory, Directory):
            raise NotADirectoryError(ENOTDIR, "not a directory", path)
        return Entry(directory, name)

    def find(self, path: str) -> Directory | Inode:
        node: Directory | Inode = self.root
        for name in _names_in(path):
            if not isinstance(node, Directory):
                raise NotADirectoryError(ENOTDIR, "not a directory", path)
            if name not in node.seen:
                raise FileNotFoundError(ENOENT, "no such file or directory", path)
            node = node.seen[name]
        return node

    def directory(self, path: str) -> Directory:
        node = self.find(path)
        if not isinstance(node, Directory):
            raise NotADirectoryError(ENOTDIR, "not a directory", path)
        return node

    def file(self, path: str) -> Inode:
        node = self.find(path)
        if not isinstance(node, Inode):
            raise IsADirectoryError(EISDIR, "is a directory", path)
        return node

    def files(self) -> Iterator[tuple[str, Inode]]:
        """Every file that is seen, with its path, sorted."""
        return _files_below("", self.root)

    # Changing

    def create(self, path: str, inode: Inode) -> None:
        inode.is_linked = True
        self._apply(Change([self.entry(path)], [inode], []))

    def mkdir(self, path: str, mtime_ms: int) -> None:
        """One directory; its parent exists."""
        entry = self.entry(path)
        if entry.node() is not None:
            raise FileExistsError(EEXIST, "file exists", path)
        self._apply(Change([entry], [Directory(entry, mtime_ms)], []))

    def unlink(self, path: str) -> Inode:
        inode = self.file(path)
        self._apply(Change([self.entry(path)], [None], []))
        inode.is_linked = False
        return inode

    def rmdir(self, path: str) -> None:
        if self.directory(path).seen:
            raise OSError(ENOTEMPTY, "directory not empty", path)
        self._apply(Change([self.entry(path)], [None], []))

    def rename(self, old: str, new: str) -> Inode | None:
        """Returns the file that lost its name to this one, if any."""
        node, source, target = self.find(old), self.entry(old), self.entry(new)
        replaced = target.node()
        if replaced is node:
            return None
        _refuse_replacing(node, replaced, new)
        needs = [] if source.directory is target.directory else _homes(target.directory)
        self._apply(Change([source, target], [None, node], needs))
        if isinstance(node, Directory):
            node.home = target
        if isinstance(replaced, Inode):
            replaced.is_linked = False
            return replaced
        return None

    def _apply(self, change: Change) -> None:
        change.show()
        self._pending.append(change)

    # Landing

    def fsync_dir(self, path: str) -> None:
        directory = self.directory(path)
        wanted: set[tuple[int, str]] = set()
        landing: list[Change] = []
        for change in reversed(self._pending):  # backwards: whoever lands needs the earlier changes of its names
            is_here = any(entry.directory is directory for entry in change.touched)
            if is_here or not wanted.isdisjoint(change.keys()):
                landing.append(change)
                wanted.update(entry.key() for entry in change.touched + change.needs)
        for change in reversed(landing):
            change.land()
            self._pending.remove(change)

    def close_all(self) -> None:
        """The process has ended, and nothing else."""
        for _, inode in self.files():
            inode.open_files = 0

    def crash(self, profile: CrashProfile, stream: SimStream) -> None:
        undone: set[tuple[int, str]] = set()
        for change in self._pending:
            if not change.is_held_by(undone) and stream.chance(profile.name_percent):
                change.land()
            else:
                undone.update(change.keys())
        self._pending.clear()
        _restore(self.root, None)


def _restore(directory: Directory, home: Entry | None) -> None:
    directory.home = home
    directory.seen = dict(sorted(directory.durable.items()))
    for name, node in directory.seen.items():
        if isinstance(node, Directory):
            _restore(node, Entry(directory, name))
        else:
            node.is_linked = True


def _homes(directory: Directory) -> list[Entry]:
    """The entries of a directory and of all above it."""
    homes = []
    home = directory.home
    while home is not None:
        homes.append(home)
        home = home.directory.home
    return homes


def _refuse_replacing(node: Directory | Inode, replaced: Directory | Inode | None, path: str) -> None:
    if replaced is None:
        return
    if isinstance(node, Directory) and not isinstance(replaced, Directory):
        raise NotADirectoryError(ENOTDIR, "not a directory", path)
    if isinstance(replaced, Directory):
        if not isinstance(node, Directory):
            raise IsADirectoryError(EISDIR, "is a directory", path)
        if replaced.seen:
            raise OSError(ENOTEMPTY, "directory not empty", path)


def _names_in(path: str) -> list[str]:
    return [name for name in posixpath.normpath("/" + path).split("/") if name]


def _files_below(path: str, directory: Directory) -> Iterator[tuple[str, Inode]]:
    for name in sorted(directory.seen):
        node = directory.seen[name]
        if isinstance(node, Directory):
            yield from _files_below(f"{path}/{name}", node)
        else:
            yield f"{path}/{name}", node
