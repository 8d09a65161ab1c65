"""The results as a picture: for the terminal in plain characters, and as a PNG."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from demo_expected import BEST_MINUTES, BEST_SELLERS, MINUTES, SALES, Bag

_HEIGHT, _WIDTH = 10, 40
_BLUE, _RED, _GREY = "#3b6ea5", "#c8442f", "#6b7280"


def in_characters(found: Mapping[str, Bag]) -> Iterator[str]:
    yield "  clicks per minute (# as usual, ! suspicious)"
    yield from _columns(sorted(found[MINUTES]))
    yield ""
    yield f"  sales of the best sellers of every {BEST_MINUTES} minutes"
    yield from _bars(_revenue(found[BEST_SELLERS]))


def _columns(minutes: Sequence[tuple[int, int, int, bool]]) -> Iterator[str]:
    """A column for each minute."""
    most = max((clicks for _, clicks, *_ in minutes), default=1)
    for level in range(_HEIGHT, 0, -1):
        label = f"{most * level // _HEIGHT:>7,} |"
        marks = "".join(_mark(clicks * _HEIGHT / most >= level - 0.5, flag) for _, clicks, _, flag in minutes)
        yield f"{label}{marks}".rstrip()
    yield f"{'':>7} +{'-' * len(minutes)}"
    if minutes:
        first, last = _clock(minutes[0][0]), _clock(minutes[-1][0])
        yield f"{'':>9}{first}{last:>{max(0, len(minutes) - len(first))}}"


def _mark(is_filled: bool, is_suspicious: bool) -> str:
    return " " if not is_filled else "!" if is_suspicious else "#"


def _bars(revenue: Mapping[str, int]) -> Iterator[str]:
    most = max(revenue.values(), default=1)
    for product, cents in sorted(revenue.items(), key=lambda each: -each[1]):
        yield f"  {product:>7} |{'#' * max(1, round(_WIDTH * cents / most))} {cents / 100:,.2f}"


def _revenue(best_sellers: Bag) -> Counter[str]:
    revenue: Counter[str] = Counter()
    for _, _, product, _, cents in best_sellers:
        revenue[product] += cents
    return revenue


def _clock(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M}"


def as_png(found: Mapping[str, Bag], verdict: str, file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(12, 7.5), height_ratios=(3, 2), layout="constrained")
    grid = axes[0, 0].get_gridspec()
    for unused in axes[0]:
        unused.remove()
    _draw_minutes(figure.add_subplot(grid[0, :]), sorted(found[MINUTES]))
    _draw_best_sellers(axes[1, 0], _revenue(found[BEST_SELLERS]))
    _draw_waits(axes[1, 1], found[SALES])
    figure.suptitle(f"An hour in the shop: {verdict}", fontsize=14, fontweight="bold")
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def _tidy(axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_minutes(axes, minutes: Sequence[tuple[int, int, int, bool]]) -> None:
    places = range(len(minutes))
    usual = axes.bar(places, [row[1] for row in minutes], color=[_RED if row[3] else _BLUE for row in minutes])
    line = axes.plot(places, [row[2] for row in minutes], color="black", linewidth=1.5)
    axes.set_xticks(places[::5], [_clock(row[0]) for row in minutes[::5]])
    suspicious = [patch for patch, row in zip(usual, minutes, strict=True) if row[3]]
    fine = [patch for patch, row in zip(usual, minutes, strict=True) if not row[3]]
    shown = [(fine, "clicks"), (suspicious, "clicks, suspicious"), (line, "visitors")]
    axes.legend([each[0] for each, _ in shown if each], [word for each, word in shown if each], frameon=False)
    axes.margins(x=0.01)
    _tidy(axes, "Clicks and visitors per minute (topic clicks-per-minute)")


def _draw_best_sellers(axes, revenue: Mapping[str, int]) -> None:
    rows = sorted(revenue.items(), key=lambda each: each[1])
    bars = axes.barh([product for product, _ in rows], [cents / 100 for _, cents in rows], color=_BLUE)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=9)
    axes.margins(x=0.12)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    _tidy(axes, f"Sales of the first three of every {BEST_MINUTES} minutes (topic best-sellers)")


def _draw_waits(axes, sales: Bag) -> None:
    axes.hist([row[4] / 60 for row in sales.elements()], bins=[each / 2 for each in range(21)], color=_GREY)
    axes.set_xlabel("minutes")
    _tidy(axes, "From a click to the order of that product (topic sales)")
