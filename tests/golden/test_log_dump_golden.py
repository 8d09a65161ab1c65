"""`odradek log dump` of dirs that Kafka wrote: JSON record for record, text with every fact of Kafka's own dump."""

import json
import re

import pytest

from logdirs import CLEAN, UNCLEAN, disk_files, dump_text, segments, unpack
from odradek.cli.main import main

RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) (?P<time>\w+): (?P<timestamp>-?\d+) keySize: (?P<key_size>-?\d+) "
    r"valueSize: (?P<value_size>-?\d+) sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<headers>.*?)\](?P<rest>.*)",
    re.DOTALL,
)
BATCH = re.compile(r"(\w+): (\S+)")
OUR_BATCH = [
    *("position", "baseOffset", "lastOffset", "count", "size", "magic", "compresscodec", "time", "timestamp"),
    *("partitionLeaderEpoch", "producerId", "producerEpoch", "baseSequence", "lastSequence", "crc", "flags"),
]
OUR_RECORD = re.compile(r"offset=(\d+) (\w+)=(-?\d+)(?: sequence=(\d+))?(.*)", re.DOTALL)


DUMPS = [
    *((name, what) for name in CLEAN for what in ("data", "offsets", "txn")),
    *((name, "metadata") for name in CLEAN if "kraft" in name),
    ("kafka-4.3.0-kraft-clean", "share"),
]


@pytest.fixture(scope="module")
def log_dirs(tmp_path_factory):
    where = tmp_path_factory.mktemp("logdirs")
    return {name: unpack(name, where) for name in CLEAN + UNCLEAN}


def run(capsys, *arguments):
    capsys.readouterr()
    status = main(["log", "dump", *map(str, arguments)])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("name", CLEAN + UNCLEAN)
def test_json_of_a_directory_is_record_for_record_what_kafka_reads(name, log_dirs, capsys):
    status, out = run(capsys, log_dirs[name], "--json")
    ours = [json.loads(line) for line in out.splitlines()]
    expected = segments(name)
    assert status == 0
    assert sorted(form["file"] for form in ours) == sorted(expected)
    for form in ours:
        assert form == expected[form["file"]]
        assert list(form) == ["file", "size", "batches"]


@pytest.mark.parametrize("name", CLEAN + UNCLEAN)
def test_json_of_every_other_file_has_the_listed_entries(name, log_dirs, capsys):
    _, out = run(capsys, log_dirs[name], "--json", "--all")
    ours = {form["file"]: form for form in map(json.loads, out.splitlines()) if "batches" not in form}
    compared = 0
    for path, listed in disk_files(name).items():
        if path.endswith(".checkpoint") or path == ".lock":
            continue
        for field in ("size", "entries", "zero_tail", "parsed", "text"):
            if field in listed:
                assert ours[path][field] == listed[field], (path, field)
                compared += 1
    assert compared > 150


def our_batches(lines):
    """Table lines and the record lines below each of them."""
    for line in lines:
        if re.match(r"  +\d", line):
            cells = dict(zip(OUR_BATCH, line.split(), strict=True))
            yield {name: -1 if cell == "-" and name != "flags" else cell for name, cell in cells.items()}, []


def text_by_file(out):
    files, current = {}, None
    for line in out.splitlines():
        if not line.startswith(" "):
            current = files.setdefault(line.partition(": ")[0], [])
        else:
            current.append(line)
    return files


def kafka_batches(lines):
    return [dict(BATCH.findall(line)) for line in lines if line.startswith("baseOffset: ")]


def kafka_records(lines):
    """Payloads may hold line breaks: a line that begins nothing belongs to the record before it."""
    text = "\n".join(lines).partition("\nNon-consecutive offsets in ")[0]
    parts = re.split(r"\n(?=\| |baseOffset: )", "\n" + text)
    return [RECORD.match(part.rstrip("\n")) for part in parts if part.lstrip("\n").startswith("| offset: ")]


@pytest.mark.parametrize("name, what", DUMPS)
def test_text_has_every_fact_of_every_batch(name, what, log_dirs, capsys):
    dumped = dump_text(name, what)
    _, out = run(capsys, log_dirs[name])
    ours = text_by_file(out)
    compared = 0
    for path, lines in dumped.items():
        theirs = kafka_batches(lines)
        mine = [cells for cells, _ in our_batches(ours[path])]
        assert len(mine) == len(theirs), path
        for cells, facts in zip(mine, theirs, strict=True):
            for fact in OUR_BATCH:
                if fact in facts:
                    assert str(cells[fact]) == facts[fact], (path, fact)
            assert facts[cells["time"]] == cells["timestamp"]
            assert ("transactional" in cells["flags"]) == (facts["isTransactional"] == "true")
            assert ("control" in cells["flags"]) == (facts["isControl"] == "true")
            assert ("INVALID" in cells["flags"]) == (facts["isvalid"] == "false")
            compared += 1
    assert compared


def our_records(lines):
    return [OUR_RECORD.match(line.strip()) for line in lines if line.startswith("      offset=")]


def shown(text):
    """A key or value as Kafka prints it: text, with a sign for what is no text."""
    if text == "null":
        return None
    return bytes.fromhex(text[2:]).decode("utf-8", "replace") if text.startswith("0x") else json.loads(text)


def our_payload(rest):
    found = re.fullmatch(
        r' key=(null|0x\w*|"(?:[^"\\]|\\.)*") value=(null|0x\w*|"(?:[^"\\]|\\.)*")(?: headers=.*)?', rest
    )
    return shown(found[1]), shown(found[2])


@pytest.mark.parametrize("name", CLEAN)
def test_text_has_every_record_with_key_and_value(name, log_dirs, capsys):
    _, out = run(capsys, log_dirs[name], "--records")
    ours = text_by_file(out)
    compared = 0
    for path, lines in dump_text(name, "data").items():
        for mine, theirs in zip(our_records(ours[path]), kafka_records(lines), strict=True):
            assert mine[1] == theirs["offset"]
            assert (mine[2], mine[3]) == (theirs["time"], theirs["timestamp"])
            assert (mine[4] or "-1") == theirs["sequence"]
            for header in filter(None, theirs["headers"].split(",")):
                assert f'"{header}": ' in mine[5]
            assert_same_payload(mine[5], theirs["rest"])
            compared += 1
    assert compared > 500


def assert_same_payload(ours, theirs):
    if "endTxnMarker" in theirs:
        marker = re.fullmatch(r" endTxnMarker: (\w+) coordinatorEpoch: (\d+)", theirs)
        assert ours == f" control_type={marker[1]} coordinator_epoch={marker[2]}"
        return
    key, value = our_payload(ours)
    text = "" if key is None else f" key: {key}"
    text += "" if value is None else f" payload: {value}"
    assert theirs == text


@pytest.mark.parametrize("what, decode", [("offsets", "offsets"), ("txn", "transactions"), ("share", "share")])
def test_decoded_keys_and_values_are_those_of_kafka_4(what, decode, log_dirs, capsys):
    name = "kafka-4.3.0-kraft-clean"
    _, out = run(capsys, log_dirs[name], "--decode", decode)
    ours = text_by_file(out)
    compared = 0
    for path, lines in dump_text(name, what).items():
        for mine, theirs in zip(our_records(ours[path]), kafka_records(lines), strict=True):
            if "endTxnMarker" in theirs["rest"]:
                continue
            key, value = re.fullmatch(r" key: (.*?) payload: (.*)", theirs["rest"]).groups()
            ours_key, ours_value = re.fullmatch(r" key=(.*?) value=(.*)", mine[5]).groups()
            assert json.loads(ours_key) == json.loads(key)
            assert json.loads(ours_value) == (None if value == "<DELETE>" else json.loads(value))
            compared += 1
    assert compared


@pytest.mark.parametrize("name", [name for name in CLEAN if "kraft" in name])
def test_decoded_metadata_records_are_those_of_kafka(name, log_dirs, capsys):
    _, out = run(capsys, log_dirs[name], "--decode", "metadata")
    ours = text_by_file(out)
    compared = 0
    for path, lines in dump_text(name, "metadata").items():
        theirs = [json.loads(line.split("payload: ", 1)[1]) for line in lines if "payload: " in line]
        mine = [
            json.loads(found[5].split("value=", 1)[1])
            for found in our_records(ours[path])
            if "control_type" not in found[5]
        ]
        assert mine == theirs, path
        compared += len(mine)
    assert compared > 100


@pytest.mark.parametrize("name", [name for name in CLEAN if "3.3.2" in name])
def test_decoded_commits_and_transactions_agree_with_kafka_3(name, log_dirs, capsys):
    """3.3 prints them in words of its own."""
    _, out = run(capsys, log_dirs[name], "--decode", "offsets")
    decoded = decoded_by_place(out)
    states = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"]
    commits = 0
    for place, rest in kafka_by_place(name, "offsets"):
        found = re.match(
            r" key: offset_commit::group=(.*),partition=(.*)-(\d+) payload: offset=(\d+)(?:,metadata=(.*))?", rest
        )
        if found:
            key, value = decoded[place]
            assert key["data"] == {"group": found[1], "topic": found[2], "partition": int(found[3])}
            assert (value["data"]["offset"], value["data"]["metadata"]) == (int(found[4]), found[5] or "")
            commits += 1
    assert commits > 3
    _, out = run(capsys, log_dirs[name], "--decode", "transactions")
    decoded = decoded_by_place(out)
    transactions = 0
    for place, rest in kafka_by_place(name, "txn"):
        found = re.match(
            r" key: transaction_metadata::transactionalId=(.*) "
            r"payload: producerId:(\d+),producerEpoch:(\d+),state=(\w+),",
            rest,
        )
        key, value = decoded[place]
        assert key["data"] == {"transactionalId": found[1]}
        assert (value["data"]["producerId"], value["data"]["producerEpoch"]) == (int(found[2]), int(found[3]))
        assert states[value["data"]["transactionStatus"]] == found[4]
        transactions += 1
    assert transactions > 30


def kafka_by_place(name, what):
    for path, lines in dump_text(name, what).items():
        for found in kafka_records(lines):
            yield (path, found["offset"]), found["rest"]


def decoded_by_place(out):
    found = {}
    for path, lines in text_by_file(out).items():
        for record in our_records(lines):
            parts = re.fullmatch(r" key=({.*?}) value=(.*)", record[5])
            if parts:
                found[path, record[1]] = json.loads(parts[1]), json.loads(parts[2])
    return found


@pytest.mark.parametrize("name", CLEAN)
def test_text_has_every_entry_of_indexes_and_snapshots(name, log_dirs, capsys):
    _, out = run(capsys, log_dirs[name])
    ours = text_by_file(out)
    compared = 0
    for path, lines in dump_text(name, "indexes").items():
        rows = [line.split() for line in ours.get(path, []) if re.match(r"\s+-?\d", line)]
        theirs = [dict(re.findall(r"(\w+): (\S+)", line)) for line in entries_of(lines)]
        for facts in theirs:
            facts.pop("firstSequence", None)  # follows from the last one and the delta
            wanted = [value for value in facts.values() if value.isdigit()]
            assert any(all(word in row for word in wanted) for row in rows), (path, facts)
            compared += 1
    assert compared > 50


def entries_of(lines):
    """Up to the complaints, which Kafka 3.3 makes of its own time indexes: an entry may name any offset of a batch."""
    for line in lines:
        if line.startswith("The following "):
            return
        if line.strip():
            yield line
