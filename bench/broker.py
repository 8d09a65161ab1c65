"""Our broker beside Apache Kafka in the same run: every row of the README's table, and a picture of it.

Both run all the time, each row is measured in alternating rounds, and the best of each counts: noise only ever makes a
figure worse. Kafka needs Java and Maven; without them only ours is shown. `python -m bench.broker --help` has options.
"""

import argparse
import tempfile
from pathlib import Path

from bench import quiet_network
from bench.contenders import Contender, Kafka, Odradek, kafka_is_there
from bench.generators import Generators
from bench.lifecycle import LIFECYCLE, measure_lifecycle
from bench.scoreboard import Scoreboard
from bench.workloads import ROWS, Bench, Row, Storm, touched_memory

PORTS = (19092, 19093)
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "img" / "broker.svg"
WARM_LOADS = (Storm(4, 32, 1, 100), Storm(4, 8, 15, 1000))


def main(arguments: list[str] | None = None) -> None:
    arguments = arguments or []
    options = _options(arguments)
    reason = "left out" if options.without_kafka else kafka_is_there()  # which may need the network outside
    if quiet_network.runs_inside("bench.broker", arguments):
        return
    control = quiet_network.set_up()
    print(f"TCP congestion control of both sides: {control}", flush=True)
    board = Scoreboard()
    with tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=options.directory) as name:
        root = Path(name)
        bench = Bench(Generators(root))
        makers: list[type[Contender]] = [Odradek] if reason else [Odradek, Kafka]
        if reason:
            print(f"Kafka is not measured: {reason}")
        contenders = [maker(root / maker.__name__, port) for maker, port in zip(makers, PORTS, strict=False)]
        try:
            _run(bench, contenders, board, options)
        finally:
            for contender in contenders:
                contender.remove()
    print("\n" + board.table())
    if reason is None and not options.rows:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(board.picture())
        print(f"\nthe picture is {PICTURE.relative_to(PICTURE.parents[2])}")


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.broker", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each row and broker (3)")
    parser.add_argument("--seconds", type=float, default=3, help="of load in each (3)")
    parser.add_argument("--rows", help=f"only these, by comma: {', '.join(row.name for row in ROWS)}, {LIFECYCLE}")
    parser.add_argument("--without-kafka", action="store_true", help="only ours")
    parser.add_argument("--directory", help="where the logs go")
    return parser.parse_args(arguments)


def _run(bench: Bench, contenders: list[Contender], board: Scoreboard, options: argparse.Namespace) -> None:
    names = options.rows.split(",") if options.rows else [*(row.name for row in ROWS), LIFECYCLE]
    for contender in contenders:
        board.note_start(contender)
    _warm_up(bench, contenders)
    for row in ROWS:
        if row.name in names:
            _measure(bench, contenders, board, row, options)
    if LIFECYCLE in names:
        measure_lifecycle(bench, contenders, board)


def _warm_up(bench: Bench, contenders: list[Contender]) -> None:
    for contender in contenders:
        print(f"warming up {contender.name}", flush=True)
        for load in WARM_LOADS:
            with bench.topic(contender, load.connections) as topic:
                bench.storm(contender, topic, load, contender.warm_seconds)


def _measure(
    bench: Bench, contenders: list[Contender], board: Scoreboard, row: Row, options: argparse.Namespace
) -> None:
    reason = bench.generators.why_not(row.generator)
    if reason is not None:
        print(f"{row.name} is left out: {reason}", flush=True)
        return
    for number in range(options.rounds):
        for contender in contenders:
            with touched_memory(row.is_heavy):
                figures = row.measure(bench, contender, options.seconds)
            board.add(row, contender.name, figures)
            told = ", ".join(f"{value:,.3g} {row.units[key]}" for key, value in figures.items())
            print(f"{row.name:>10} {number + 1}/{options.rounds} {contender.name}: {told}", flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
