"""Records transcripts of Kafka's own scripts against our brokers: `python tests/interop/script_recorder.py NAME...`.

The commands are those of tests/golden/data/scripts/NAME-4.3.txt; what they print there is replaced, and so is
NAME-3.3.txt if there is one: the same commands against a broker of 3.3. Both are run by the tools of 4.3.0.
"""

import contextlib
import select
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "kits")]

import kafka_tools  # noqa: E402

import outside  # noqa: E402
from odradek.client.admin.admin_client import AdminClient  # noqa: E402
from script_story import PROPERTIES, TRANSCRIPTS, Command, Story, Telling  # noqa: E402
from started import broker  # noqa: E402

COMMAND_SECONDS_MAX = 15
TOOLS = {"3.3": "4.3.0", "4.3": "4.3.0"}
IN_OTHER_PLACES = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-share-groups.sh": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-groups.sh": "org.apache.kafka.tools.GroupsCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-leader-election.sh": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-delete-records.sh": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-log-dirs.sh": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-features.sh": "org.apache.kafka.tools.FeatureCommand",
    "kafka-metadata-quorum.sh": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-broker-api-versions.sh": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-cluster.sh": "org.apache.kafka.tools.ClusterTool",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-producer-perf-test.sh": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-consumer-perf-test.sh": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-verifiable-producer.sh": "org.apache.kafka.tools.VerifiableProducer",
    "kafka-verifiable-consumer.sh": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-dump-log.sh": "org.apache.kafka.tools.DumpLogSegments",
}


class JavaTools:
    """Kafka's tools in one JVM, and in the next one after a tool has ended it."""

    def __init__(self, version):
        self._command = [*kafka_tools.java(version, megabytes=400), str(kafka_tools.JAVA / "Tools.java")]
        self._process = None

    def run(self, script, arguments, words):
        line = "\t".join([words.replace("\n", "\\n").replace("\t", "\\t"), IN_OTHER_PLACES[script], *arguments])
        for _ in range(2):
            if self._process is None:
                self._process = outside.Program(self._command, stdin=outside.PIPE, stdout=outside.PIPE)
            try:
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()
                if not select.select([self._process.stdout], [], [], COMMAND_SECONDS_MAX)[0]:
                    self.close()
                    return 124, "", f"{script} did not end"
                status, out, err = map(int, self._process.stdout.readline().split())
            except (BrokenPipeError, ValueError):
                self.close()
                continue
            return status, self._process.stdout.read(out).decode(), self._process.stdout.read(err).decode()
        raise AssertionError(f"{script} {arguments} ends the JVM without a word")

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=30)
            self._process = None


def recorded(story, release):
    """The story with what Kafka's tools print in the place of what it says."""
    with contextlib.ExitStack() as stack:
        host, port = stack.enter_context(broker(release, PROPERTIES))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bootstrap = f"{host}:{port}"
        admin = stack.enter_context(AdminClient(bootstrap_servers=bootstrap))
        tools = stack.enter_context(contextlib.closing(JavaTools(TOOLS[release])))
        telling = stack.enter_context(contextlib.closing(Telling(bootstrap, admin, directory, tools.run)))
        for each in story.lines:
            done = telling.do(each)
            if isinstance(each, Command):
                each.out, each.err, each.status = done
                sys.stderr.write(f"{each.status} {each.line}\n")
    return story.told()


def main(names):
    for name in names:
        source = TRANSCRIPTS / f"{name}-4.3.txt"
        source.write_text(recorded(Story(source), "4.3"))
        older = TRANSCRIPTS / f"{name}-3.3.txt"
        if older.exists():
            kept = {command.line: command.ours for command in Story(older).commands}
            story = Story(source)
            for command in story.commands:
                command.ours = kept.get(command.line, [])
            older.write_text(recorded(story, "3.3"))


if __name__ == "__main__":
    main(sys.argv[1:])
