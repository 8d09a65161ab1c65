"""confluent-kafka (librdkafka) as members and copiers."""

import sys
import time

import members
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

SECONDS_MAX = 60


class Confluent:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def consumer(self, options):
        config = {
            "bootstrap.servers": self.bootstrap,
            "group.id": options["group"],
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
        if "instance" in options:
            config["group.instance.id"] = options["instance"]
        if options.get("protocol") == "consumer":
            config["group.protocol"] = "consumer"
            if "assignor" in options:
                config["group.remote.assignor"] = options["assignor"]
        else:
            config["partition.assignment.strategy"] = options["assignor"]
            config["session.timeout.ms"] = int(options["session_ms"])
            config["heartbeat.interval.ms"] = 500
        return Consumer(config)

    def member(self, options, rebalanced):
        return Member(self.consumer(options), options, rebalanced)

    def copier(self, options):
        return Copier(self, options)

    def read_committed(self, topic, partitions):
        consumer = self.consumer({"group": "reader", "assignor": "range", "session_ms": 10_000})
        ends = {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), SECONDS_MAX)[1]
            for number in range(partitions)
        }
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in ends])
        values, deadline = [], time.monotonic() + SECONDS_MAX
        while any(position.offset < ends[position.partition] for position in consumer.position(consumer.assignment())):
            assert time.monotonic() < deadline, consumer.position(consumer.assignment())
            values += [message.value() for message in consumer.consume(100, 0.2)]
        consumer.close()
        return values


class Member:
    def __init__(self, consumer, options, rebalanced):
        self._consumer = consumer
        topic = options["topic"] if "topic" in options else "^" + options["pattern"]
        consumer.subscribe([topic], on_assign=rebalanced, on_revoke=rebalanced, on_lost=rebalanced)

    def poll(self):
        messages = [message for message in self._consumer.consume(100, 0.1) if not message.error()]
        if messages:
            self._commit()
        return [f"{message.topic()}:{message.partition()}:{message.offset()}" for message in messages]

    def _commit(self):
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as error:  # a rebalance has come between; whoever has the partition now reads it again
            sys.stderr.write(f"{error}\n")

    def assignment(self):
        return [f"{each.topic}:{each.partition}" for each in self._consumer.assignment()]

    def close(self):
        self._consumer.close()


class Copier:
    def __init__(self, client, options):
        self._target = options["target"]
        self._producer = Producer({"bootstrap.servers": client.bootstrap, "transactional.id": options["id"]})
        self._producer.init_transactions(SECONDS_MAX)
        self._consumer = client.consumer(options)
        self._source = [TopicPartition(options["source"], number) for number in range(int(options["partitions"]))]
        self._consumer.subscribe([options["source"]])

    def committed(self):
        return sum(max(0, each.offset) for each in self._consumer.committed(self._source, SECONDS_MAX))

    def poll(self):
        messages = self._consumer.consume(members.POLLED_MAX, 0.2)
        return [message.value() for message in messages if not message.error()]

    def begin(self):
        self._producer.begin_transaction()

    def send(self, value):
        self._producer.produce(self._target, value)

    def flush(self):
        self._producer.flush(SECONDS_MAX)

    def commit(self):
        position = [each for each in self._consumer.position(self._consumer.assignment()) if each.offset >= 0]
        metadata = self._consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction(position, metadata, SECONDS_MAX)
        self._producer.commit_transaction(SECONDS_MAX)

    def abort(self):
        self._producer.abort_transaction(SECONDS_MAX)

    def rewind(self):
        for each in self._consumer.committed(self._consumer.assignment(), SECONDS_MAX):
            offset = each.offset if each.offset >= 0 else OFFSET_BEGINNING
            self._consumer.seek(TopicPartition(each.topic, each.partition, offset))

    def close(self):
        self._consumer.close()


if __name__ == "__main__":
    members.run(Confluent(sys.argv[1]))
