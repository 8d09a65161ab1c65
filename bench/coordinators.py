"""Groups, offsets and transactions beside Apache Kafka in the same run.

    groups        members that heartbeat and commit at a given rate: how long the answers take, what it costs the broker
    transactions  as many as ten producers get through, one record each
    loading       a broker that starts with a million offsets in one partition, until it tells one of them; how long
                  another client waits for an answer at the worst meanwhile

Both brokers run all the time and take turns; the best of the rounds counts, because noise only ever makes a figure
worse. Kafka needs Java and Maven; without them only ours is shown. `python -m bench.coordinators --help` has options.
"""

import argparse
import threading
import time
from collections.abc import Callable

from bench import side_by_side
from bench.contenders import Contender
from bench.generators import Generators
from bench.side_by_side import Figure, Figures, Sheet
from bench.wire_client import LOOK_SECONDS, WireClient, create_topic, wait_until
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest

PORTS = (19094, 19095)
GROUP, TRANSACTION = 0, 1
GROUPS, MEMBERS, HEARTBEAT_MS, COMMITS_PER_SECOND = 1000, 5, 3000, 5000
PRODUCERS = 10
TOPIC, PARTITIONS = "coordinated", 100
LOADED_GROUPS = 10_000  # each with an offset in every partition of the topic
HEARTBEAT_P99_MS_MAX, LOADING_SECONDS_MAX, WAIT_MS_MAX = 50, 5, 50

FIGURES = {
    "heartbeat_p50": Figure("heartbeat", "ms p50"),
    "heartbeat_p99": Figure("heartbeat", "ms p99", bound=HEARTBEAT_P99_MS_MAX),
    "commit_p50": Figure("commit of an offset", "ms p50"),
    "commit_p99": Figure("commit of an offset", "ms p99"),
    "answered": Figure("heartbeats and commits answered", "1/s", higher=True),
    "refused": Figure("of them refused", "%"),
    "groups_cpu": Figure("each of them", "µs CPU"),
    "transactions": Figure(f"transactions of {PRODUCERS} producers", "1/s", higher=True),
    "transactions_cpu": Figure("each of them", "µs CPU"),
    "transactions_p50": Figure("each of them", "ms p50"),
    "start": Figure("start with 1,000,000 offsets, to the first answer", "s"),
    "loading": Figure("and from there until an offset is told", "s", bound=LOADING_SECONDS_MAX),
    "loading_cpu": Figure("start and loading together", "s CPU"),
    "wait": Figure("the longest another client waits meanwhile", "ms", bound=WAIT_MS_MAX),
}


def main(arguments: list[str] | None = None) -> None:
    arguments = arguments or []
    options = _options(arguments)

    def measure(sheet: Sheet) -> None:
        for part in options.parts.split(","):
            PARTS[part](sheet, options)

    side_by_side.run("bench.coordinators", arguments, options, FIGURES, measure)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.coordinators", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="of each figure and broker (2)")
    parser.add_argument("--seconds", type=float, default=20, help="of load in each (20)")
    parser.add_argument("--groups", type=int, default=GROUPS, help=f"of {MEMBERS} members each ({GROUPS})")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"only these, by comma: {', '.join(PARTS)}")
    side_by_side.add_options(parser)
    return parser.parse_args(arguments)


# Groups and transactions.


def _measure_live(sheet: Sheet, options: argparse.Namespace, part: str) -> None:
    measure = {"groups": _groups, "transactions": _transactions}[part]
    generators = Generators(sheet.root)
    contenders = [
        maker(sheet.root / f"{part}-data" / maker.__name__, port)
        for maker, port in zip(sheet.makers, PORTS, strict=False)
    ]
    try:
        for contender in contenders:
            contender.start()
            create_topic(contender.port, TOPIC, PARTITIONS)
            _find_coordinator(contender.port, GROUP if part == "groups" else TRANSACTION)
            measure(generators, contender, contender.warm_seconds, options)
        for number in range(options.rounds):
            for contender in contenders:
                sheet.note(contender, number, measure(generators, contender, options.seconds, options))
    finally:
        for contender in contenders:
            contender.remove()


def _groups(generators: Generators, contender: Contender, seconds: float, options: argparse.Namespace) -> Figures:
    shape = (options.groups, MEMBERS, HEARTBEAT_MS, COMMITS_PER_SECOND)
    result = generators.run("groups", contender.port, TOPIC, PARTITIONS, *shape, seconds, contender.pid)
    answered = result["heartbeats"] + result["commits"]
    figures = {
        f"{kind}_{quantile}": result[f"{kind}_{quantile}_us"] / 1000
        for kind in ("heartbeat", "commit")
        for quantile in ("p50", "p99")
    }
    figures["answered"] = answered / result["seconds"]
    figures["refused"] = result["refused"] / answered * 100
    figures["groups_cpu"] = result["broker_cpu"] / answered * 1e6
    return figures


def _transactions(generators: Generators, contender: Contender, seconds: float, options: argparse.Namespace) -> Figures:
    result = generators.run("transactions", contender.port, TOPIC, PRODUCERS, seconds, contender.pid)
    count = result["transactions"]
    return {
        "transactions": count / result["seconds"],
        "transactions_cpu": result["broker_cpu"] / count * 1e6,
        "transactions_p50": result["p50_us"] / 1000,
    }


def _find_coordinator(port: int, key_type: int) -> None:
    """Until the internal topic is there and all its partitions are led."""
    with WireClient(port) as client:
        for number in range(PARTITIONS):  # more keys than the topic has partitions
            request = FindCoordinatorRequest(key=f"key-{number}", key_type=key_type)
            wait_until(lambda request=request: client.ask(request, 2).error_code == 0)  # type: ignore[misc]


# Loading.


def _measure_loading(sheet: Sheet, options: argparse.Namespace) -> None:
    configs = {"offsets.topic.num.partitions": "1"}
    contenders = [
        maker(sheet.root / "loading-data" / maker.__name__, port, configs)
        for maker, port in zip(sheet.makers, PORTS, strict=False)
    ]
    try:
        for contender in contenders:
            contender.start()
            create_topic(contender.port, TOPIC, PARTITIONS)
            _find_coordinator(contender.port, GROUP)
            _commit_everything(contender.port)
            contender.stop()
        for number in range(options.rounds):
            for contender in contenders:
                sheet.note(contender, number, _load(contender))
                contender.stop()
    finally:
        for contender in contenders:
            contender.remove()


def _commit_everything(port: int) -> None:
    with WireClient(port) as client:
        for number in range(LOADED_GROUPS):
            partitions = [
                OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=number + index, committed_metadata=""
                )
                for index in range(PARTITIONS)
            ]
            request = OffsetCommitRequest(
                group_id=f"group-{number}",
                generation_id_or_member_epoch=-1,
                member_id="",
                topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
            )
            wait_until(lambda request=request: _is_taken(client.ask(request, 6)))  # type: ignore[misc]


def _is_taken(answer: OffsetCommitResponse) -> bool:
    """A coordinator may still be loading its empty partition."""
    return all(partition.error_code == 0 for partition in answer.topics[0].partitions)


def _load(contender: Contender) -> Figures:
    started = contender.start()
    waiting = _Waiting(contender.port)
    began = time.perf_counter()
    _until_told(contender.port, f"group-{LOADED_GROUPS - 1}", LOADED_GROUPS - 1)
    took = time.perf_counter() - began
    cpu = contender.cpu_seconds()
    return {"start": started, "loading": took, "loading_cpu": cpu, "wait": waiting.stop() * 1000}


def _until_told(port: int, group: str, offset: int) -> None:
    wanted = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
    request = OffsetFetchRequest(group_id=group, topics=wanted)

    def is_told() -> bool:
        answer = client.ask(request, 5)
        return answer.error_code == 0 and answer.topics[0].partitions[0].committed_offset == offset

    with WireClient(port) as client:
        wait_until(is_told)


class _Waiting:
    """Somebody who asks now and then for something small, and what was the longest wait."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_over = False
        self._longest = 0.0
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        with WireClient(self._port) as client:
            while not self._is_over:
                began = time.perf_counter()
                client.ask(ApiVersionsRequest(), 0)
                self._longest = max(self._longest, time.perf_counter() - began)
                time.sleep(LOOK_SECONDS)

    def stop(self) -> float:
        self._is_over = True
        self._thread.join()
        return self._longest


PARTS: dict[str, Callable[[Sheet, argparse.Namespace], None]] = {
    "groups": lambda *arguments: _measure_live(*arguments, part="groups"),
    "transactions": lambda *arguments: _measure_live(*arguments, part="transactions"),
    "loading": _measure_loading,
}


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
