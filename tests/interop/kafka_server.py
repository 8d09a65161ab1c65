"""A real Apache Kafka on a directory that is there already."""

import contextlib
import time

import kafka_tools

import outside
from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from wire_replay import CLOSED, SocketTarget

START_SECONDS_MAX = 90  # after a kill a Kafka waits for the end of its own session
STOP_SECONDS_MAX = 60


@contextlib.contextmanager
def kafka(version, properties, port, *, ends="SIGTERM"):
    """Yields when it answers; at the end it is asked to stop, or killed."""
    with started(version, properties) as (process, output):
        _wait_until_it_answers(process, port, output)
        yield process
        process.kill() if ends == "SIGKILL" else process.terminate()
        process.wait(timeout=STOP_SECONDS_MAX)


@contextlib.contextmanager
def started(version, properties):
    """Its process, which is gone at the end, and the file with what it says."""
    output = properties.with_suffix(".kafka.out")
    command = [*kafka_tools.java(version, megabytes=512), "kafka.Kafka", str(properties)]
    with open(output, "wb") as log, outside.Program(command, stdout=log, stderr=log) as process:
        yield process, output


def _wait_until_it_answers(process, port, output):
    header = RequestHeader(request_api_key=18, request_api_version=3, correlation_id=1, client_id="wait")
    request = ApiVersionsRequest(client_software_name="wait", client_software_version="1")
    frame = b"".join(whole.encode_request(header, request))
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        assert process.poll() is None, output.read_text()[-4000:]
        target = SocketTarget("127.0.0.1", port, timeout_s=START_SECONDS_MAX)
        try:
            if target.ask(1, frame) != CLOSED:
                return
        except ConnectionRefusedError:
            time.sleep(0.1)
        finally:
            target.close()
    raise AssertionError(f"Kafka did not answer: {output.read_text()[-4000:]}")
