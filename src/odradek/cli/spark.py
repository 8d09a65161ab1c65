"""`odradek spark`: runs a pipeline that a file declares, shows what it would run, and which ones run."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.cli.failure import Failure, Refusal

if TYPE_CHECKING:
    from odradek.spark.pipeline.model import Declaration

_EXAMPLES = """\
examples:
  odradek spark plan orders.yaml
  odradek spark plan orders.sql --svg orders.svg
  odradek spark run orders.yaml
  odradek spark run orders.py --master spark://host:7077 --metrics-port 9404
  odradek spark run orders.yaml --once --json
  odradek spark status
"""
_FILE_HELP = "the pipeline: a file that ends in .yaml, .sql or .py (docs/pipelines.md)"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "spark",
        help="pipelines over topics, with Spark: run, plan, status",
        description="Pipelines over topics, with Spark. Needs pip install 'odradek[spark]' and Java 17 or newer.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=lambda _: print(parser.format_help()) or 0)
    actions = parser.add_subparsers(metavar="{run,plan,status}")
    _add_run(actions)
    _add_plan(actions)
    status = actions.add_parser("status", help="the pipelines that run on this machine, and how they stand")
    status.add_argument("--json", action="store_true", help="one object for each pipeline")
    status.set_defaults(run=_status)


def _add_run(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser("run", help="run a pipeline to its end or to Ctrl-C")
    parser.add_argument("file", metavar="FILE", help=_FILE_HELP)
    parser.add_argument("--master", default="local[*]", help="where Spark runs: local[*], spark://..., k8s://..., yarn")
    parser.add_argument("--once", action="store_true", help="end when everything that is there now is done")
    parser.add_argument("--json", action="store_true", help="one object for each batch, on standard output")
    parser.add_argument("--metrics-port", type=int, metavar="N", help="metrics for Prometheus on 127.0.0.1:N")
    parser.add_argument(
        "--spark-log",
        default="OFF",
        choices=("OFF", "ERROR", "WARN", "INFO"),
        help="what Spark itself says, on standard error (default: nothing)",
    )
    parser.set_defaults(run=_run)


def _add_plan(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser("plan", help="check a pipeline and show what would run; needs neither Spark nor Java")
    parser.add_argument("file", metavar="FILE", help=_FILE_HELP)
    parser.add_argument("--svg", metavar="FILE", help="draw the graph into this file")
    parser.add_argument("--dot", action="store_true", help="print the graph for Graphviz")
    parser.set_defaults(run=_plan)


def _run(options: argparse.Namespace) -> int:
    declaration = _declaration(options.file)
    from odradek.spark.errors import SourceError
    from odradek.spark.java import JavaMissingError
    from odradek.spark.pipeline.run_command import QueryFailedError, run_declaration

    with _told():
        try:
            run_declaration(
                declaration,
                master=options.master,
                once=options.once,
                as_json=options.json,
                metrics_port=options.metrics_port,
                spark_log=options.spark_log,
            )
        except (QueryFailedError, SourceError, JavaMissingError) as error:
            raise Refusal(str(error)) from None
    return 0


def _plan(options: argparse.Namespace) -> int:
    declaration = _declaration(options.file)
    from odradek.spark.pipeline.picture import dot, svg
    from odradek.spark.pipeline.plan import plan_text

    if options.svg is not None:
        try:
            with open(options.svg, "w", encoding="utf-8") as file:
                file.write(svg(declaration))
        except OSError as error:
            raise Failure(f"{options.svg}: {error.strerror}") from None
    if options.dot:
        print(dot(declaration))
    elif options.svg is None:
        print(plan_text(declaration))
    return 0


def _status(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from odradek.cli.client.table import show
    from odradek.spark.pipeline.state_files import running

    found = running()
    if options.json:
        show(options, [asdict(each) for each in found], {})
        return 0
    rows = [_row(each.pipeline, each.pid, each.started, query) for each in found for query in each.queries]
    headings = ("pipeline", "query", "state", "batch", "rows", "in/s", "lag", "pid", "since")
    if not rows:
        print("no pipeline runs here")
    else:
        show(options, rows, {name: name.upper() for name in headings})
    return 0


def _row(pipeline: str, pid: int, started: str, query: dict[str, object]) -> dict[str, object]:
    lag = query.get("lag")
    return {
        "pipeline": pipeline,
        "query": query.get("query"),
        "state": query.get("state"),
        "batch": query.get("batch"),
        "rows": query.get("total_rows"),
        "in/s": query.get("input_rate"),
        "lag": sum(lag.values()) if isinstance(lag, dict) else None,
        "pid": pid,
        "since": started,
    }


def _declaration(file: str) -> "Declaration":
    from odradek.spark.pipeline.loading import load

    with _told():
        try:
            return load(file)
        except OSError as error:
            raise Failure(f"{file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise Failure(f"{file}: this is no text in UTF-8") from None


@contextmanager
def _told() -> Iterator[None]:
    """Mistakes of the file, a line each; what is to be installed, in one line."""
    from odradek.spark.pipeline.mistakes import PipelineError

    try:
        yield
    except PipelineError as error:
        raise Failure(f"the pipeline cannot be run:\n{error}" if len(error.mistakes) > 1 else str(error)) from None
    except ImportError as error:
        raise Refusal(str(error)) from None
