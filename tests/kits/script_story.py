"""Transcripts of Kafka's scripts: commands and what each of them prints, told again by whoever can run them.

A transcript is text, a line at a time:

    # a comment
    % produce orders 0 one two      done before the next command: see `Steps`
    $ kafka-topics.sh @ --list      a command; @ stands for --bootstrap-server and the broker
    ~ kafka-topics.sh @ --list      the same, where Kafka's tool prints the lines in any order
    ^ kafka-...-perf-test.sh ...    the same, where figures may be any
    < text                          what it reads on standard input
    | orders                        what it prints on standard output
    ! Missing required ...          what it says on standard error
    = 1                             its exit status, if that is not 0
    > cannot connect to ...         what ours says instead of all that; * stands for anything

Ids, ports and times are replaced by placeholders of the same length, so that columns stay where they are.
"""

import difflib
import re
import shlex
import time
import uuid
from fnmatch import fnmatchcase
from pathlib import Path

from log_kit import batch
from odradek.channel.core import ByVersion
from odradek.channel.core import broker as at_broker
from odradek.cli.kafka.scripts import SCRIPTS
from odradek.cli.run_class import find
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.topics import NewTopic
from odradek.client.consumer.subscription import encode_assignment, encode_subscription
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.errors import NotEnoughReplicas
from odradek.protocol.messages import k68_consumer_group_heartbeat as k68
from odradek.protocol.messages import k76_share_group_heartbeat as k76
from odradek.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.protocol.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from odradek.protocol.topic_partition import TopicPartition

TRANSCRIPTS = Path(__file__).parents[1] / "golden" / "data" / "scripts"
PRODUCE_VERSION_MAX = 9  # names topics, and the open transaction is told of by another request
STARTED_MS = 1_700_000_000_000
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "log.retention.ms": "-1",  # the records of the stories are years old
    "group.initial.rebalance.delay.ms": "0",
}

_ID = re.compile(r"(?<![\w.-])(?!(?:[A-Z][a-z]+){2,4}(?![\w-]))(?=[\w-]*[A-Z0-9])(?=[\w-]*[a-z])[\w-]{22}(?![\w.(-])")
_MEMBER = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"(?<!\d)(1[6-9]\d{11}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z?)(?!\d)")


_FIGURE = re.compile(r"\d+(?:\.\d+)?|\bT+(?:-TT-TT)?")
_LOG_DIR = re.compile(r"/[\w/.-]*odradek-\w+")
# Offsets of the metadata log go on by themselves, and so does time.
_COUNTED = re.compile(
    r"((?:HighWatermark|LagTimeMs|[^r]Epoch): +)\d+|(^\d+ *\t[IA]{22}\t|T{13} *\t)(\d+ *)(?=\t)|()\d+(?= ms ago)",
    re.MULTILINE,
)
_LOGGED = (
    "SLF4J",
    "[",
    "WARNING",
    "WARN New offset",
    "The consumer rebalance protocol (KIP-848)",
    "com.fasterxml",
    " at [Source",
)
_EXCEPTION = re.compile(r'Exception in thread "main" |joptsimple\.\w+Exception: ')
_FAILED = re.compile(r"Error: Executing \w+ group command failed")
EXECUTION = "java.util.concurrent.ExecutionException: "


def tool_of(script):
    """What `kafka-run-class.sh` runs for a script."""
    return find(SCRIPTS[script][1][0])


class Command:
    """One of a transcript, with what it is to print."""

    def __init__(self, line, number, mark="$"):
        self.line = line
        self.mark = mark
        self.number = number
        self.words = shlex.split(line)
        self.input = []
        self.out, self.err, self.ours, self.status = [], [], [], 0

    def arguments(self, fill):
        return [fill(word) for word in self.words[1:]]

    def differences(self, out, err, status):
        """Between what it printed now and what the transcript says."""
        if self.ours:
            is_same = fnmatchcase("\n".join([*out, *err]).strip(), "\n".join(self.ours))
            is_same &= status in (self.status, 1)
            return [] if is_same else ["", f"{self.line}: {self.ours}, not {[*out, *err]}, {status}"]
        wanted, got = self.out, out
        if self.mark == "^":
            wanted, got = ([_FIGURE.sub("#", line) for line in lines] for lines in (wanted, got))
        if self.mark == "~":
            wanted, got = (sorted(map(str.strip, lines)) for lines in (wanted, got))
        wanted_status = 1 if any(map(_FAILED.match, self.out)) else self.status  # where Kafka's tool ends with 0
        is_same = wanted == got and said(self.err) == said(err) and status == wanted_status
        if is_same:
            return []
        now = Command(self.line, self.number, self.mark)
        now.input, now.out, now.err, now.status = self.input, out, err, status
        return ["", *difflib.unified_diff(self.told(), now.told(), "Kafka", "ours", n=99, lineterm="")]

    def told(self):
        lines = [f"{self.mark} {self.line}", *(f"< {text}" for text in self.input)]
        lines += [f"| {text}".rstrip("\n") for text in self.out] + [f"! {text}" for text in self.err]
        lines += [f"= {self.status}"] if self.status else []
        return lines + [f"> {text}" for text in self.ours]


def said(lines):
    """What is said on standard error, whatever the order of its words: Kafka's tools list sets as they come."""
    return [sorted(re.findall(r"[^][\s,]+", line.rstrip("."))) for line in lines]


class Story:
    """A transcript that was read: comments, steps and commands in their order."""

    def __init__(self, path):
        self.path = path
        self.lines = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            self._take(line, number)

    @property
    def commands(self):
        return [each for each in self.lines if isinstance(each, Command)]

    def _take(self, line, number):
        mark, text = line[:1], line[2:]
        last = self.lines[-1] if self.lines else None
        if mark in ("$", "~", "^"):
            self.lines.append(Command(text, number, mark))
        elif mark == "<":
            last.input.append(text)
        elif mark == "|":
            last.out.append(text)
        elif mark == "!":
            last.err.append(text)
        elif mark == ">":
            last.ours.append(text)
        elif mark == "=":
            last.status = int(text)
        else:
            self.lines.append(line)

    def told(self):
        lines = []
        for each in self.lines:
            lines += each.told() if isinstance(each, Command) else [each]
        return "\n".join(lines) + "\n"


class Telling:
    """A story told against a broker. `run(script, arguments, input)` gives status, standard output and error."""

    def __init__(self, bootstrap, admin, directory, run):
        self.bootstrap = bootstrap
        self.port = bootstrap.rpartition(":")[2]
        self.directory = directory
        self.run = run
        self.steps = Steps(admin, directory, self.fill)

    def close(self):
        self.steps.close()

    def fill(self, word):
        return word.replace("BOOTSTRAP", self.bootstrap).replace("DIR", str(self.directory))

    def arguments(self, command):
        found = []
        for word in command.words[1:]:
            found += ["--bootstrap-server", self.bootstrap] if word == "@" else [self.fill(word)]
        return found

    def do(self, each):
        """What a command printed, as (out, err, status); None for a comment or a step."""
        if isinstance(each, Command):
            words = "".join(f"{line}\n" for line in each.input)
            status, out, err = self.run(each.words[0], self.arguments(each), words)
            shown = without_trace(self.shown(out))
            return shown, first_words(shown, self.shown(err)), status
        if each.startswith("% "):
            self.steps.do(each[2:])
        return None

    def shown(self, text):
        text = re.sub(rf"\b{self.port}\b", "P" * len(self.port), text).replace(str(self.directory), "DIR")
        text = _LOG_DIR.sub("LOGDIR", text)
        text = text.replace(EXECUTION, "")
        text = _MEMBER.sub(lambda found: "M" * len(found[0]), text)
        text = _TIME.sub(lambda found: re.sub(r"\d", "T", found[0]), text)
        text = _ID.sub(lambda found: "I" * len(found[0]), text)
        return _COUNTED.sub(_uncounted, text).splitlines()


def _uncounted(found):
    before, in_row, number, _ = found.groups()
    return f"{in_row}{'N'.ljust(len(number))}" if in_row else f"{before or ''}N"


def without_trace(out):
    """Some of Kafka's tools print a stack trace on standard output, after the line that says what went wrong."""
    traces = [at for at, line in enumerate(out) if line.startswith("\tat ")]
    if not traces:
        return out
    return [line for line in out[: traces[0]] if not re.match(r"[\w.]+(Exception|Error)\b", line)]


def first_words(out, err):
    """What is said on standard error before the help or the stack trace that Kafka's tools print after it, without what
    they log. Where standard output says already what went wrong, an exception says nothing more."""
    is_told = any("Error" in line for line in out)
    words = []
    for line in err:
        if line.startswith(("\tat ", "Option  ", "Option (", "Caused by: ", "This tool ")):
            break
        line = _EXCEPTION.sub("", line)
        is_again = any(told.endswith(line) for told in out)
        if words:
            is_again |= line.endswith(f": {words[-1]}") or words[-1].endswith(line.partition(": ")[2] or line)
        if line.strip() and not line.startswith(_LOGGED) and not is_again and not (is_told and "Exception: " in line):
            words.append(line)
    if words and words[0].startswith("usage:"):  # what is wrong comes last, and is broken into lines
        told = [at for at, line in enumerate(words) if " error: " in line]
        whole = " ".join(" ".join(words[told[0] :]).split()) if told else words[-1]
        return [re.sub(r"- (?=\w)", "-", whole)]
    return words


class Steps:
    """What happens between commands, through our own client."""

    def __init__(self, admin, directory, fill):
        self.admin = admin
        self.directory = directory
        self.fill = fill
        self._members = {}

    def do(self, line):
        name, *words = shlex.split(line)
        getattr(self, f"_{name}")(*words)

    def close(self):
        for member, *_ in self._members.values():
            member.close()

    def _create(self, topic, partitions):
        self.admin.create_topics([NewTopic(topic, int(partitions), 1)]).raise_any()

    def _file(self, name, text):
        (self.directory / name).write_text(self.fill(text.replace("\\n", "\n")))

    def _produce(self, topic, partition, *values):
        """Each a second after the one before, from 2023-11-14T22:13:20Z on."""
        for number, value in enumerate(values):
            self._produced(topic, int(partition), batch(value.encode(), timestamp=STARTED_MS + number * 1000))

    def _transaction(self, transactional_id, topic, partition, value):
        """One that stays open."""
        self.admin.describe_transactions([transactional_id])  # which has the topic of transactions made
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
        deadline = time.monotonic() + 10
        while (began := self._sent(request, InitProducerIdResponse)).error_code:
            assert time.monotonic() < deadline, began.error_code
        added = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=began.producer_id,
            v3_and_below_producer_epoch=began.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[int(partition)])],
        )
        self._sent(added, AddPartitionsToTxnResponse, 3)
        fields = {"producer": began.producer_id, "epoch": began.producer_epoch, "transactional": True}
        records = batch(value.encode(), timestamp=STARTED_MS, **fields)
        self._produced(topic, int(partition), records, transactional_id)

    def _commit(self, group, *offsets):
        """TOPIC:PARTITION=OFFSET of each, for a group without members."""
        wanted = {}
        for text in offsets:
            place, _, offset = text.partition("=")
            topic, _, partition = place.rpartition(":")
            wanted[TopicPartition(topic, int(partition))] = OffsetAndMetadata(int(offset))
        self.admin.alter_group_offsets(group, wanted).raise_any()

    def _member(self, group, topic, client_id, instance_id=None):
        """The only one of a classic group, with all partitions of the topic."""
        member = self._client(client_id)
        protocol = JoinGroupRequestProtocol(name="range", metadata=encode_subscription([topic]))
        fields = {"group_id": group, "session_timeout_ms": 300_000, "protocol_type": "consumer"}
        fields |= {"rebalance_timeout_ms": 300_000, "group_instance_id": instance_id, "protocols": [protocol]}
        joined = self._sent(JoinGroupRequest(**fields), JoinGroupResponse, client=member)
        if joined.member_id and joined.error_code:
            request = JoinGroupRequest(member_id=joined.member_id, **fields)
            joined = self._sent(request, JoinGroupResponse, client=member)
        assert joined.error_code == 0, joined.error_code
        partitions = self.admin.describe_topics([topic])[topic].partitions
        assigned = encode_assignment(TopicPartition(topic, each.partition) for each in partitions)
        synced = SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=instance_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=assigned)],
        )
        assert self._sent(synced, SyncGroupResponse, client=member).error_code == 0
        self._members[group] = (member, joined)

    def _leave(self, group):
        member, _ = self._members.pop(group)
        self.admin.remove_members_from_group(group).raise_any()
        member.close()

    def _consumer(self, group, topic, client_id, heartbeats="2"):
        """A member of a group of the newer protocol. It has its partitions with the second heartbeat."""
        kinds = k68.ConsumerGroupHeartbeatRequest, k68.ConsumerGroupHeartbeatResponse
        self._of_newer_group(group, topic, client_id, *kinds, {"rebalance_timeout_ms": 300_000, "topic_partitions": []})

    def _share_consumer(self, group, topic, client_id):
        kinds = k76.ShareGroupHeartbeatRequest, k76.ShareGroupHeartbeatResponse
        self._of_newer_group(group, topic, client_id, *kinds, {})

    def _of_newer_group(self, group, topic, client_id, request, response, fields):
        member = self._client(client_id)
        member_id = str(uuid.uuid4())
        identity = {"group_id": group, "member_id": member_id}
        joining = request(member_epoch=0, subscribed_topic_names=[topic], **identity, **fields)
        told = self._sent(joining, response, client=member)
        deadline = time.monotonic() + 10
        while told.assignment is None or not told.assignment.topic_partitions:
            assert told.error_code == 0 and time.monotonic() < deadline, (told.error_code, told.error_message)
            told = self._sent(request(member_epoch=told.member_epoch, **identity), response, client=member)
        if fields:
            owned = [
                k68.TopicPartitions(topic_id=each.topic_id, partitions=each.partitions)
                for each in told.assignment.topic_partitions
            ]
            acknowledged = request(member_epoch=told.member_epoch, topic_partitions=owned, **identity)
            self._sent(acknowledged, response, client=member)
        self._members[group] = (member, identity, request, response)

    def _leave_newer(self, group):
        member, identity, request, response = self._members.pop(group)
        self._sent(request(member_epoch=-1, **identity), response, client=member)
        member.close()

    def _until_gone(self, topic):
        deadline = time.monotonic() + 10
        while topic in self.admin.list_topics():
            assert time.monotonic() < deadline, f"{topic} is still there"

    def _produced(self, topic, partition, records, transactional_id=None):
        data = PartitionProduceData(index=partition, records=bytes(records))
        topics = [TopicProduceData(name=topic, partition_data=[data])]
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics, transactional_id=transactional_id)
        deadline = time.monotonic() + 10
        while (code := self._code(request)) == NotEnoughReplicas.code:  # the coordinator has to say yes first
            assert time.monotonic() < deadline, code
        assert code == 0, code

    def _code(self, request):
        response = self._sent(request, ProduceResponse, PRODUCE_VERSION_MAX)
        return response.responses[0].partition_responses[0].error_code

    def _client(self, client_id):
        return AdminClient(bootstrap_servers=self.fill("BOOTSTRAP"), client_id=client_id)

    def _sent(self, request, answer, version_max=None, client=None):
        """To the only broker, which the client is to have heard of first."""
        asking = client or self.admin
        number = asking.describe_cluster().nodes[0].id
        asked = ByVersion(request.api_key, lambda _: request, version_max)

        async def sent(asker):
            return await asker.one(lambda left_ms: asker.send(at_broker(number), asked, answer, left_ms), timeout=10)

        return asking._host.run(sent)
