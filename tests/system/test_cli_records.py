"""Records written, read and copied on the command line, by processes, in pipes and on terminals, with a real broker."""

import json
import signal

import pytest

import outside
import started
from cli_shell import STEP_S_MAX, Shell, terminals
from odradek import AdminClient, TopicPartition

NOON_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def odradek(tmp_path_factory):
    with started.broker(properties={"log.retention.ms": -1}) as (host, port):  # the records are years old
        yield Shell(f"{host}:{port}", tmp_path_factory.mktemp("home"))


@pytest.fixture
def terminal(odradek):
    with terminals(odradek) as opened:
        yield opened


def test_written_and_read(odradek):
    odradek("topics", "create", "orders", "-p", "3")
    for number in range(6):  # the times go against the order of the partitions
        partition, at = str(number % 3), str(NOON_MS + 1000 * number)
        odradek("produce", "orders", f"order {number}", "-k", f"k{number}", "-p", partition, "--timestamp", at)
    written = odradek("produce", "orders", "-K:", "-H", "source=web", "-p", "0", "--offsets", input="a:one\nb:two\n")
    assert written == "orders:0 offset 2\norders:0 offset 3\n"

    everything = odradek("consume", "orders", "-e").splitlines()
    assert sorted(everything) == ["one", *(f"order {number}" for number in range(6)), "two"]
    assert odradek("consume", "orders:1,2", "--tail", "3") == "order 2\norder 4\norder 5\n", "merged by time"
    assert odradek("consume", "orders:0", "--from", "1", "--to", "3", "-f", "%o %k %s\\n") == "1 k3 order 3\n2 a one\n"
    assert odradek("consume", "orders", "-p", "0", "-n", "1", "--from", "-1") == "two\n"
    hour = ("--from", f"@{NOON_MS + 1000}", "--to", f"@{NOON_MS + 4000}")
    assert sorted(odradek("consume", "orders", *hour).splitlines()) == ["order 1", "order 2", "order 3"]
    assert odradek("consume", "orders", "-e", "--header", "source=w*", "--key", "a") == "one\n"
    assert odradek("consume", "orders", "-e", "--grep", "^order [05]$", "-p", "0", "-f", "%k{hex}|%T\\n") == (
        f"6b30|{NOON_MS}\n"
    )
    (row,) = odradek.json("topics", "offsets", "orders:1", "--at", f"@{NOON_MS + 2000}")
    assert (row["start"], row["end"], row["at"], row["newest_timestamp_ms"]) == (0, 2, 1, NOON_MS + 4000)
    odradek("topics", "trim", "orders:1", "--before", "1", "--execute")
    assert odradek("consume", "orders:1", "-e") == "order 4\n"


def test_what_is_printed_as_json_is_written_again_byte_for_byte(odradek, tmp_path):
    lines = [
        {"key": "k", "value": "text é\n", "headers": [["a", "1"], ["a", None], ["b", {"base64": "/w=="}]]},
        {"key": None, "value": {"base64": "AP/+"}, "headers": []},
        {"key": {"base64": "gA=="}, "value": None, "headers": []},
        {"key": "", "value": "", "headers": []},
    ]
    for number, line in enumerate(lines):
        line.update(topic="bytes", partition=number % 2, offset=number // 2, timestamp=NOON_MS + number)
    given = "".join(json.dumps(line) + "\n" for line in lines)
    odradek("topics", "create", "bytes", "bytes-again", "-p", "2")
    odradek("produce", "bytes", "--json", "--keep-partition", input=given)
    printed = odradek("consume", "bytes", "--tail", "9", "--json")
    assert [json.loads(line) for line in printed.splitlines()] == lines
    odradek("produce", "bytes-again", "--json", "--keep-partition", input=printed)
    again = odradek("consume", "bytes-again", "--tail", "9", "--json")
    assert again == printed.replace('"bytes"', '"bytes-again"')

    path = tmp_path / "raw"
    path.write_bytes(bytes(range(256)))
    odradek("produce", "bytes", "--file", str(path), "-k", "raw")
    escaped = odradek("consume", "bytes", "-e", "--key", "raw", "-f", "%s{escape}")
    odradek("produce", "bytes", "--escaped", "-k", "back", input=escaped)
    raw = outside.run(
        odradek.command("consume", "bytes", "-e", "--key", "back", "-f", "%s"), env=odradek.environment, text=False
    )
    assert raw.stdout == bytes(range(256))


def test_a_group_commits_when_it_is_told_to(odradek):
    odradek("topics", "create", "letters")
    odradek("produce", "letters", "a", "b", "c", "d")
    assert odradek("consume", "letters", "-g", "post", "-n", "2") == "a\nb\n"
    assert odradek("consume", "letters", "-g", "post", "--commit", "-n", "3") == "a\nb\nc\n"
    (row,) = odradek.json("groups", "lag", "post")
    assert (row["committed"], row["lag"]) == (3, 1)
    assert odradek("consume", "letters", "--from", "group:post", "-e") == "d\n"
    assert odradek("consume", "letters", "-g", "post", "--commit", "-e") == "d\n"
    odradek("wait", "--group", "post", "--timeout", "30")
    odradek("groups", "reset", "post", "--shift", "-2", "--execute")
    assert odradek("consume", "letters", "-g", "post", "-e") == "c\nd\n"
    assert odradek.refused("consume", "letters", "--from", "group:pst", "-e").endswith("did you mean post?")
    assert odradek.refused("consume", "leters", "-g", "post").endswith("did you mean letters?")


def test_a_share_group(odradek):
    odradek("topics", "create", "shared")
    odradek("produce", "shared", "a", "b", "c")
    with AdminClient(bootstrap_servers=odradek.bootstrap) as admin:
        admin.alter_share_group_offsets("sharers", {TopicPartition("shared", 0): 1}).raise_any()
    (shown,) = odradek.json("groups", "show", "sharers")
    assert (shown["kind"], shown["state"], shown["members"]) == ("share", "Empty", [])
    (row,) = odradek.json("groups", "lag", "sharers")
    assert (row["topic"], row["committed"], row["lag"]) == ("shared", 1, 2)
    assert odradek("groups", "list", "--kind", "share", "--names") == "sharers\n"


def lines_of(process, number):
    return [process.stdout.readline() for _ in range(number)]


def heed_interrupts():
    """A shell has its background jobs ignore SIGINT, and the tests may be one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def running(odradek, *arguments, **options):
    command = odradek.command(*arguments)
    return outside.Program(
        command,
        env=odradek.environment,
        stdout=outside.PIPE,
        stderr=outside.PIPE,
        preexec_fn=heed_interrupts,
        **options,
    )


def test_ctrl_c_while_records_are_awaited(odradek):
    odradek("topics", "create", "endless")
    odradek("produce", "endless", "a", "b")
    with running(odradek, "consume", "endless", "-g", "patient", "--commit") as process:
        assert lines_of(process, 2) == [b"a\n", b"b\n"]
        odradek("produce", "endless", "c")
        assert lines_of(process, 1) == [b"c\n"]
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=STEP_S_MAX)
    assert (process.returncode, error) == (130, b"")
    (row,) = odradek.json("groups", "lag", "patient")
    assert row["committed"] == 3, "what was printed is committed"
    assert odradek.json("groups", "show", "patient")[0]["state"] == "Empty", "it has left"


def test_a_reader_that_has_seen_enough(odradek):
    odradek("topics", "create", "river")
    odradek("produce", "river", "a", "b", "c")
    with running(odradek, "consume", "river") as process:
        assert lines_of(process, 1) == [b"a\n"]
        process.stdout.close()
        assert process.wait(STEP_S_MAX) == 0, "although no record comes that could not be written"
        assert process.stderr.read() == b""


def test_all_or_nothing(odradek):
    odradek("topics", "create", "accounts")
    odradek("produce", "accounts", "--transaction", "bank-1", "a", "b")
    broken = odradek.run("produce", "accounts", "--transaction", "bank-1", "--json", input='{"value": "c"}\nx\n')
    assert (broken.returncode, "line 2 is no JSON" in broken.stderr) == (2, True)
    assert odradek("consume", "accounts", "-e") == "a\nb\n"
    assert odradek("consume", "accounts", "--tail", "9") == "a\nb\n"
    (row,) = odradek.json("transactions", "show", "bank-1")
    assert row["state"] in ("CompleteAbort", "Empty")
    odradek("transactions", "abort", "bank-1", "--execute")


def test_a_copy(odradek, tmp_path):
    odradek("topics", "create", "here", "-p", "2", "--set", "retention.ms=-1")
    given = "".join(
        json.dumps(
            {"key": f"k{n}", "value": f"v{n}", "timestamp": NOON_MS + n, "headers": [["n", str(n)]], "partition": n % 2}
        )
        + "\n"
        for n in range(4)
    )
    odradek("produce", "here", "--json", "--keep-partition", input=given)
    assert odradek.json("copy", "here", "there", "--create", "--from", "+1") == [
        {"from": "here", "to": "there", "records": 2}
    ]
    copied = [json.loads(line) for line in odradek("consume", "there", "--tail", "9", "--json").splitlines()]
    assert [(each["key"], each["partition"], each["timestamp"], each["headers"]) for each in copied] == [
        ("k2", 0, NOON_MS + 2, [["n", "2"]]),
        ("k3", 1, NOON_MS + 3, [["n", "3"]]),
    ]
    assert odradek.json("topics", "show", "there")[0]["configs"] == {"retention.ms": "-1"}
    odradek("topics", "create", "narrow")
    assert "narrow has 1 partition" in odradek.refused("copy", "here", "narrow")
    odradek("copy", "here", "narrow", "--partition", "key", "--grep", "v[12]")
    assert odradek("consume", "narrow", "--tail", "9") == "v1\nv2\n"
    with started.broker(properties={"log.retention.ms": -1}) as (host, port):  # the records are years old
        odradek("copy", "here", "here", "--into-bootstrap", f"{host}:{port}", "--create")
        assert odradek("-b", f"{host}:{port}", "consume", "here", "--tail", "9") == "v0\nv1\nv2\nv3\n"


def test_what_is_typed_is_answered_with_partition_and_offset(odradek, terminal):
    odradek("topics", "create", "typed")
    screen = terminal("produce", "typed")
    screen.type("first\n")
    screen.until("typed:0 offset 0")
    screen.type("second\n")
    screen.until("typed:0 offset 1")
    assert screen.interrupt() == 130
    assert odradek("consume", "typed", "-e") == "first\nsecond\n"


def test_a_terminal_sees_nothing_that_could_hurt_it(odradek, terminal):
    odradek("topics", "create", "hostile")
    odradek("produce", "hostile", "--escaped", "\\x1b[31mred\\xff")
    screen = terminal("consume", "hostile")
    screen.until("\\x1b[31mred\\xff")
    assert "\x1b[31m" not in screen.text
    assert screen.interrupt() == 130


def test_how_fast_it_is(odradek):
    (written,) = odradek.json("bench", "produce", "scratch", "--create", "-n", "2500", "--size", "10")
    assert written["records"] == 2500
    assert written["records_per_s"] > 0
    (read,) = odradek.json("bench", "consume", "scratch")
    assert read["records"] == 2501, "with the one that was sent to be connected"
    odradek("topics", "create", "bare")
    assert "bare is empty" in odradek.refused("bench", "consume", "bare", status=2)


def test_what_cannot_be_written(odradek):
    assert odradek.refused("produce", "nowhere", "x").endswith("--create makes it")
    odradek("produce", "nowhere", "x", "--create")
    assert odradek("consume", "nowhere", "-n", "1") == "x\n"
    assert odradek.refused("produce", "nowhere", "x", "-p", "7", status=2).endswith("it has 1, counted from 0")
    assert "more than max.request.size" in odradek.refused("produce", "nowhere", input="x" * 3_000_000)
