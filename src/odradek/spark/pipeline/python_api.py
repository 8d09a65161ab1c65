"""Pipelines in Python.

    from odradek.spark import Pipeline

    pipeline = Pipeline("orders", checkpoint="/var/lib/orders", options={"kafka.bootstrap.servers": "localhost:9092"})
    pipeline.source("orders", topic="orders", decode="json", schema="id BIGINT, amount DOUBLE")

    @pipeline.step("orders")
    def large(orders):
        return orders.where("amount > 100")

    pipeline.sink("out", "large", topic="large-orders", key="id")

    if __name__ == "__main__":
        pipeline.run(master="local[*]")

The fields are those of the other front ends. Each call is remembered with its line; nothing is looked at before
`declaration()`, which `run`, `plan` and `odradek spark run` begin with.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.spark.pipeline.checking import check
from odradek.spark.pipeline.declaring import declared
from odradek.spark.pipeline.given import Given, given
from odradek.spark.pipeline.mistakes import Mistakes, Place
from odradek.spark.pipeline.model import Declaration

if TYPE_CHECKING:
    from odradek.spark.pipeline.running import Running

F = TypeVar("F", bound=Callable[..., Any])  # Any: DataFrames, known where pyspark is


class Pipeline:
    def __init__(self, name: str, **fields: object) -> None:
        """`checkpoint`, `trigger`, `options` (kafka.* of every topic) and `spark` (its configuration)."""
        self._place = _caller()
        self._name = name
        self._fields = {key: given(value, self._place) for key, value in fields.items()}
        self._parts: dict[str, dict[str, Given]] = {"sources": {}, "steps": {}, "sinks": {}}
        self._mistakes: list[tuple[Place, str]] = []

    def source(self, name: str, **fields: object) -> None:
        """A topic with its decoder, or a table: the fields that docs/pipelines.md lists."""
        self._add("sources", name, fields, _caller())

    def sql(self, name: str, query: str) -> None:
        """A query over the names that are there."""
        self._add("steps", name, {"sql": query}, _caller())

    def step(self, *inputs: str, name: str | None = None) -> Callable[[F], F]:
        """Decorates a function that is given the DataFrames of `inputs` and returns one; its name is the step's."""
        place = _caller()

        def add(function: F) -> F:
            fields = {"function": function, "inputs": list(inputs)}
            self._add("steps", name or function.__name__, fields, place)
            return function

        return add

    def sink(self, name: str, source: str, **fields: object) -> None:
        """Writes what `source` names: topic, parquet, delta, iceberg, console or function."""
        self._add("sinks", name, {"from": source, **fields}, _caller())

    def declaration(self) -> Declaration:
        """The checked model; PipelineError with all that is wrong."""
        mistakes = Mistakes()
        for place, text in self._mistakes:
            mistakes.add(place, text)
        parts = {key: Given(dict(each), self._place) for key, each in self._parts.items()}
        declaration = declared(Given({**self._fields, **parts}, self._place), self._name, mistakes)
        check(declaration, mistakes)
        mistakes.raise_if_any()
        return declaration

    def plan(self) -> str:
        """What would run, as text."""
        from odradek.spark.pipeline.plan import plan_text

        return plan_text(self.declaration())

    def start(self, spark: Any, *, once: bool = False) -> "Running":
        """The queries of the pipeline, started in a session; with `once` each ends with what is there now."""
        from odradek.spark.pipeline.running import start

        return start(self.declaration(), spark, once=once)

    def run(self, master: str = "local[*]", *, once: bool = False) -> None:
        """Runs it to its end, or to Ctrl-C."""
        from odradek.spark.pipeline.run_command import run_declaration

        run_declaration(self.declaration(), master=master, once=once)

    def _add(self, group: str, name: str, fields: dict[str, object], place: Place) -> None:
        if name in self._parts[group]:
            self._mistakes.append((place, f"the name {name} is taken: see {self._parts[group][name].place}"))
        self._parts[group][name] = given(fields, place)


def _caller() -> Place:
    frame = sys._getframe(2)
    return Place(frame.f_code.co_filename, frame.f_lineno)
