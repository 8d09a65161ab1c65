"""The same figures for Prometheus: text over HTTP on this machine's own address alone."""

import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from odradek.spark.pipeline.progress_view import RUNNING, QueryView

_FAMILIES: tuple[tuple[str, str, str, Callable[[QueryView], float]], ...] = (
    ("up", "gauge", "Whether the query runs.", lambda view: int(view.state == RUNNING)),
    ("input_rows_total", "counter", "Rows that were read.", lambda view: view.total_rows),
    (
        "input_rows_per_second",
        "gauge",
        "Rows per second that came in, in the last batch.",
        lambda view: view.input_rate,
    ),
    ("processed_rows_per_second", "gauge", "Rows per second that were worked on.", lambda view: view.processed_rate),
    ("batch_id", "gauge", "The number of the last batch.", lambda view: -1 if view.batch is None else view.batch),
    ("batch_milliseconds", "gauge", "How long the last batch took.", lambda view: view.batch_ms),
    ("state_rows", "gauge", "Rows that the query keeps as its state.", lambda view: view.state_rows),
)
_PREFIX = "odradek_pipeline_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_text(pipeline: str, views: Sequence[QueryView]) -> str:
    lines = []
    for name, kind, told, value in _FAMILIES:
        lines += [f"# HELP {_PREFIX}{name} {told}", f"# TYPE {_PREFIX}{name} {kind}"]
        lines += [f"{_PREFIX}{name}{_labels(pipeline=pipeline, query=view.query)} {value(view)}" for view in views]
    lines += [f"# HELP {_PREFIX}lag Offsets that are not read yet.", f"# TYPE {_PREFIX}lag gauge"]
    for view in views:
        for topic, offsets in sorted(view.lag.items()):
            lines.append(f"{_PREFIX}lag{_labels(pipeline=pipeline, query=view.query, topic=topic)} {offsets}")
    lines += [f"# HELP {_PREFIX}batch_part_milliseconds Where the time of the last batch went."]
    lines += [f"# TYPE {_PREFIX}batch_part_milliseconds gauge"]
    for view in views:
        for part, ms in view.parts_ms.items():
            lines.append(
                f"{_PREFIX}batch_part_milliseconds{_labels(pipeline=pipeline, query=view.query, part=part)} {ms}"
            )
    return "\n".join([*lines, ""])


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """Answers /metrics on 127.0.0.1 while it is open; port 0 is any that is free."""

    def __init__(self, port: int, text: Callable[[], str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                is_known = self.path.split("?")[0] in ("/metrics", "/")
                body = text().encode() if is_known else b"there is /metrics\n"
                self.send_response(200 if is_known else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that it overrides
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
