"""The directories of a node: whose they are, and whether a broker may start on them.

A node refuses to start rather than guess. A directory of another cluster or another node would be served to the wrong
clients, and one that has lost its metadata log would look like a cluster without topics, whose data is to be deleted.
"""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.broken_rule import present
from odradek.config.parsed import Config
from odradek.metadata import meta_properties
from odradek.metadata.meta_properties import CorruptMetaProperties, MetaProperties, path_of
from odradek.metadata.quorum_config import all_dirs, metadata_dir
from odradek.protocol import releases
from odradek.protocol.releases import Release
from odradek.reactor.ports import Disk


class StorageRefused(Exception):  # noqa: N818 - a decision, not a fault
    """Why the directories cannot be used, and what to do, in one line."""


class Storage(NamedTuple):
    """The directories of a node that may start, the metadata log's first; one whose disk fails is not among them."""

    cluster_id: str
    node_id: int
    metadata_dir: str
    directory_ids: dict[str, bytes | None]

    @property
    def release(self) -> Release:
        """Which profile the dirs were formatted at: a 3.3 knows no directory ids."""
        return releases.RELEASE_3_3 if self.directory_ids[self.metadata_dir] is None else releases.RELEASE_4_3


class Found(NamedTuple):
    """What lies in some directories."""

    formatted: dict[str, MetaProperties]
    unformatted: tuple[str, ...]  # there, but without meta.properties
    missing: tuple[str, ...]
    offline: dict[str, str]  # whose disk fails, with the reason
    problems: tuple[str, ...]  # a line for each of the others


def look(disk: Disk, directories: Sequence[str]) -> Found:
    """Blocks. The first directory is the one of the metadata log."""
    formatted: dict[str, MetaProperties] = {}
    offline: dict[str, str] = {}
    corrupt: dict[str, CorruptMetaProperties] = {}
    unformatted, missing, problems = [], [], []
    for directory in directories:
        try:
            if not disk.exists(directory):
                missing.append(directory)
            elif not disk.is_dir(directory):
                problems.append(f"{directory} is not a directory")
            elif not disk.exists(path_of(directory)):
                disk.list(directory)  # one that cannot be read is no empty one
                unformatted.append(directory)
            else:
                formatted[directory] = meta_properties.parse(disk.read(path_of(directory)))
        except CorruptMetaProperties as mistake:
            corrupt[directory] = mistake
        except OSError as failure:
            offline[directory] = f"{failure.filename or directory} cannot be read: {failure.strerror}"
    for directory, error in corrupt.items():
        from odradek.metadata.lost_meta import unreadable  # seldom needed, and it knows of records

        problems.append(unreadable(disk, directory, directories[0], formatted, error))
    return Found(formatted, tuple(unformatted), tuple(missing), offline, tuple(problems))


def refuse_problems(found: Found, needed: Sequence[str]) -> None:
    """StorageRefused for what an operator has to look at, and for a needed directory whose disk fails."""
    for problem in (*found.problems, *(found.offline[directory] for directory in needed if directory in found.offline)):
        raise StorageRefused(problem)


def open_storage(disk: Disk, config: Config, cluster_id: str | None = None) -> Storage:
    """The node's directories, or StorageRefused. `cluster_id` is the one that they must belong to, if it is known.

    A node goes on without a data directory whose disk fails, but not without its metadata log.
    """
    directories = all_dirs(config)
    found = look(disk, directories)
    refuse_problems(found, directories[:1])
    for directory in (*found.missing, *found.unformatted):
        raise StorageRefused(
            f"No `meta.properties` found in {directory} (have you run `kafka-storage.sh format` on it?)"
        )
    verify(found, config["node.id"], cluster_id)
    first = found.formatted[directories[0]]
    its_cluster = present(first.cluster_id, "meta.properties of version 1 name the cluster")
    ids = {directory: meta.directory_id for directory, meta in found.formatted.items()}
    return Storage(its_cluster, first.node_id, metadata_dir(config), ids)


def verify(found: Found, node_id: int, cluster_id: str | None = None) -> None:
    """StorageRefused for a directory of another node or cluster, or one that a broker on ZooKeeper has written."""
    seen: dict[bytes, str] = {}
    before: list[str] = []
    for directory, meta in found.formatted.items():
        path = path_of(directory)
        if meta.version != meta_properties.VERSION_1:
            raise StorageRefused(of_zookeeper(directory))
        if cluster_id is not None and meta.cluster_id != cluster_id:
            raise StorageRefused(
                f"Invalid cluster.id in: {path}. Expected {cluster_id}, but read {meta.cluster_id}. "
                + _other_cluster(directory, is_first=not before)
            )
        if meta.node_id != node_id:
            raise StorageRefused(
                f"Stored node id {meta.node_id} doesn't match the configured node id {node_id} in {path}. "
                f"If you moved your data, set node.id={meta.node_id}; for a new node, give it an empty --data."
            )
        if meta.directory_id is not None:
            twin = seen.setdefault(meta.directory_id, directory)
            if twin != directory:
                raise StorageRefused(f"{path} has the same directory.id as {path_of(twin)}: one is a copy of the other")
        cluster_id = meta.cluster_id
        before.append(directory)


def of_zookeeper(directory: str) -> str:
    return (
        f"{path_of(directory)} has version 0, that of a broker on ZooKeeper, which is not migrated here: let Apache "
        "Kafka 3.9 migrate its cluster to KRaft first, or give an empty directory"
    )


def _other_cluster(directory: str, *, is_first: bool) -> str:
    """What to do about a directory of another cluster than the one that was named, or than those before it."""
    if is_first:
        return "It is formatted already: start it as it is, or give an empty directory."
    return (
        f"All dirs of a node belong to one cluster: take {directory} out of log.dirs, or bring back the one that was "
        "there before."
    )
