"""What the verifier of a log dir found: one line each, with the rule, the file and the place."""

from collections.abc import Callable

from odradek.inspection.log_dir_state import METADATA_LOG
from odradek.protocol.json_value import JsonObject

ERROR = "error"
NOTE = "note"  # worth knowing, and nothing wrong: what a crash may leave, what waits to be deleted

# What can be done about errors, in the order in which it is told.
REPAIR = "'odradek log repair {directory} --dry-run' says what of it can be mended"
FROM_COPY = f"bring the directory {METADATA_LOG} back from a copy"
META = "bring meta.properties back from a copy, or write the lines that a refused start names"
MOVE_OUT = "move what does not belong there out of the dir"
NOTHING = ""  # the finding says it, or a start goes on without it
_REMEDIES = (REPAIR, FROM_COPY, META, MOVE_OUT)
_BY_RULE = {"meta": META, "shutdown": NOTHING, "snapshot": NOTHING, "P5": NOTHING, "txn index": NOTHING}


class Finding:
    """`rule` is an invariant (L1, L3, P5 ...) or the kind of file. `position` counts bytes, in text files lines."""

    __slots__ = ("file", "message", "position", "rule", "severity")

    def __init__(self, severity: str, rule: str, file: str, position: int | None, message: str) -> None:
        self.severity = severity
        self.rule = rule
        self.file = file
        self.position = position
        self.message = message

    def __repr__(self) -> str:
        return f"Finding({self})"

    def __str__(self) -> str:
        place = self.file if self.position is None else f"{self.file}:{self.position}"
        return f"{self.severity:<5} {self.rule:<10} {place}: {self.message}"

    def form(self) -> JsonObject:
        return {name: getattr(self, name) for name in ("severity", "rule", "file", "position", "message")}


class Report:
    """Takes the findings and counts what was looked at."""

    __slots__ = ("_show", "batches", "errors", "log_bytes", "notes", "partitions", "records", "remedies", "segments")

    def __init__(self, show: Callable[[Finding], None]) -> None:
        self._show = show
        self.errors = self.notes = 0
        self.remedies: set[str] = set()
        self.partitions = self.segments = self.batches = self.records = self.log_bytes = 0

    def error(self, rule: str, file: str, position: int | None, message: str, *, remedy: str | None = None) -> None:
        """`remedy` is what helps against it, if it is not what helps against all that break the rule."""
        self.errors += 1
        self.remedies.add(_remedy(rule, file) if remedy is None else remedy)
        self._show(Finding(ERROR, rule, file, position, message))

    def note(self, rule: str, file: str, position: int | None, message: str) -> None:
        self.notes += 1
        self._show(Finding(NOTE, rule, file, position, message))

    def judge(self, is_legal: bool, rule: str, file: str, position: int | None, message: str) -> None:
        """A note if it is what a crash legally leaves, otherwise an error."""
        (self.note if is_legal else self.error)(rule, file, position, message)


def _remedy(rule: str, file: str) -> str:
    """The quorum's own log is not repaired, whatever is wrong with it."""
    return FROM_COPY if file.partition("/")[0] == METADATA_LOG else _BY_RULE.get(rule, REPAIR)


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


class Summary:
    __slots__ = ("directory", "is_clean", "report")

    def __init__(self, directory: str, is_clean: bool, report: Report) -> None:
        self.directory = directory
        self.is_clean = is_clean
        self.report = report

    @property
    def errors(self) -> int:
        return self.report.errors

    def __str__(self) -> str:
        report = self.report
        verdict = "sound" if not report.errors else "DAMAGED"
        state = "stopped cleanly" if self.is_clean else "not stopped cleanly"
        return (
            f"{self.directory}: {verdict}, {state}; {_counted(report.errors, 'error')}, "
            f"{_counted(report.notes, 'note')} in {_counted(report.partitions, 'partition')}, "
            f"{_counted(report.segments, 'segment')}, "
            f"{_counted(report.batches, 'batch', 'batches')}, {_counted(report.records, 'record')}, "
            f"{_counted(report.log_bytes, 'byte')} of log{self._advice}"
        )

    @property
    def _advice(self) -> str:
        told = (remedy for remedy in _REMEDIES if remedy in self.report.remedies)
        return "".join(f"; {remedy}" for remedy in told).replace("{directory}", self.directory)

    def form(self) -> JsonObject:
        counted = ("errors", "notes", "partitions", "segments", "batches", "records", "log_bytes")
        counts = {name: getattr(self.report, name) for name in counted}
        return {"directory": self.directory, "stopped_cleanly": self.is_clean, **counts}
