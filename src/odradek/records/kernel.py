"""The hot loops over record batches: compiled where the extensions are there, else their pure-Python twins.

    read    check_records   every record of one section, for a broker that is about to append it
            check_batch     header, crc and records of a batch as nearly every producer sends it
            scan_run        a run of plain batches into Rows; scan_records does one section
            gather          Rows into buffers of Arrow's layout; locate_headers finds what to gather for headers
    write   encode_batches  columns of Arrow's layout into batches
            RecordsWriter   one batch, record by record

The twins are the specification: the same values, the same errors with the same words, for any bytes at all. Type
checkers see the twins; what serves is decided here, once.
"""

from odradek import native
from odradek.records.pure_encode import RecordsWriter, encode_batches
from odradek.records.pure_gather import gather, locate_headers
from odradek.records.pure_walk import INT64_MIN, RecordsSummary, check_batch, check_records, scan_records, scan_run

__all__ = [
    "INT64_MIN",
    "RecordsSummary",
    "RecordsWriter",
    "check_batch",
    "check_records",
    "encode_batches",
    "gather",
    "locate_headers",
    "scan_records",
    "scan_run",
]

COMPILED = {
    "odradek.records._kernel": ("RecordsSummary", "check_batch", "check_records", "scan_records", "scan_run"),
    "odradek.records._gather": ("gather", "locate_headers"),
    "odradek.records._encode": ("RecordsWriter", "encode_batches"),
}

for _module, _names in COMPILED.items():
    _extension = native.load(_module)
    if _extension is not None:
        globals().update({name: getattr(_extension, name) for name in _names})
