"""kafka-python as members and copiers."""

import sys
import time

import members
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
SECONDS_MAX = 60
POLL_MS = 500  # kafka-python 3.0 loses a SyncGroup's answer that comes after its poll has timed out, and never goes on


class KafkaPython:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def consumer(self, options, **more):
        return KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=options["group"],
            group_instance_id=options.get("instance"),
            partition_assignment_strategy=[ASSIGNORS[options["assignor"]]],
            session_timeout_ms=int(options["session_ms"]),
            heartbeat_interval_ms=500,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            **more,
        )

    def member(self, options, rebalanced):
        return Member(self.consumer(options), options, rebalanced)

    def copier(self, options):
        return Copier(self, options)

    def read_committed(self, topic, partitions):
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap, isolation_level="read_committed", enable_auto_commit=False
        )
        places = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(places)
        consumer.seek_to_beginning()
        ends, values, deadline = consumer.end_offsets(places), [], time.monotonic() + SECONDS_MAX
        while any(consumer.position(place) < ends[place] for place in places):
            assert time.monotonic() < deadline, ends
            values += [record.value for records in consumer.poll(POLL_MS).values() for record in records]
        consumer.close()
        return values


class Listener(ConsumerRebalanceListener):
    def __init__(self, rebalanced):
        self.on_partitions_assigned = self.on_partitions_revoked = self.on_partitions_lost = rebalanced

    def on_partitions_assigned(self, assigned):
        """Of the class, which must have it."""

    def on_partitions_revoked(self, revoked):
        """Of the class, which must have it."""


class Member:
    def __init__(self, consumer, options, rebalanced):
        self._consumer = consumer
        consumer.subscribe([options["topic"]], listener=Listener(rebalanced))

    def poll(self):
        records = [record for batch in self._consumer.poll(POLL_MS).values() for record in batch]
        if records:
            self._commit()
        return [f"{record.topic}:{record.partition}:{record.offset}" for record in records]

    def _commit(self):
        try:
            self._consumer.commit()
        except KafkaError as error:  # a rebalance has come between; whoever has the partition now reads it again
            sys.stderr.write(f"{error!r}\n")

    def assignment(self):
        return [f"{each.topic}:{each.partition}" for each in self._consumer.assignment()]

    def close(self):
        self._consumer.close()


class Copier:
    def __init__(self, client, options):
        self._target = options["target"]
        self._producer = KafkaProducer(bootstrap_servers=client.bootstrap, transactional_id=options["id"])
        self._producer.init_transactions()
        self._consumer = client.consumer(options, max_poll_records=members.POLLED_MAX)
        self._source = [TopicPartition(options["source"], number) for number in range(int(options["partitions"]))]
        self._consumer.subscribe([options["source"]])
        self._sent = []

    def committed(self):
        return sum(self._consumer.committed(place) or 0 for place in self._source)

    def poll(self):
        return [record.value for records in self._consumer.poll(POLL_MS).values() for record in records]

    def begin(self):
        self._producer.begin_transaction()
        self._sent = []

    def send(self, value):
        self._sent.append(self._producer.send(self._target, value))

    def flush(self):
        for sent in self._sent:
            sent.get(SECONDS_MAX)

    def commit(self):
        offsets = {place: self._position(place) for place in self._consumer.assignment()}
        self._producer.send_offsets_to_transaction(offsets, self._consumer.group_metadata())
        self.flush()
        self._producer.commit_transaction()

    def _position(self, place):
        return OffsetAndMetadata(self._consumer.position(place), "", -1)

    def abort(self):
        self._producer.abort_transaction()

    def rewind(self):
        for place in self._consumer.assignment():
            self._consumer.seek(place, self._consumer.committed(place) or 0)

    def close(self):
        self._consumer.close()


if __name__ == "__main__":
    members.run(KafkaPython(sys.argv[1]))
