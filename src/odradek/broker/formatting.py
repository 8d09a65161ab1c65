"""Fresh directories, formatted by the node that starts on them; and the release that others were formatted at."""

from odradek.broker.node_dirs import NodeDirs
from odradek.broker.start_refused import StartRefused
from odradek.config.parsed import Config
from odradek.metadata.storage import StorageRefused
from odradek.protocol import releases
from odradek.protocol.releases import Release
from odradek.reactor.loop import Loop
from odradek.reactor.ports import JobOf, Ports


def release_of(dirs: NodeDirs) -> Release:
    """The release that has formatted the dirs: 3.3 if they have no directory ids. For fresh dirs the default."""
    meta = dirs.metas.get(dirs.metadata_dir)
    if meta is None:
        return releases.DEFAULT
    return releases.RELEASE_3_3 if meta.directory_id is None else releases.RELEASE_4_3


async def format_fresh_dirs(loop: Loop, dirs: NodeDirs, config: Config, release: Release) -> None:
    """Formats the unformatted dirs. Raises StartRefused if one of them is not empty."""
    try:
        await loop.submit(_format_job(loop.ports, config, release))
    except StorageRefused as refusal:
        raise StartRefused(str(refusal)) from None
    await loop.submit(dirs.read_again_job(loop.ports.disk))


def _format_job(ports: Ports, config: Config, release: Release) -> JobOf[None]:
    from odradek.metadata.formatting import ensure_formatted  # only a first start needs it

    ensure_formatted(ports.disk, ports.clock, ports.rng, config, release)
    yield 0
