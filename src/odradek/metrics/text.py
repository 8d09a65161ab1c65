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

Sample = tuple[str, str, str, Number]  # family, kind, labels, value


def prometheus_text(registry: Registry) -> bytes:
    now_ms = registry.mono_ms()
    families: dict[str, tuple[str, list[str]]] = {}
    for name, metric in registry:
        for family, kind, labels, value in _samples(name, metric, now_ms):
            lines = families.setdefault(family, (kind, []))[1]
            lines.append(f"{family}{labels} {_number(value)}\n")
    return "".join(_family(*entry) for entry in families.items()).encode()


def _family(family: str, kind_and_lines: tuple[str, list[str]]) -> str:
    kind, lines = kind_and_lines
    return f"# TYPE {family} {kind}\n" + "".join(lines)


def family_of(name: MetricName) -> str:
    parts = (name.group, name.type, name.name, name.attribute)
    return _NOT_IN_A_NAME.sub("_", "_".join(part for part in parts if part)).lower()


def _samples(name: MetricName, metric: Metric, now_ms: int) -> Iterator[Sample]:
    family, labels = family_of(name), _labels(name.tags)
    if isinstance(metric, Gauge):
        value = metric.read()
        if value is not None:
            yield family, "gauge", labels, value
    elif isinstance(metric, Histogram):
        yield from _histogram_samples(family, name, metric, now_ms)
    else:
        yield f"{family}_count", "counter", labels, metric.count
        if isinstance(metric, Meter):
            yield from _rate_samples(family, labels, metric, now_ms)


def _rate_samples(family: str, labels: str, meter: Meter, now_ms: int) -> Iterator[Sample]:
    rates = meter.rates(now_ms)
    yield f"{family}_meanrate", "gauge", labels, rates.mean
    yield f"{family}_oneminuterate", "gauge", labels, rates.one_minute
    yield f"{family}_fiveminuterate", "gauge", labels, rates.five_minutes
    yield f"{family}_fifteenminuterate", "gauge", labels, rates.fifteen_minutes


def _histogram_samples(family: str, name: MetricName, histogram: Histogram, now_ms: int) -> Iterator[Sample]:
    for quantile, value in zip(QUANTILES, histogram.quantiles(now_ms), strict=True):
        yield family, "gauge", _labels((*name.tags, ("quantile", str(quantile)))), value
    labels = _labels(name.tags)
    yield f"{family}_count", "counter", labels, histogram.count
    yield f"{family}_mean", "gauge", labels, histogram.mean
    yield f"{family}_min", "gauge", labels, histogram.minimum
    yield f"{family}_max", "gauge", labels, histogram.maximum
    yield f"{family}_stddev", "gauge", labels, histogram.deviation()


def _labels(tags: Iterable[tuple[str, str]]) -> str:
    pairs = [f'{_NOT_IN_A_NAME.sub("_", key)}="{value.translate(_ESCAPES)}"' for key, value in tags]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _number(value: Number) -> str:
    """Whole numbers as such: Prometheus reads both, people prefer these."""
    if isinstance(value, int):
        return str(int(value))
    return str(int(value)) if value.is_integer() else repr(value)
