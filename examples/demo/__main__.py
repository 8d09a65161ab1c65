"""Shows it all at once: a broker, an hour of a shop in half a minute, a pipeline, a picture and a check to the row.

    make demo                            # or: python examples/demo --dir DIRECTORY

In the middle of their work the queries are stopped, and started again: nothing is lost or doubled. The exit status is 1
if a single row differs from what was produced.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from demo_check import in_topics, outcomes, told
from demo_expected import TABLE, expected
from demo_java import check_java
from demo_picture import as_png, in_characters
from demo_pipeline import PARTITIONS, declared
from demo_stream import CLICKS, Hour, hour
from odradek import KafkaProducer
from odradek.spark import Pipeline, session
from odradek.spark.pipeline.failure_text import failure_line
from odradek.spark.pipeline.run_command import Followed, QueryFailedError, quiet_java
from odradek.testing import Broker

_TELL_S = 2.0
_QUERIES_S_MAX = 600.0
_CONF = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
}


class Teller:
    """Tells what is done; and every two seconds, from a thread of its own, how far it is."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.status: Callable[[], str] = str

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join(timeout=10)

    def say(self, text: str, status: Callable[[], str] | None = None) -> None:
        """`status` is how far it is, while it lasts; without one it is the text again."""
        self.status = status or (lambda: f"... {text}")
        self._print(text)

    def _run(self) -> None:
        while not self._end.wait(_TELL_S):
            with suppress(Exception):  # a query that is just being stopped tells nothing
                self._print(f"  {self.status()}")

    def _print(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:5.0f} s  {text}", flush=True)


class Shop:
    """Sends the hour, minute after minute; each is written before the next begins."""

    def __init__(self, bootstrap: str, made: Hour, seconds: float) -> None:
        self._bootstrap = bootstrap
        self._made = made
        self._pause_s = seconds / len(made.minutes)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: BaseException | None = None
        self.sent: Counter[str] = Counter()

    def start(self) -> None:
        self._thread.start()

    @property
    def is_open(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """Raises what went wrong."""
        self._stopped.set()
        self._thread.join(timeout=60)
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            with KafkaProducer(bootstrap_servers=self._bootstrap) as producer:
                for minute in self._made.minutes:
                    for future in [producer.send(each.topic, each.value, key=each.key) for each in minute]:
                        future.result(timeout=60)
                    self.sent.update(each.topic for each in minute)
                    if self._stopped.wait(self._pause_s):
                        return
        except Exception as error:  # noqa: BLE001 - told by close()
            self._error = error


class Demo:
    def __init__(self, directory: Path, made: Hour, seconds: float, teller: Teller) -> None:
        self._directory = directory
        self._made = made
        self._seconds = seconds
        self._teller = teller
        self._read: Counter[str] = Counter()  # by query, before it was stopped

    def run(self) -> bool:
        """Whether every row is as expected."""
        self._teller.say("starting a broker")
        with Broker() as broker:
            for topic, partitions in PARTITIONS.items():
                broker.create_topic(topic, partitions)
            self._teller.say(f"starting Spark; the broker serves {broker.bootstrap}")
            spark = self._spark()
            try:
                found = self._results(broker.bootstrap, spark)
            finally:
                self._teller.say("stopping Spark and the broker")
                spark.stop()
        return self._judge(found)

    def _spark(self) -> Any:
        """Any: the types of pyspark are not there for everybody."""
        places = {
            "spark.sql.warehouse.dir": self._directory / "warehouse",
            "spark.local.dir": self._directory / "spark",
        }
        with quiet_java(True):
            return session("local[*]", "odradek demo", **_CONF, **places)

    def _results(self, bootstrap: str, spark: Any) -> dict[str, Counter]:
        shop = Shop(bootstrap, self._made, self._seconds)
        pipeline = declared(bootstrap, self._directory)
        self._teller.say("starting the queries of the pipeline")
        running = self._started(pipeline, spark, once=False)
        shop.start()
        try:
            self._watch(running, shop, lambda: shop.is_open, "the shop is open")
        finally:
            shop.close()
        self._teller.say(
            "the shop is closed; the queries were stopped amid their work and go on from their checkpoints"
        )
        self._watch(self._started(pipeline, spark, once=True), shop, lambda: True, "the queries read the rest")
        self._teller.say("reading the results back")
        table = spark.read.parquet(str(self._directory / TABLE))
        return {**in_topics(bootstrap), TABLE: Counter(tuple(row) for row in table.collect())}

    def _started(self, pipeline: Pipeline, spark: Any, once: bool) -> Any:
        from odradek.spark.pipeline.running import start

        names: list[str] = []
        self._teller.status = lambda: f"... started: {', '.join(names) or 'none yet'}"
        return start(pipeline.declaration(), spark, once=once, started=names.append)

    def _watch(self, running: Any, shop: Shop, is_wanted: Callable[[], bool], what: str) -> None:
        """Until they have ended or are not wanted any more; stops them at once, whatever they do."""
        followed = [Followed(each.name, each.query) for each in running.queries]
        self._teller.say(what, lambda: f"sent {shop.sent.total():,}; rows read by {self._progress(followed)}")
        deadline = time.monotonic() + _QUERIES_S_MAX
        try:
            while is_wanted() and not running.wait(0.2):
                if time.monotonic() > deadline:
                    raise QueryFailedError(f"the queries have not ended within {_QUERIES_S_MAX:.0f} s")
        finally:
            running.stop()
            self._progress(followed)
            self._read.update({each.name: each.view.total_rows for each in followed})

    def _progress(self, followed: list[Followed]) -> str:
        for each in followed:
            each.look()
        read = {each.name: self._read[each.name] + each.view.total_rows for each in followed}
        return ", ".join(f"{name.removesuffix('-letters')} {rows:,}" for name, rows in read.items())

    def _judge(self, found: dict[str, Counter]) -> bool:
        judged = outcomes(expected(self._made), found)
        is_right = all(each.is_right for each in judged)
        rows = sum(each.found.total() for each in judged)
        verdict = f"{rows:,} rows, all as produced" if is_right else "NOT what was produced"
        self._teller.say("drawing")
        picture = self._directory / "demo.png"
        as_png(found, verdict, picture)
        print("", *in_characters(found), "", *told(judged), "", sep="\n")
        self._teller.say(f"{verdict}; picture: {picture}, Parquet: {self._directory / TABLE}")
        return is_right


def _directory(given: str | None) -> Path:
    if given is None:
        return Path(tempfile.mkdtemp(prefix="odradek-demo-"))
    directory = Path(given).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise SystemExit(f"{directory} is not empty: name a new directory, or remove what is there")
    return directory


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description="A broker, a stream, a pipeline, a picture and a check.")
    parser.add_argument("--dir", help="where the results go: a new or empty directory (default: a temporary one)")
    parser.add_argument("--seed", type=int, default=7, help="another seed is another hour (default 7)")
    parser.add_argument("--seconds", type=float, default=16, help="how long the hour of the shop takes (default 16)")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    check_java()
    directory, made = _directory(arguments.dir), hour(arguments.seed)
    clicks = sum(each.topic == CLICKS for minute in made.minutes for each in minute)
    with Teller() as teller:
        teller.say(
            f"an hour of {clicks:,} clicks and {made.sent - clicks:,} orders: {made.late:,} late, {made.twice:,} sent "
            f"twice, {len(made.unreadable)} unreadable"
        )
        try:
            return 0 if Demo(directory, made, arguments.seconds, teller).run() else 1
        except KeyboardInterrupt:
            return 130
        except Exception as error:  # noqa: BLE001 - whatever it is, a person gets one line
            teller.say(f"FAILED: {failure_line(str(error))}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
