"""aiokafka as members and copiers: a loop per thread, which runs while the client is asked something."""

import asyncio
import sys
import time

import members
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
SECONDS_MAX = 60


class Aiokafka:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def consumer(self, options):
        return AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=options["group"],
            group_instance_id=options.get("instance"),
            partition_assignment_strategy=[ASSIGNORS[options["assignor"]]],
            session_timeout_ms=int(options["session_ms"]),
            heartbeat_interval_ms=500,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )

    def member(self, options, rebalanced):
        return Member(self, options, rebalanced)

    def copier(self, options):
        return Copier(self, options)

    def read_committed(self, topic, partitions):
        return asyncio.run(self._read_committed([TopicPartition(topic, number) for number in range(partitions)]))

    async def _read_committed(self, places):
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, isolation_level="read_committed", enable_auto_commit=False
        )
        await consumer.start()
        consumer.assign(places)
        await consumer.seek_to_beginning()
        ends, values, deadline = await consumer.end_offsets(places), [], time.monotonic() + SECONDS_MAX
        while any([await consumer.position(place) < ends[place] for place in places]):
            assert time.monotonic() < deadline, ends
            values += [
                record.value for records in (await consumer.getmany(timeout_ms=200)).values() for record in records
            ]
        await consumer.stop()
        return values


class Listener(ConsumerRebalanceListener):
    def __init__(self, rebalanced):
        self._rebalanced = rebalanced

    def on_partitions_assigned(self, assigned):
        self._rebalanced()

    def on_partitions_revoked(self, revoked):
        self._rebalanced()


class Member:
    def __init__(self, client, options, rebalanced):
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._start(client, options, rebalanced))

    async def _start(self, client, options, rebalanced):
        self._consumer = client.consumer(options)
        self._consumer.subscribe([options["topic"]], listener=Listener(rebalanced))
        await self._consumer.start()

    def poll(self):
        return self._loop.run_until_complete(self._poll())

    async def _poll(self):
        found = await self._consumer.getmany(timeout_ms=100)
        records = [record for batch in found.values() for record in batch]
        try:
            await self._consumer.commit() if records else None
        except KafkaError as error:  # a rebalance has come between; whoever has the partition now reads it again
            sys.stderr.write(f"{error!r}\n")
        return [f"{record.topic}:{record.partition}:{record.offset}" for record in records]

    def assignment(self):
        return [f"{each.topic}:{each.partition}" for each in self._consumer.assignment()]

    def close(self):
        self._loop.run_until_complete(self._consumer.stop())


class Copier:
    def __init__(self, client, options):
        self._loop = asyncio.new_event_loop()
        self._target, self._group = options["target"], options["group"]
        self._source = [TopicPartition(options["source"], number) for number in range(int(options["partitions"]))]
        self._wait(self._start(client, options))

    def _wait(self, work):
        return self._loop.run_until_complete(asyncio.wait_for(work, SECONDS_MAX))

    async def _start(self, client, options):
        self._producer = AIOKafkaProducer(bootstrap_servers=client.bootstrap, transactional_id=options["id"])
        await self._producer.start()
        self._consumer = client.consumer(options)
        self._consumer.subscribe([options["source"]])
        await self._consumer.start()

    def committed(self):
        return sum(self._wait(self._consumer.committed(place)) or 0 for place in self._source)

    def poll(self):
        found = self._wait(self._consumer.getmany(timeout_ms=200, max_records=members.POLLED_MAX))
        return [record.value for records in found.values() for record in records]

    def begin(self):
        self._wait(self._producer.begin_transaction())

    def send(self, value):
        self._wait(self._producer.send_and_wait(self._target, value))

    def flush(self):
        """Each was waited for."""

    def commit(self):
        offsets = {place: self._wait(self._consumer.position(place)) for place in self._consumer.assignment()}
        self._wait(self._producer.send_offsets_to_transaction(offsets, self._group))
        self._wait(self._producer.commit_transaction())

    def abort(self):
        self._wait(self._producer.abort_transaction())

    def rewind(self):
        for place in self._consumer.assignment():
            self._consumer.seek(place, self._wait(self._consumer.committed(place)) or 0)

    def close(self):
        self._wait(self._consumer.stop())
        self._wait(self._producer.stop())


if __name__ == "__main__":
    members.run(Aiokafka(sys.argv[1]))
