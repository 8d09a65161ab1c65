"""Which executor scans plain batches: the compiled one, or its twin in `pure_batch_scan`, which has the words."""

from odradek import native
from odradek.log.segment.pure_batch_scan import scan_plain

_extension = native.load("odradek.log.segment._batch_scan")
if _extension is not None:
    scan_plain = _extension.scan_plain

__all__ = ["scan_plain"]
