"""The share consumer for asyncio programs."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

from odradek.client.consumer.arguments import milliseconds, topics_and_mapping
from odradek.client.consumer.asyncio_calls import AsyncioCalls
from odradek.client.consumer.consumer_state import CLOSED, UNSUBSCRIBED, ConsumerState
from odradek.client.consumer.records import ConsumerRecord
from odradek.client.host.asyncio_host import AsyncioHost
from odradek.client.settings import client_config
from odradek.client.share_consumer.acknowledgement import ACCEPT, AcknowledgeType
from odradek.client.share_consumer.arguments import said_of
from odradek.client.share_consumer.share_calls import AcknowledgementCommitCallback, Outcomes, ShareCalls
from odradek.client.share_consumer.share_record import ShareRecords
from odradek.client.share_consumer.share_session import ShareSession
from odradek.config.share_consumer import TABLE

if TYPE_CHECKING:
    from typing import Unpack

    from odradek.client.config_types import ShareConsumerConfig
    from odradek.client.consumer.consumer_metrics import MetricName
    from odradek.client.consumer.deserializer_types import Deserializer, K, V
else:
    K = TypeVar("K")
    V = TypeVar("V")

CLOSE_TIMEOUT = 30.0


class ShareConsumer(AsyncioCalls[ShareCalls], Generic[K, V]):
    """As `odradek.ShareConsumer`, with methods to await; no thread is started. The callback may be a coroutine.

    async with ShareConsumer("jobs", bootstrap_servers="localhost:9092", group_id="workers") as consumer:
        while True:
            for record in await consumer.poll(1.0):
                await work(record.value)

    Every await can be cancelled: nothing that was acquired is lost by it. Only one task may poll at a time.
    """

    _host: AsyncioHost[ShareSession]

    def __init__(
        self,
        *topics: str | Mapping[str, object],
        key_deserializer: "Deserializer[K] | None" = None,
        value_deserializer: "Deserializer[V] | None" = None,
        acknowledgement_commit_callback: AcknowledgementCommitCallback | None = None,
        **configs: "Unpack[ShareConsumerConfig]",
    ) -> None:
        names, mapping = topics_and_mapping(topics)
        caller = ShareCalls(
            client_config(TABLE, mapping, configs),
            names,
            key_deserializer=key_deserializer,
            value_deserializer=value_deserializer,
            callback=acknowledgement_commit_callback,
        )
        super().__init__(caller, AsyncioHost(caller.open_session))
        caller.on(self._host)

    # What it reads

    async def subscribe(self, topics: str | Iterable[str]) -> None:
        await self._run(self._caller.subscribe, topics)

    async def unsubscribe(self) -> None:
        await self._run(self._caller.unsubscribe)

    def subscription(self) -> set[str]:
        return set(self._caller.subscription)

    async def poll(self, timeout: float = 0.0) -> ShareRecords[K, V]:
        return await self._poll(self._caller.poll, milliseconds(timeout))

    # What became of it

    @overload
    async def acknowledge(self, record: ConsumerRecord[K, V], type: AcknowledgeType = ACCEPT, /) -> None: ...

    @overload
    async def acknowledge(self, topic: str, partition: int, offset: int, type: AcknowledgeType = ACCEPT, /) -> None: ...

    async def acknowledge(self, *said: object) -> None:
        """Of a record, or of the one with this topic, partition and offset. Nothing is sent yet."""
        await self._run(self._caller.acknowledge, *said_of(said))

    async def commit_sync(self, timeout: float | None = None) -> Outcomes:
        return await self._run(self._caller.commit_sync, timeout)

    async def commit_async(self) -> None:
        await self._run(self._caller.commit_async)

    async def set_acknowledgement_commit_callback(self, callback: AcknowledgementCommitCallback | None) -> None:
        await self._run(self._caller.set_callback, callback)

    # How it is

    @property
    def acquisition_lock_timeout_ms(self) -> int | None:
        return self._host.session().fetcher.lock_timeout_ms if self._host.has_started else None

    async def metrics(self) -> "dict[MetricName, float]":
        """What it counts, under Kafka's names."""
        return await self._run(self._caller.metrics)

    @property
    def state(self) -> ConsumerState:
        if self._caller.is_closed:
            return ConsumerState.of(CLOSED)
        if not self._host.has_started:
            return ConsumerState.of(UNSUBSCRIBED)
        return self._host.session().consumer_state()

    # The end

    def wakeup(self) -> None:
        """Ends the call that waits, or the next one that would, by a `Wakeup`. In any thread."""
        self._caller.settings.wakes.append(True)
        self._host.tell(lambda session: session.wake())

    async def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        timeout_ms = milliseconds(timeout)
        await self._end(self._caller.leave, timeout_ms, timeout_ms=timeout_ms)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
