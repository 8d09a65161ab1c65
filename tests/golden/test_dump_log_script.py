"""`kafka-dump-log.sh` against what Kafka's DumpLogSegments printed of the same dir; 3.3.2 and 4.3.0 print the same."""

import contextlib
import gzip
import io
import tarfile

import pytest

from odradek.cli.kafka.dump_log import main
from script_story import TRANSCRIPTS

LOG_DIRS = TRANSCRIPTS.parent / "logdirs"
DIR = "kafka-3.3.2-kraft-clean"


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    path = tmp_path_factory.mktemp("dir")
    with tarfile.open(LOG_DIRS / f"{DIR}.tar.gz") as archive:
        archive.extractall(path, filter="data")
    return path / DIR


def told_by_kafka():
    with gzip.open(LOG_DIRS / f"{DIR}.dump-data.txt.gz", "rt", encoding="utf-8", newline="\n") as file:
        return file.read()


def test_segments_are_printed_as_kafkas_tool_prints_them(there, monkeypatch):
    monkeypatch.chdir(there)
    wanted = told_by_kafka()
    files = [line.removeprefix("Dumping ") for line in wanted.split("\n") if line.startswith("Dumping ")]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["--print-data-log", "--files", ",".join(files)]) == 0
    assert out.getvalue().split("\n") == wanted.split("\n")


def test_a_file_that_is_not_there_is_one_line(capsys):
    assert main(["--files", "/nowhere/00000000000000000000.log"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
