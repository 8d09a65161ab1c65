"""docs/spark-options.md: the table of options of format("odradek"), from the table that checks them."""

from odradek.spark.options import OPTIONS, READING, WRITING, Option
from odradek.spark.source.rules import LATEST

HEAD = """\
# The options of `format("odradek")`

Made by `make pages` from `src/odradek/spark/options.py`; do not edit it. [spark.md](spark.md) tells how to use
them.

Names are read without regard to case. Any other name is an error, with a suggestion. `kafka.NAME` is Kafka's own config
`NAME` for the clients ([configs.md](configs.md)); `kafka.bootstrap.servers` has to be given.

| option | for | default | meaning |
|---|---|---|---|
"""


def render() -> str:
    return HEAD + "".join(
        f"| `{each.name}` | {_uses(each)} | {_default(each)} | {each.meaning} |\n" for each in OPTIONS
    )


def _uses(option: Option) -> str:
    if option.uses == READING:
        return "reading"
    return "writing" if option.uses == WRITING else ", ".join(sorted(option.uses))


def _default(option: Option) -> str:
    value = "latest" if option.default == LATEST else option.default
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
