"""The share consumer, for programs that call and wait."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

from odradek.client.consumer.arguments import milliseconds, topics_and_mapping
from odradek.client.consumer.consumer_state import CLOSED, UNSUBSCRIBED, ConsumerState
from odradek.client.consumer.records import ConsumerRecord
from odradek.client.consumer.thread_calls import ThreadCalls
from odradek.client.host.thread_host import ThreadHost
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


class ShareConsumer(ThreadCalls[ShareCalls], Generic[K, V]):
    """Reads records of topics as a member of a share group: each goes to one member, which says what became of it.

    with ShareConsumer("jobs", bootstrap_servers="localhost:9092", group_id="workers") as consumer:
        while True:
            for record in consumer.poll(1.0):
                work(record.value)

    What a poll has returned is accepted by the next poll or commit; with share_acknowledgement_mode="explicit" the
    program says so itself, record by record, by `acknowledge`. One thread uses it at a time; only `wakeup` and `state`
    are for all. Its work is done by a thread of its own, which starts with the first use; the program is told of what
    became of acknowledgements in its own thread, inside of `poll`, the commits and `close`.
    """

    _host: ThreadHost[ShareSession]

    def __init__(
        self,
        *topics: str | Mapping[str, object],
        key_deserializer: "Deserializer[K] | None" = None,
        value_deserializer: "Deserializer[V] | None" = None,
        acknowledgement_commit_callback: AcknowledgementCommitCallback | None = None,
        **configs: "Unpack[ShareConsumerConfig]",
    ) -> None:
        names, mapping = topics_and_mapping(topics)
        config = client_config(TABLE, mapping, configs)
        caller = ShareCalls(
            config,
            names,
            key_deserializer=key_deserializer,
            value_deserializer=value_deserializer,
            callback=acknowledgement_commit_callback,
        )
        name = f"odradek-share-consumer-{config['client.id']}".rstrip("-")
        super().__init__(caller, ThreadHost(name, caller.open_session, is_one_process=True))
        caller.on(self._host)

    # What it reads

    def subscribe(self, topics: str | Iterable[str]) -> None:
        """By names, in the place of those before. No topics at all are as `unsubscribe`."""
        self._run(self._caller.subscribe, topics)

    def unsubscribe(self) -> None:
        """Leaves the group. What the program has may still be acknowledged and committed."""
        self._run(self._caller.unsubscribe)

    def subscription(self) -> set[str]:
        return set(self._caller.subscription)

    def poll(self, timeout: float = 0.0) -> ShareRecords[K, V]:
        """The next records; none if none came within `timeout` seconds. Each has a `delivery_count`. Sends what is
        acknowledged; callbacks run in here. What was renewed is returned once more before anything else is.
        """
        return self._run_poll(self._caller.poll, milliseconds(timeout))

    # What became of it

    @overload
    def acknowledge(self, record: ConsumerRecord[K, V], type: AcknowledgeType = ACCEPT, /) -> None: ...

    @overload
    def acknowledge(self, topic: str, partition: int, offset: int, type: AcknowledgeType = ACCEPT, /) -> None: ...

    def acknowledge(self, *said: object) -> None:
        """Of a record, or of the one with this topic, partition and offset. It is sent with the next poll or commit,
        and until then may be said anew.
        """
        self._run(self._caller.acknowledge, *said_of(said))

    def commit_sync(self, timeout: float | None = None) -> Outcomes:
        """Sends what is acknowledged and waits for the outcome: by partition, None or why it was refused."""
        return self._run(self._caller.commit_sync, timeout)

    def commit_async(self) -> None:
        """Sends what is acknowledged and does not wait. The callback is told of the outcome."""
        self._run(self._caller.commit_async)

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCommitCallback | None) -> None:
        """`callback(offsets, error)` is called for each partition: with its offsets, and None or why what was said of
        them was refused. It runs in a later call of `poll`, of a commit, or of `close`. None: nobody is told.
        """
        self._run(self._caller.set_callback, callback)

    # How it is

    @property
    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long the records of a poll are this consumer's, as the broker has told last; None if it has not."""
        return self._host.session().fetcher.lock_timeout_ms if self._host.has_started else None

    def metrics(self) -> "dict[MetricName, float]":
        """What it counts, under Kafka's names."""
        return self._run(self._caller.metrics)

    @property
    def state(self) -> ConsumerState:
        """How it is, for health checks, in any thread."""
        if self._caller.is_closed:
            return ConsumerState.of(CLOSED)
        if not self._host.has_started:
            return ConsumerState.of(UNSUBSCRIBED)
        return self._host.session().consumer_state()

    # The end

    def wakeup(self) -> None:
        """Ends the call that waits, or the next one that would, by a `Wakeup`. In any thread or signal's handler."""
        self._caller.settings.wakes.append(True)
        self._host.tell(lambda session: session.wake())

    def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Sends what is acknowledged, leaves the group and ends. Of what was not acknowledged nothing is said: somebody
        gets it again. With implicit acknowledgement that is what the last poll has returned, unless it was committed.
        """
        timeout_ms = milliseconds(timeout)
        self._end(self._caller.leave, timeout_ms, timeout_ms=timeout_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
