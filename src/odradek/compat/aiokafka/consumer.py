"""aiokafka's AIOKafkaConsumer.

Some of its calls do not wait where ours do (`subscribe`, `assign`, `seek`, `pause` ...). They are noted, and done
before the next call that waits.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Self, TypeVar

from odradek.channel.errors import ClientClosed
from odradek.client.consumer.asyncio_consumer import KafkaConsumer as Consumer
from odradek.client.consumer.rebalance_listener import RebalanceListener
from odradek.client.consumer.records import Record
from odradek.compat.aiokafka import configs
from odradek.compat.aiokafka.errors import ConsumerStoppedError, IllegalOperation
from odradek.compat.kafka_python.serializer import adapted
from odradek.compat.kafka_python.structs import OffsetAndTimestamp, Offsets, TopicPartition, offsets_of

P = TypeVar("P", bound=tuple[str, int])
T = TypeVar("T")

ConsumerRebalanceListener = RebalanceListener

REFRESH_S = 1.0  # how often topics are looked for, where there is no group to tell


class AIOKafkaConsumer:
    # Any: configs are of the types that their names suggest, and keys and values of what the deserializers make.

    def __init__(self, *topics: str, **given: Any) -> None:
        self._given = given
        self._consumer: Consumer[Any, Any] | None = None
        self._due: list[Callable[[], Awaitable[object]]] = []
        self._assigned: set[TopicPartition] | None = None  # by a call that is not done yet
        self._paused: set[TopicPartition] = set()
        self._alone: tuple[list[str], str | None] | None = None  # what to read without a group
        self._looked_s: float | None = None
        self._partitions: dict[str, set[int]] = {}
        if topics:
            self.subscribe(topics)

    async def start(self) -> None:
        own = configs.adapted(self._given)
        names = ("key_deserializer", "value_deserializer")
        deserializers = {name: adapted(own.pop(name, None), "deserialize") for name in names}
        await configs.reached(own)
        self._consumer = Consumer(**deserializers, **own)
        await self.topics()

    async def stop(self) -> None:
        if self._consumer is not None:
            await self._consumer.close()

    # What it reads

    def subscribe(
        self, topics: Iterable[str] = (), pattern: str | None = None, listener: RebalanceListener | None = None
    ) -> None:
        names = [topics] if isinstance(topics, str) else list(topics)
        if bool(names) == bool(pattern):
            raise TypeError("give topics or a pattern")
        if self._given.get("group_id") is None:
            self._alone, self._looked_s = (names, pattern), None
            return
        wanted: list[str] | re.Pattern[str] = names if pattern is None else re.compile(f"(?:{pattern}).*")
        self._due.append(lambda: self._at_work.subscribe(wanted, listener=listener))

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        places = [TopicPartition(*each) for each in partitions]
        self._alone, self._assigned = None, set(places)
        self._due.append(lambda: self._at_work.assign(places))

    def unsubscribe(self) -> None:
        self._alone, self._assigned = None, set()
        self._due.append(lambda: self._at_work.unsubscribe())

    def assignment(self) -> set[TopicPartition]:
        if self._assigned is not None:
            return set(self._assigned)
        return set() if self._consumer is None else self._consumer.assignment()

    def subscription(self) -> set[str]:
        if self._alone is not None:
            return set(self._alone[0])
        return set() if self._consumer is None else self._consumer.subscription()

    # Reading

    async def getone(self, *partitions: tuple[str, int]) -> Record:
        """The next record, of these partitions if any are named."""
        if partitions:
            return await self._of(partitions, self.getone)
        while True:
            await self._settled()
            async for record in self._at_work.records(idle=REFRESH_S):
                return record

    async def getmany(
        self, *partitions: tuple[str, int], timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[Record]]:
        if partitions:
            read = partial(self.getmany, timeout_ms=timeout_ms, max_records=max_records)
            chosen: dict[TopicPartition, list[Record]] = await self._of(partitions, read)
            return chosen
        await self._settled()
        found = await self._at_work.poll(timeout_ms / 1000, max_records=max_records)
        return {place: list(found.records(place)) for place in found.partitions()}

    async def _of(self, partitions: Iterable[tuple[str, int]], read: Callable[[], Awaitable[T]]) -> T:
        """The others are paused meanwhile."""
        await self._settled()
        others = self.assignment() - {TopicPartition(*each) for each in partitions} - self.paused()
        await self._at_work.pause(*others)
        try:
            return await read()
        finally:
            await self._at_work.resume(*others)

    def __aiter__(self) -> Self:
        if self._consumer is None:
            raise ConsumerStoppedError("the consumer was not started: await its start() first")
        return self

    async def __anext__(self) -> Record:
        try:
            return await self.getone()
        except (ClientClosed, ConsumerStoppedError):
            raise StopAsyncIteration from None

    # Positions

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        if not isinstance(offset, int) or offset < 0:
            raise ValueError("an offset is a number that is not negative")
        self._due.append(lambda: self._at_work.seek(TopicPartition(*partition), offset))

    async def seek_to_beginning(self, *partitions: tuple[str, int]) -> bool:
        await self._settled()
        await self._at_work.seek_to_beginning(*_places(partitions))
        return True

    async def seek_to_end(self, *partitions: tuple[str, int]) -> bool:
        await self._settled()
        await self._at_work.seek_to_end(*_places(partitions))
        return True

    async def seek_to_committed(self, *partitions: tuple[str, int]) -> dict[TopicPartition, int | None]:
        await self._settled()
        places = _places(partitions) or sorted(self.assignment())
        found = await self._at_work.committed(places)
        for place, committed in found.items():
            if committed is not None:
                await self._at_work.seek(place, committed)
        return {place: None if each is None else each.offset for place, each in found.items()}

    async def position(self, partition: tuple[str, int]) -> int:
        await self._settled()
        return await self._at_work.position(TopicPartition(*partition))

    async def offsets_for_times(self, timestamps: Mapping[P, int]) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        if any(time_ms < 0 for time_ms in timestamps.values()):
            raise ValueError("a time is not negative")
        await self._settled()
        return await self._at_work.offsets_for_times({TopicPartition(*each): at for each, at in timestamps.items()})

    async def beginning_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        await self._settled()
        return await self._at_work.beginning_offsets(_places(partitions))

    async def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        await self._settled()
        return await self._at_work.end_offsets(_places(partitions))

    def pause(self, *partitions: tuple[str, int]) -> None:
        places = _places(partitions)
        self._paused |= set(places)
        self._due.append(lambda: self._at_work.pause(*places))

    def resume(self, *partitions: tuple[str, int]) -> None:
        places = _places(partitions)
        self._paused -= set(places)
        self._due.append(lambda: self._at_work.resume(*places))

    def paused(self) -> set[TopicPartition]:
        return set(self._paused)

    # Commits

    async def commit(self, offsets: Offsets | None = None) -> None:
        if self._given.get("group_id") is None:
            raise IllegalOperation("to commit, give a group_id")
        await self._settled()
        await self._at_work.commit_sync(offsets_of(offsets))

    async def committed(self, partition: tuple[str, int]) -> int | None:
        await self._settled()
        place = TopicPartition(*partition)
        found = (await self._at_work.committed([place]))[place]
        return None if found is None else found.offset

    # The cluster

    async def topics(self) -> set[str]:
        await self._settled()
        found = await self._at_work.list_topics()
        self._partitions = {name: {info.partition for info in infos} for name, infos in found.items()}
        return set(found)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """As `start` or the last `topics` has found them."""
        return self._partitions.get(topic)

    def highwater(self, partition: tuple[str, int]) -> int | None:
        """Where the partition ends, as the last fetch has told."""
        place = TopicPartition(*partition)
        lag = self._at_work.current_lag(place)
        position = self._at_work._host.session().state.position(place)
        return None if lag is None or position is None else position + lag

    # How it goes

    async def _settled(self) -> None:
        """What was asked for without waiting is done."""
        while self._due:
            await self._due.pop(0)()
        self._assigned = None
        await self._look()

    async def _look(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if self._alone is None or (self._looked_s is not None and now_s - self._looked_s < REFRESH_S):
            return
        self._looked_s = now_s
        names, pattern = self._alone
        if pattern is not None:
            names[:] = [name for name in await self._at_work.list_topics() if re.match(pattern, name)]
        places = {info.place for name in names for info in await self._at_work.partitions_for(name)}
        before = self._at_work.assignment()
        if places - before:
            await self._at_work.assign(sorted(places | before))

    @property
    def _at_work(self) -> "Consumer[Any, Any]":
        if self._consumer is None:
            raise ConsumerStoppedError("the consumer was not started: await its start() first")
        return self._consumer

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


def _places(partitions: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    return [TopicPartition(*each) for each in partitions]
