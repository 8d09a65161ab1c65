"""What people want to know of a running query, out of the progress that Spark tells after each batch."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

RUNNING, ENDED, FAILED = "running", "ended", "failed"

# Where the time of a batch goes, in the words of people, by those of Spark.
_PARTS = {
    "offsets": ("latestOffset", "getBatch"),
    "planning": ("queryPlanning",),
    "work": ("addBatch",),
    "checkpoint": ("walCommit", "commitOffsets", "commitBatch"),
}


@dataclass(frozen=True)
class QueryView:
    """Rates are rows per second; `lag` is by topic, in offsets; `parts_ms` is where the time of the last batch went."""

    query: str
    state: str = RUNNING
    batch: int | None = None
    timestamp: str | None = None
    input_rows: int = 0
    input_rate: float = 0.0
    processed_rate: float = 0.0
    lag: Mapping[str, int] = field(default_factory=dict)
    batch_ms: int = 0
    parts_ms: Mapping[str, int] = field(default_factory=dict)
    state_rows: int = 0
    watermark: str | None = None
    total_rows: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Any: JSON."""
        return asdict(self)


def view(query: str, state: str, progress: Mapping[str, Any] | None, total_rows: int) -> QueryView:
    """Any: the progress is Spark's JSON."""
    if progress is None:
        return QueryView(query, state)
    durations = progress.get("durationMs") or {}
    return QueryView(
        query=query,
        state=state,
        batch=progress.get("batchId"),
        timestamp=progress.get("timestamp"),
        input_rows=int(progress.get("numInputRows") or 0),
        input_rate=_rate(progress.get("inputRowsPerSecond")),
        processed_rate=_rate(progress.get("processedRowsPerSecond")),
        lag=lag_by_topic(progress.get("sources") or ()),
        batch_ms=int(durations.get("triggerExecution", 0)),
        parts_ms={part: sum(int(durations.get(name, 0)) for name in names) for part, names in _PARTS.items()},
        state_rows=sum(int(each.get("numRowsTotal", 0)) for each in progress.get("stateOperators") or ()),
        watermark=_watermark(progress.get("eventTime") or {}),
        total_rows=total_rows,
    )


def _watermark(times: Mapping[str, Any]) -> str | None:
    """Before the first record Spark says 1970; a query without event time has no such entry, or that."""
    told = times.get("watermark")
    return None if told is None or str(told).startswith("1970-01-01T00:00:00") else str(told)


def _rate(given: object) -> float:
    """Spark leaves it out, or says NaN, where no time has passed."""
    rate = float(given) if isinstance(given, (int, float, str)) else 0.0
    return round(rate, 1) if 0 <= rate < float("inf") else 0.0


def lag_by_topic(sources: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """What is in the topics and not read yet, as far as the sources say."""
    lag: dict[str, int] = {}
    for source in sources:
        end, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
        for (topic, partition), offset in latest.items():
            behind = max(0, offset - end.get((topic, partition), offset))
            lag[topic] = lag.get(topic, 0) + behind
    return lag


def _offsets(given: object) -> dict[tuple[str, str], int]:
    """By topic and partition; nothing for what is no such offsets: a source may have others."""
    try:
        tree = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {}
    if not isinstance(tree, Mapping):
        return {}
    return {
        (topic, partition): offset
        for topic, partitions in tree.items()
        if isinstance(partitions, Mapping)
        for partition, offset in partitions.items()
        if isinstance(offset, int)
    }
