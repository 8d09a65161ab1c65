"""Ids of log directories (KIP-858): those that stand for something else than a directory, and which are online."""

from collections.abc import Collection

MIGRATING = bytes(16)  # the replica lies in some directory: it was placed before directories were told
UNASSIGNED = bytes(15) + b"\x01"  # the replica has no directory yet: the broker will choose one
LOST = bytes(15) + b"\x02"  # the directory has failed, and nobody knows which one it was

RESERVED_BELOW = 100  # ids that a broker may not have made up: the first hundred numbers

_WITHOUT_FAILURE = (MIGRATING, UNASSIGNED)


def is_reserved(directory: bytes) -> bool:
    return int.from_bytes(directory, "big") < RESERVED_BELOW


def is_online(directory: bytes, registered: Collection[bytes]) -> bool:
    """Whether a replica there can be served, given the directories that its broker has online.

    A broker from before directories had ids registers none: whatever is not known to be lost counts as online there.
    """
    if directory in registered or directory in _WITHOUT_FAILURE:
        return True
    return not registered and directory != LOST
