"""kcat through every scenario that it has: -P, -C -p, -L and -Q.

It cannot create topics, so it lets the broker do it: the topics here have `num.partitions` partitions, of which a story
that asks for one uses the first.

A kcat stays in the process group of this program, which whoever runs it ends as a whole.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

from report import PASSWORD, USER, Where, run
from stories import Failed, Record, Stories, equal

SECONDS_MAX = 60
LOG_BYTES_MAX = 1 << 20
FAILURES = {
    "Message size too large": "MESSAGE_TOO_LARGE",
    "SASL authentication error": "SASL_AUTHENTICATION_FAILED",
}


class Kcat:
    name = "kcat"

    def __init__(self, where):
        self.where = where
        self._partitions = {}

    def _at(self, listener, password=PASSWORD):
        options = ["-b", self.where.addresses[listener]]
        if "ssl" in listener:
            options += ["-X", f"ssl.ca.location={self.where.ca}"]
        if "sasl" in listener:
            options += ["-X", "sasl.mechanism=PLAIN", "-X", f"sasl.username={USER}", "-X", f"sasl.password={password}"]
        protocols = {"plaintext": "PLAINTEXT", "ssl": "SSL", "sasl": "SASL_PLAINTEXT", "sasl_ssl": "SASL_SSL"}
        return [*options, "-X", f"security.protocol={protocols[listener]}"]

    def _run(self, *arguments, stdin=b""):
        done = subprocess.run(["kcat", *arguments], input=stdin, capture_output=True, timeout=SECONDS_MAX)
        complaint = done.stderr.decode()
        for text, name in FAILURES.items():
            if text in complaint:
                raise Failed(name)
        assert done.returncode == 0, complaint
        return done.stdout

    # Records

    def create_topic(self, name, partitions, configs):
        self._partitions[name] = partitions

    def produce(
        self, topic, records, codec="none", idempotent=False, acks="all", listener="plaintext", password=PASSWORD
    ):
        """Records that differ in what kcat is told once for all of them need a run each."""
        common = ["-P", "-t", topic, *self._at(listener, password), "-z", codec, "-X", f"acks={acks}"]
        common += ["-X", f"enable.idempotence={idempotent}".lower(), "-X", "message.max.bytes=10000000"]
        for (headers, is_null, has_key), group in itertools.groupby(records, _kind):
            options = [part for name, value in headers for part in ("-H", f"{name}={value.decode()}")]
            options += ["-p", "0"] if self._partitions.get(topic) == 1 else []
            options += (["-Z"] if is_null else []) + (["-K", "\\t"] if has_key else [])
            lines = [(record.key + b"\t" if has_key else b"") + (record.value or b"") for record in group]
            self._run(*common, *options, "-D", "\\n", stdin=b"\n".join(lines))

    def consume(
        self,
        topic,
        partition,
        start,
        count,
        once_there=None,
        wait_ms=500,
        isolation="read_uncommitted",
        reset="error",
        listener="plaintext",
    ):
        command = ["kcat", "-C", "-J", "-u", "-t", topic, "-p", str(partition), *self._at(listener)]
        command += ["-o", f"s@{start[1]}" if isinstance(start, tuple) else str(start)]
        command += ["-e"] if count is None else ["-c", str(count)]
        command += ["-X", f"fetch.wait.max.ms={wait_ms}", "-X", f"isolation.level={isolation}"]
        command += ["-X", f"auto.offset.reset={reset}", "-X", "debug=fetch"]
        with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process:
            try:
                if once_there:
                    _wait_until_fetching(topic, partition, process, log)
                    once_there()
                output = process.communicate(timeout=SECONDS_MAX)[0]
            finally:
                process.kill()
        return [_record(json.loads(line)) for line in output.splitlines()]

    # Metadata

    def _metadata(self, *more):
        return json.loads(self._run("-L", "-J", *self._at("plaintext"), *more))

    def describe_topic(self, name):
        (topic,) = self._metadata("-t", name)["topics"]
        return [
            (
                part["partition"],
                part["leader"],
                [node["id"] for node in part["replicas"]],
                [node["id"] for node in part["isrs"]],
            )
            for part in topic["partitions"]
        ]

    def describe_cluster(self):
        found = self._metadata()
        return None, [(node["id"], node["name"]) for node in found["brokers"]], found["controllerid"]

    def list_offset(self, topic, spec):
        stamp = {"earliest": -2, "latest": -1}.get(spec, spec)
        output = self._run("-Q", "-t", f"{topic}:0:{stamp}", *self._at("plaintext")).decode()
        return int(output.split("offset ")[1])


class KcatStories(Stories):
    """kcat stamps records itself, so that what is looked for by time is what was written after a moment."""

    def filled(self, count=200):
        topic = self.topic()
        self.client.produce(topic, [Record(b"%d" % number, b"k") for number in range(count)])
        return topic

    def _halves(self):
        topic = self.filled(100)
        time.sleep(0.01)  # the clock must have moved on
        between = int(time.time() * 1000)
        self.client.produce(topic, [Record(b"late", b"k")] * 100)
        return topic, between

    def c_by_timestamp(self):
        topic, between = self._halves()
        found = self.client.consume(topic, 0, ("timestamp", between), 10)
        equal([record.offset for record in found], list(range(100, 110)))

    def a_list_offsets(self):
        topic, between = self._halves()
        equal([self.client.list_offset(topic, spec) for spec in ("earliest", "latest", between)], [0, 200, 100])

    def a_describe_topic(self):
        equal(self.client.describe_topic(self.filled(1)), [(index, 1, [1], [1]) for index in range(3)])


def _wait_until_fetching(topic, partition, process, log):
    """kcat asks for the end of a partition before it fetches from there: what is written before that, it never sees."""
    deadline = time.monotonic() + SECONDS_MAX
    while f"Fetch topic {topic} [{partition}] at offset ".encode() not in os.pread(log.fileno(), LOG_BYTES_MAX, 0):
        assert process.poll() is None, f"kcat ended with status {process.returncode} before it fetched anything"
        assert time.monotonic() < deadline, f"kcat does not fetch from {topic} after {SECONDS_MAX} s"
        time.sleep(0.02)


def _kind(record):
    return record.headers, record.value is None, record.key is not None


def _record(found):
    headers = found.get("headers") or []
    pairs = tuple((name, value.encode()) for name, value in zip(headers[::2], headers[1::2], strict=True))
    value, key = (text if text is None else text.encode() for text in (found["payload"], found["key"]))
    return Record(value, key, pairs, found["ts"], found["partition"], found["offset"])


if __name__ == "__main__":
    where = Where(sys.argv[1:])
    run(KcatStories(Kcat(where)).scenarios(), where)
