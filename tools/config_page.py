"""docs/configs.md: every config with its type, default and meaning, and whether it is served."""

from collections import Counter
from collections.abc import Callable

from odradek.config import admin, broker, client_metrics, consumer, group, producer, quotas, share_consumer, topic
from odradek.config.definition import RELEASES, Definition, Table
from odradek.config.reasons import AT_START_ONLY, REFUSED, WARNED
from odradek.config.types import text_of

TABLES = (
    ("Broker and controller", broker.TABLE),
    ("Topic", topic.TABLE),
    ("Group", group.TABLE),
    ("Client metrics subscription", client_metrics.TABLE),
    ("Producer", producer.TABLE),
    ("Consumer", consumer.TABLE),
    ("Share consumer", share_consumer.TABLE),
    ("Admin client", admin.TABLE),
    ("Quotas of users and clients", quotas.USER),
    ("Quotas of addresses", quotas.IP),
    ("Rates of a running broker", quotas.BROKER),
)

HEAD = """# Configs

Made by `make pages` from the tables in `src/odradek/config/`; do not edit it.

Every config of Kafka 3.3 and 4.3, under Kafka's own names. The release profile of the cluster decides which of them
exist and which default holds. Where the two differ, the value of 4.3 comes first and that of 3.3 after it. The last
words of a row say what becomes of it:

- *served*: it is honoured, in the file and, where it can be changed at run time, there as well; *served in part* says
  which values are not;
- *no effect*: it is accepted, and why it does nothing. Set to something else than its default it is a warning when the
  node starts, in these words, and in the server log when it is set at run time;
- *refused*: it asks for protection that is not there. The node does not start with it, and a running one does not take
  it, because whoever sets it would believe to be safe. Of `ssl.` and `sasl.` configs this holds where a listener of
  that kind would need them; elsewhere they have no effect.

Secrets (PASSWORD) are never shown in a log or an answer.

A file is read in Java's `.properties` syntax and checked against the table of its kind:

```python
from odradek.config import properties, topic

text = b"retention.ms=86400000\\ncleanup.policy=compact\\n"  # of a file
config = topic.TABLE.parse(properties.load(text, "topic.properties"), release="4.3")
config["retention.ms"]  # 86400000: typed
config["segment.bytes"]  # 1073741824: the default of the release
config.warnings  # names that no config has; a bad value is a ConfigError that names key, value and what is allowed
```
"""


def render() -> str:
    parts = [HEAD]
    for title, table in TABLES:
        parts.append(f"\n## {title}\n")
        parts.append(_served(table))
        parts += [_row(row) for row in sorted(table.rows.values(), key=lambda row: row.name)]
        if table.companions:
            parts.append("\nRead from the same file, though no part of Kafka's table:\n")
            listed = [row for row in table.companions.values() if row.name not in table.rows]
            parts += [_row(row) for row in listed]
    return "\n".join(parts) + "\n"


def _served(table: Table) -> str:
    kinds = Counter(None if row.not_served is None else row.not_served.kind for row in table.rows.values())
    return (
        f"{len(table.rows)} configs: {kinds[None] + kinds[AT_START_ONLY]} served, {kinds[WARNED]} without effect, "
        f"{kinds[REFUSED]} refused.\n"
    )


def _row(row: Definition) -> str:
    facts = [_both(row, _type), _both(row, _default)]
    if valid := _both(row, _valid):
        facts.append(valid)
    facts.append(f"importance {row.importance.lower()}")
    if row.update_mode is not None:
        facts.append(_both(row, lambda one: str(one.update_mode)))
    if len(row.releases) == 1:
        facts.append(f"only {row.releases[0]}")
    if row.internal:
        facts.append("internal")
    if row.synonyms:
        facts.append("falls back on " + ", ".join(f"`{synonym.name}`" for synonym in row.synonyms))
    return f"- **`{row.name}`**: {row.doc} *{'; '.join(facts)}; {_becomes(row)}*"


def _becomes(row: Definition) -> str:
    reason = row.not_served
    if reason is None:
        return "served" if row.partly is None else f"served in part: {row.partly}"
    kinds = {WARNED: "no effect", REFUSED: "refused", AT_START_ONLY: "served at the start"}
    return f"{kinds[reason.kind]}: {reason.text}"


def _both(row: Definition, fact: Callable[[Definition], str]) -> str:
    """The fact in 4.3, and in 3.3 where it was another."""
    now, before = fact(row.at(row.releases[-1])), fact(row.at(row.releases[0]))
    if now == before or len(row.releases) < len(RELEASES):
        return now
    return f"{now or 'any value'} (3.3: {before or 'any value'})"


def _type(row: Definition) -> str:
    return row.type.name.lower()


def _default(row: Definition) -> str:
    if row.is_required:
        return "required"
    text = text_of(row.default)
    return "default null" if text is None else f"default `{text}`" if text else "default empty"


def _valid(row: Definition) -> str:
    text = row.validator.text
    if not text or len(text) > 200:
        return ""
    return f"valid `{text}`"
