"""What a user of the Spark format meets when something is wrong: one line each, which says what to do."""

from odradek.protocol.topic_partition import TopicPartition


class SparkOptionError(ValueError):
    """An option that cannot be used: its name, the value, and what to give instead."""

    def __init__(self, option: str, value: object, advice: str) -> None:
        super().__init__(f"option {option}={value}: {advice}" if value is not None else f"option {option}: {advice}")
        self.option = option
        self.value = value
        self.advice = advice

    def __reduce__(self) -> tuple[type, tuple[str, object, str]]:
        return type(self), (self.option, self.value, self.advice)


class SourceError(RuntimeError):
    """Topics that cannot be read as they were asked for: missing, unreachable, or with other partitions."""


class DataLossError(SourceError):
    """Records that were asked for are not in the log (any more), and failOnDataLoss is true."""


def about(place: TopicPartition) -> str:
    return f"topic {place.topic} partition {place.partition}"


class SinkColumnError(ValueError):
    """Columns that cannot be written: which, and what they should be."""


class SinkError(RuntimeError):
    """Rows that were not written: where, and why."""
