"""The one line of a query's failure that tells a person what to do, out of what Spark says about it."""

import re

_DECODING = re.compile(r"the source \S+: topic .+? partition \d+ offset \d+: .*")
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")
_PYTHON_ERROR = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*(?:Error|Exception|Loss|Warning|Exit|Interrupt)): (.+)$", re.MULTILINE
)
_OWN_WRAPPERS = (
    "StreamingQueryException",
    "Py4JException",
    "Py4JJavaError",
    "PythonException",
    "SparkException",
    "SparkRuntimeException",
)
_JAVA_ERROR = re.compile(
    r"^(?:Exception in thread \"[^\"]*\" |Caused by: )?((?:[\w$]+\.)*[\w$]*(?:Exception|Error)): (.+)$"
)
_BRACKETED = re.compile(r"^\s*\[[A-Z_.0-9]+\]\s*")


def failure_line(text: str) -> str:
    """A record that does not decode, else the last error of Python in it, else Spark's own first line."""
    decoding = _DECODING.search(text)
    if decoding is not None:
        return _SQL_STATE.sub("", decoding[0]).strip()
    errors = [match for match in _PYTHON_ERROR.finditer(text) if match[1] not in _OWN_WRAPPERS]
    if errors:
        return f"{errors[-1][1]}: {errors[-1][2].strip()}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _SQL_STATE.sub("", _BRACKETED.sub("", lines[0])) if lines else "no reason was given"


def java_reason(said: str) -> str | None:
    """The last error of Java in what it said while it was started."""
    found = [match for line in said.splitlines() if (match := _JAVA_ERROR.match(line.strip()))]
    return f"{found[-1][1].rpartition('.')[2]}: {found[-1][2]}" if found else None
