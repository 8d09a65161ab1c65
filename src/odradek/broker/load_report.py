"""Tells the server log how far the loading of the log dirs has come.

What is loaded within two seconds is not worth a line. After a crash it may be hours of recovery: somebody who looks at
a broker that does not answer yet should see which log it reads, and that it moves. What was mended is always told.
"""

from odradek.broker.server_log import Logger
from odradek.log.manager.dir_loading import LoadProgress

_MB = 1_000_000


class LoadReport:
    """Logs how far the logs are loaded: for each dir at its beginning, every two seconds, and at its end."""

    __slots__ = ("_begun", "_left", "_log", "_told")

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._begun: set[str] = set()
        self._told: set[str] = set()
        self._left: dict[str, str] = {}  # by dir

    @property
    def state(self) -> str:
        """What is left to do in each dir whose logs are not loaded yet, as text."""
        return "; ".join(f"{path}: {left}" for path, left in self._left.items()) or "their dirs are being looked at"

    def tell(self, progress: LoadProgress) -> None:
        path = progress.path
        self._left[path] = _what_is_left(progress)
        if progress.is_over:
            del self._left[path]
        if progress.is_over:
            self._tell_mended(progress)
        if path not in self._begun:
            self._begun.add(path)
        elif not progress.is_over:
            self._told.add(path)
            self._log.info(f"Loading logs of dir {path}: {_what_is_left(progress)}")
        elif path in self._told and not progress.remaining_logs:
            self._log.info(f"All logs of dir {path} are loaded")

    def _tell_mended(self, progress: LoadProgress) -> None:
        for segment in progress.reindexed:
            self.reindexed(segment)
        if progress.recovered:
            read, cut = (sum(sizes) for sizes in zip(*progress.recovered, strict=True))
            self._log.info(
                f"Recovered {len(progress.recovered)} logs of dir {progress.path}, which was not closed: "
                f"{read} bytes were read, and {cut} cut off at the ends"
            )

    def reindexed(self, segment: str) -> None:
        self._log.warn(f"The indexes of {segment} were missing or damaged, and were built again from it")


def _what_is_left(progress: LoadProgress) -> str:
    left = f"{progress.remaining_logs} logs left"
    if progress.remaining_segments:
        left += f" with {progress.remaining_segments} segments to recover"
    reading = [
        f"{directory.rpartition('/')[2]} {done // _MB} of {total // _MB} MB"
        for directory, (done, total) in sorted(progress.recovering.copy().items())
    ]
    return f"{left}; reading {', '.join(reading)}" if reading else left
