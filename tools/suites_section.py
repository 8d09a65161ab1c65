"""The part of docs/compatibility.md about the suites of others, from what `tools/suites.py` has seen."""

from suite_table import KAFKA, REASONS, SUITES, Run, Suite, number, results, score

INTRO = """
## The test suites of others

Passed/failed/skipped, ours beside Apache Kafka of the same release. A suite runs against a fresh broker with the
configuration that its authors expect (`PROPERTIES` in `tools/suite_table.py`); a test of librdkafka's that fails is run
once more by itself. `make long` runs them all if
`ODRADEK_SUITES` names a directory with their scripts; `make interop` fetches kafka-python's and runs it every time.

"""
NOT_RUN = "not run"


def render() -> str:
    seen = results()
    heads = [f"ours, {release} | Kafka {KAFKA[release]}" for release in KAFKA]
    lines = [f"| | version | {' | '.join(heads)} | command |", "|---|---|" + ":-:|" * (2 * len(KAFKA)) + "---|"]
    lines += [_row(suite, seen.get(suite.name, {})) for suite in SUITES]
    return INTRO + "\n".join(lines) + "\n" + _failures(seen)


def _row(suite: Suite, seen: dict[str, dict[str, object]]) -> str:
    versions = dict.fromkeys(str(result["version"]) for result in seen.values())
    cells = [cell for release in KAFKA for cell in _cells(suite.runs.get(release), seen.get(release))]
    command = f"`tools/suites.py {suite.name}`"
    return f"| {suite.what} | {', '.join(versions)} | {' | '.join(cells)} | {command} |"


def _cells(run: Run | None, result: dict[str, object] | None) -> tuple[str, str]:
    if run is None:
        return "", ""
    return str(score(result)) if result else NOT_RUN, str(run.kafka)


def _failures(seen: dict[str, dict[str, dict[str, list[str]]]]) -> str:
    failed: dict[str, dict[str, None]] = {}
    for releases in seen.values():
        for release, result in releases.items():
            for test in result["failed_ids"]:
                failed.setdefault(test, {})[release] = None
    if not failed:
        return "\nNothing fails.\n"
    lines = [f"- `{test}` ({', '.join(where)}){_reason(test)}\n" for test, where in sorted(failed.items())]
    return "\nWhat fails against ours:\n\n" + "".join(lines)


def _reason(test: str) -> str:
    reason = REASONS.get(number(test))
    return f": {reason}" if reason else ""
