"""What a benchmark of its own figures beside Apache Kafka needs: who is compared, where, and the table at the end."""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench import quiet_network
from bench.contenders import Contender, Kafka, Odradek, kafka_is_there
from bench.scoreboard import Line

Figures = dict[str, float]


class Figure(NamedTuple):
    title: str
    unit: str
    higher: bool = False  # is better
    bound: float | None = None  # that ours must stay below


class Sheet:
    """The figures of all rounds, and who is measured."""

    def __init__(self, root: Path, makers: list[type[Contender]], figures: dict[str, Figure]) -> None:
        self.root = root
        self.makers = makers
        self._figures = figures
        self._lines: dict[str, Line] = {}

    def note(self, contender: Contender, number: int, measured: Figures) -> None:
        for key, value in measured.items():
            title, unit, higher, bound = self._figures[key]
            self._lines.setdefault(key, Line(title, unit, higher=higher, bound=bound)).add(contender.name, value)
        told = ", ".join(f"{key} {value:,.3g} {self._figures[key].unit}" for key, value in measured.items())
        print(f"{number + 1} {contender.name}: {told}", flush=True)

    def table(self) -> str:
        rows = ["| workload | figure | odradek | Kafka | ratio | gate | |", "|---|---|---|---|---|---|---|"]
        return "\n".join([*rows, *(line.row() for line in self._lines.values())])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--without-kafka", action="store_true", help="only ours")
    parser.add_argument("--directory", help="where the logs go")


def run(
    module: str,
    arguments: list[str],
    options: argparse.Namespace,
    figures: dict[str, Figure],
    measure: Callable[[Sheet], None],
) -> None:
    reason = "left out" if options.without_kafka else kafka_is_there()  # which may need the network outside
    if quiet_network.runs_inside(module, arguments):
        return
    quiet_network.set_up()
    if reason:
        print(f"Kafka is not measured: {reason}")
    with tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=options.directory) as name:
        sheet = Sheet(Path(name), [Odradek] if reason else [Odradek, Kafka], figures)
        measure(sheet)
    print("\n" + sheet.table())
