"""What a node counts: meters, histograms and gauges on plain slots, under Kafka's names; text comes at scrape time."""

from odradek.metrics.histogram import Histogram
from odradek.metrics.meter import Counter, Meter
from odradek.metrics.registry import Registry

__all__ = ["Counter", "Histogram", "Meter", "Registry"]
