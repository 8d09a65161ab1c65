"""The best figures of each row, as a table and as a picture."""

from math import log2
from xml.sax.saxutils import escape

from bench.contenders import Contender
from bench.workloads import RATE, Figures, Row

OURS = "odradek"
IDLE_MB_MAX, LOADED_MB_MAX = 60, 100
START_SECONDS_MAX = 0.3
RECOVERY_RATIO_MAX = 1 / 3


class Line:
    """One figure of a row for both brokers, and what ours must reach: a ratio, or a bound of its own."""

    def __init__(self, title: str, unit: str, *, higher: bool, ratio: float | None = None, bound: float | None = None):
        self.title = title
        self.unit = unit
        self.higher = higher
        self.ratio = ratio
        self.bound = bound
        self.values: dict[str, float] = {}

    def add(self, name: str, value: float) -> None:
        known = self.values.get(name)
        if known is None or (value > known if self.higher else value < known):
            self.values[name] = value

    @property
    def peer(self) -> float | None:
        return next((value for name, value in self.values.items() if name != OURS), None)

    @property
    def quotient(self) -> float | None:
        return self.values[OURS] / self.peer if self.peer and OURS in self.values else None

    @property
    def gate(self) -> str:
        if self.bound is not None:
            return f"< {self.bound:g} {self.unit}"
        if self.ratio is None:
            return ""
        return f"{'≥' if self.higher else '≤'} {self.ratio:.3g}x"

    @property
    def is_reached(self) -> bool | None:
        if self.bound is not None:
            return self.values[OURS] < self.bound
        if self.ratio is None or self.quotient is None:
            return None
        return self.quotient >= self.ratio if self.higher else self.quotient <= self.ratio

    def row(self) -> str:
        """Of a table: title, unit, ours, Kafka's, ratio, gate, verdict."""
        ours, peer = (_number(value) for value in (self.values.get(OURS), self.peer))
        quotient = "" if self.quotient is None else f"{self.quotient:.2f}"
        verdict = {True: "reached", False: "missed", None: ""}[self.is_reached]
        return f"| {self.title} | {self.unit} | {ours} | {peer} | {quotient} | {self.gate} | {verdict} |"


class Scoreboard:
    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], Line] = {}

    def add(self, row: Row, name: str, figures: Figures) -> None:
        for key, value in figures.items():
            line = self._line((row.name, key), row.title, row.units[key], higher=key == RATE, ratio=row.gates.get(key))
            line.add(name, value)

    def note_start(self, contender: Contender) -> None:
        """Starts it, twice: a first start reads programs from the disk."""
        for _ in range(2):
            contender.stop()
            seconds = contender.start()
            self._line(("start", ""), "start to first answer", "s", higher=False, bound=START_SECONDS_MAX).add(
                contender.name, seconds
            )
        print(f"     start {contender.name}: {seconds:.2f} s", flush=True)
        line = self._line(("idle", ""), "resident memory, idle", "MB", higher=False, bound=IDLE_MB_MAX)
        line.add(contender.name, contender.resident_mb())

    def note_memory(self, contender: Contender) -> None:
        line = self._line(("loaded", ""), "resident memory after this load", "MB", higher=False, bound=LOADED_MB_MAX)
        line.add(contender.name, contender.resident_mb())

    def note_recovery(self, contender: Contender, seconds: float) -> None:
        title = "1 GB in one partition, kill -9, start to first answer"
        self._line(("recovery", ""), title, "s", higher=False, ratio=RECOVERY_RATIO_MAX).add(contender.name, seconds)

    def _line(self, key: tuple[str, str], title: str, unit: str, **gate: float | bool | None) -> Line:
        if key not in self._lines:
            self._lines[key] = Line(title, unit, **gate)  # type: ignore[arg-type]
        return self._lines[key]

    # For people

    def table(self) -> str:
        lines = ["| workload | figure | odradek | Kafka | ratio | gate | |", "|---|---|---|---|---|---|---|"]
        return "\n".join([*lines, *(line.row() for line in self._lines.values())])

    def picture(self) -> str:
        """A bar for each figure: how many times better ours is, on a logarithmic scale; the gate is a tick on it."""
        lines = [line for line in self._lines.values() if line.quotient]
        height = 24 * len(lines) + 70
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{height}" font-family="sans-serif" '
            'font-size="12">',
            '<rect width="100%" height="100%" fill="white"/>',
            '<text x="10" y="22" font-size="15">odradek beside Apache Kafka in the same run: how many times better '
            "(1 is equal; the tick is the gate)</text>",
        ]
        parts += [_gridline(times, height) for times in (0.5, 1, 2, 4, 8, 16)]
        parts += [_bar(line, 56 + 24 * index) for index, line in enumerate(lines)]
        return "\n".join([*parts, "</svg>", ""])


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


LEFT, UNIT_PX = 470, 90


def _x(times: float) -> float:
    return LEFT + UNIT_PX * max(-1.0, min(4.5, log2(times)))


def _times_better(line: Line, quotient: float) -> float:
    return quotient if line.higher else 1 / quotient


def _gridline(times: float, height: int) -> str:
    x = _x(times)
    return (
        f'<line x1="{x:.0f}" y1="36" x2="{x:.0f}" y2="{height - 10}" stroke="#ddd"/>'
        f'<text x="{x:.0f}" y="46" text-anchor="middle" fill="#777">{times:g}x</text>'
    )


def _bar(line: Line, y: int) -> str:
    assert line.quotient is not None
    end = _x(_times_better(line, line.quotient))
    left, width = min(LEFT, end), abs(end - LEFT)
    colour = "#c44" if line.is_reached is False else "#4a7"
    text = (
        f'<text x="{LEFT - 96}" y="{y + 13}" text-anchor="end">{escape(line.title)}, {escape(line.unit)}</text>'
        f'<rect x="{left:.0f}" y="{y}" width="{max(1, width):.0f}" height="16" fill="{colour}"/>'
    )
    if line.ratio is not None:
        gate = _x(_times_better(line, line.ratio))
        text += f'<line x1="{gate:.0f}" y1="{y - 2}" x2="{gate:.0f}" y2="{y + 18}" stroke="black" stroke-width="2"/>'
    return text
