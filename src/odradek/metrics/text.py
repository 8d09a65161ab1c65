"""The registry as Prometheus reads it.

The names follow the usual rule of the JMX exporter: group, type and name of the bean joined by underscores, in lower
case; tags become labels; the attribute is the last part, except for a gauge's only one. docs/metrics.md has the table.
"""

import re
from collections.abc import Iterable, Iterator

from odradek.metrics.histogram import QUANTILES, Histogram
from odradek.metrics.meter import Meter
from odradek.metrics.registry import Gauge, Metric, MetricName, Number, Registry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_]+")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})

# The end of the family's name, the attribute of Kafka's bean, kind, labels, value.
Sample = tuple[str, str, str, str, Number]


def prometheus_text(registry: Registry) -> bytes:
    from odradek.metrics.help import help_text  # a table that a broker without a scraper does without

    now_ms = registry.mono_ms()
    families: dict[str, list[str]] = {}
    for name, metric in registry:
        base = family_of(name)
        for ending, attribute, kind, labels, value in _samples(name, metric, now_ms):
            family = base + ending
            lines = families.get(family)
            if lines is None:
                told = help_text(name, attribute)
                lines = families[family] = [f"# HELP {family} {told}\n# TYPE {family} {kind}\n"]
            lines.append(f"{family}{labels} {_number(value)}\n")
    return "".join(line for lines in families.values() for line in lines).encode()


def family_of(name: MetricName) -> str:
    parts = (name.group, name.type, name.name, name.attribute)
    return _NOT_IN_A_NAME.sub("_", "_".join(part for part in parts if part)).lower()


def _samples(name: MetricName, metric: Metric, now_ms: int) -> Iterator[Sample]:
    labels = _labels(name.tags)
    if isinstance(metric, Gauge):
        value = metric.read()
        if value is not None:
            yield "", "Value", "gauge", labels, value
    elif isinstance(metric, Histogram):
        yield from _histogram_samples(name, labels, metric, now_ms)
    else:
        yield "_count", "Count", "counter", labels, metric.count
        if isinstance(metric, Meter):
            yield from _rate_samples(labels, metric, now_ms)


def _rate_samples(labels: str, meter: Meter, now_ms: int) -> Iterator[Sample]:
    rates = meter.rates(now_ms)
    yield "_meanrate", "MeanRate", "gauge", labels, rates.mean
    yield "_oneminuterate", "OneMinuteRate", "gauge", labels, rates.one_minute
    yield "_fiveminuterate", "FiveMinuteRate", "gauge", labels, rates.five_minutes
    yield "_fifteenminuterate", "FifteenMinuteRate", "gauge", labels, rates.fifteen_minutes


def _histogram_samples(name: MetricName, labels: str, histogram: Histogram, now_ms: int) -> Iterator[Sample]:
    for quantile, value in zip(QUANTILES, histogram.quantiles(now_ms), strict=True):
        yield "", "Percentile", "gauge", _labels((*name.tags, ("quantile", str(quantile)))), value
    yield "_count", "Count", "counter", labels, histogram.count
    yield "_mean", "Mean", "gauge", labels, histogram.mean
    yield "_min", "Min", "gauge", labels, histogram.minimum
    yield "_max", "Max", "gauge", labels, histogram.maximum
    yield "_stddev", "StdDev", "gauge", labels, histogram.deviation()


def _labels(tags: Iterable[tuple[str, str]]) -> str:
    pairs = [f'{_NOT_IN_A_NAME.sub("_", key)}="{value.translate(_ESCAPES)}"' for key, value in tags]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _number(value: Number) -> str:
    """A number as text, whole ones without a point: Prometheus reads both, people prefer these."""
    if isinstance(value, int):
        return str(int(value))
    return str(int(value)) if value.is_integer() else repr(value)
