"""Every request that Kafka's own classes have written, in every version that is served: each gets an answer.

Most of them ask for nonsense (topics called "ex", broker 1234): what counts is that none makes a handler fail.
"""

import gzip
import json
import socket
from pathlib import Path

import pytest

import differences
from behaviour_kit import PROPERTIES, codes
from odradek.handlers import table
from odradek.protocol import apis, registry, releases, whole
from odradek.protocol.json_form import to_json
from odradek.protocol.messages.header import RequestHeader
from started import broker
from wire_replay import CLOSED, SocketTarget

DATA = Path(__file__).parent / "data"
UNKNOWN_SERVER_ERROR = -1
PRODUCE = 0


def requests(release, kind):
    """(key, version, variant, body) of each request of such a listener that differs from the others."""
    seen = set()
    for version in ("4.3.0", "3.3.2"):
        with gzip.open(DATA / f"messages-{version}.jsonl.gz", "rt") as lines:
            for line in lines:
                row = json.loads(line)
                key = row.get("api_key")
                if row["type"] != "request" or (key, row["version"], row["hex"]) in seen:
                    continue
                if row["version"] in table.accepted(release, kind, key):
                    seen.add((key, row["version"], row["hex"]))
                    yield key, row["version"], row["variant"], bytes.fromhex(row["hex"])


def is_without_answer(key, version, body):
    """Produce with acks=0: the default of the field."""
    if key != PRODUCE:
        return False
    request = registry.request(key).decode(body, version)
    return request.acks == 0


CONFIG = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{controller}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("kind", [releases.BROKER, releases.CONTROLLER])
@pytest.mark.parametrize("release", releases.ALL, ids=lambda release: release.name)
def test_every_request_is_answered(release, kind, tmp_path):
    controller = free_port()
    config = tmp_path / "server.properties"
    config.write_text(CONFIG.format(controller=controller))
    answered = set()
    with broker(release.name, PROPERTIES, config) as address:
        port = controller if kind == releases.CONTROLLER else address[1]
        for key, version, variant, body in requests(release, kind):
            if not is_without_answer(key, version, body) and ask(port, key, version, variant, body) != CLOSED:
                answered.add((key, version))
    expected = {
        (key, version)
        for key in table.keys(kind)
        for version in table.accepted(release, kind, key)
        if key not in differences.CLOSING
    }
    assert answered >= expected, sorted(expected - answered)


def ask(port, key, version, variant, body):
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=7, client_id="every")
    target = SocketTarget("127.0.0.1", port)
    answer = target.ask(1, b"".join(header.encode(apis.by_key(key).request_header_version(version))) + body)
    target.close()
    what = f"{apis.by_key(key).message} {version} {variant}"
    if answer == CLOSED:
        assert key in differences.CLOSING, what
        return answer
    response = whole.decode_response(answer, key, version)[1]
    is_unknown = any(code == UNKNOWN_SERVER_ERROR for _, code in codes(to_json(response, version)))
    assert not is_unknown or key in differences.UNKNOWN_SERVER_ERROR, f"{what}: {response}"
    return response
