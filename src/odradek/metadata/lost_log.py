"""Whether formatted directories have lost their metadata log.

A node that began a new one would know of no topic, and take every partition for one that nobody misses.
"""

from collections.abc import Iterable

from odradek.metadata.lost_meta import of_a_broker
from odradek.metadata.quorum_config import METADATA_LOG
from odradek.reactor.ports import Disk


def lost_log(disk: Disk, metadata_dir: str, directories: Iterable[str], *, has_voters: bool) -> str | None:
    """Why a metadata log that is not there must not be begun anew, and what to do; None if it may be.

    `has_voters`: the configs name them. Else they stand in the log, where formatting has put them.
    """
    path = f"{metadata_dir}/{METADATA_LOG}"
    for directory in directories:
        held = of_a_broker(disk, directory)
        if held is not None:
            return (
                f"The metadata log {path} is missing, and {directory} is that of a broker which had one, for it holds "
                f"{held}: bring the directory {METADATA_LOG} back from a copy; without it no topic is known"
            )
    if has_voters:
        return None  # it was formatted, and this is its first start
    return (
        f"The metadata log {path} is missing, and with it the voters that formatting has written there: bring the "
        f"directory {METADATA_LOG} back from a copy, or, as nothing else is stored, remove what is left in "
        f"{metadata_dir} and start anew"
    )
