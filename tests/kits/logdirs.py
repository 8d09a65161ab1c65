"""The log dirs that real brokers left behind, unpacked where a test wants them."""

import gzip
import json
import tarfile
from pathlib import Path

from odradek.log import checkpoint

DATA = Path(__file__).parents[1] / "golden" / "data" / "logdirs"
CLEAN = ["kafka-3.3.2-kraft-clean", "kafka-3.3.2-zk-clean", "kafka-4.3.0-kraft-clean"]
UNCLEAN = ["kafka-3.3.2-kraft-unclean", "kafka-3.3.2-zk-unclean"]


def unpack(name, where):
    """The directory, as the broker left it."""
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        archive.extractall(where, filter="data")
    return Path(where) / name


def segments(name):
    """What Kafka itself reads in every segment file, by file."""
    with gzip.open(DATA / f"{name}.segments.jsonl.gz") as file:
        return {form["file"]: form for form in map(json.loads, file)}


def disk_files(name):
    """Every other file, parsed, by path."""
    with gzip.open(DATA.parent / "diskfiles.jsonl.gz") as file:
        return {form["path"]: form for form in map(json.loads, file) if form["dir"] == name}


def dump_text(name, what):
    """The output of kafka-dump-log, by file."""
    with gzip.open(DATA / f"{name}.dump-{what}.txt.gz", "rt") as file:
        text = file.read()
    found = {}
    for part in text.split("Dumping ./")[1:]:
        path, _, rest = part.partition("\n")
        found[path] = rest.splitlines()
    return found


def epochs_after_a_load(data, log_end_offset):
    """The file of leader epochs as loading leaves it: one that begins at the end of the log is cut off, as in Kafka."""
    entries = checkpoint.parse_epochs(data)
    kept = [(epoch, start) for epoch, start in entries if start < log_end_offset]
    return data if kept == entries else checkpoint.format_epochs(kept)
