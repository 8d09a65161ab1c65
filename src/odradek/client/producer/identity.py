"""Who an idempotent producer is to its brokers: its id and its transactions, driven over the session's channel.

What brokers can is known when the first one has answered: only then is there a `TransactionManager`, which speaks the
versions that they know. Transactions are of version 2 where the cluster has that feature switched on.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from odradek.broken_rule import present
from odradek.channel.backoff import Backoff
from odradek.channel.driver import Driver
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.producer.transaction_manager import PRODUCE, V1_MAX, VERSIONS, TransactionManager
from odradek.client.producer.transaction_states import State, TransactionStateError
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.reactor.pending import Pending

if TYPE_CHECKING:
    from odradek.client.offsets import Offsets
    from odradek.client.producer.prepared_transaction import PreparedTransaction
    from odradek.client.producer.session import ProducerSession

FEATURE = "transaction.version"
V2 = 2
NEEDED = frozenset((10, 22))  # FindCoordinator, InitProducerId


class Identity:
    def __init__(self, session: "ProducerSession", backoff: Backoff) -> None:
        self._session = session
        self._backoff = backoff
        self._driver: Driver | None = None
        self._events: list[Pending[None]] = []
        self._last_error: KafkaError | None = None
        self._unsupported: KafkaError | None = None  # why it cannot begin with these brokers
        self.produce_version_max = V1_MAX[PRODUCE]

    @property
    def is_begun(self) -> bool:
        return self._driver is not None

    @property
    def manager(self) -> TransactionManager:
        return present(self._session.sender.manager, "it has begun")

    @property
    def why_not(self) -> str:
        """Why there is no producer id yet; empty if there is one."""
        manager = self._session.sender.manager
        if manager is not None and manager.sequencer.producer.is_valid:
            return ""
        return "no producer id was given yet" + (f": {self._last_error.message}" if self._last_error else "")

    def begin(self) -> None:
        """A broker is there, and has told what it can."""
        session = self._session
        served = session.channel.client.api_versions.usable(VERSIONS)
        if not served.keys() >= NEEDED:
            self._unsupported = errors.UnsupportedVersion(
                "The brokers give no producer ids: they are older than 0.11, or one of them is; "
                "without enable.idempotence and transactional.id records can be sent."
            )
            session.wake()
            self._tell()
            return
        self._unsupported = None
        version = self._transaction_version(served)
        self.produce_version_max = VERSIONS[PRODUCE] if version >= V2 else V1_MAX[PRODUCE]
        manager = TransactionManager(
            session.settings.sender.transactional_id,
            versions={key: min(VERSIONS[key], served.get(key, VERSIONS[key])) for key in VERSIONS},
            transaction_version=version,
            timeout_ms=session.settings.transaction_timeout_ms,
            backoff=self._backoff,
        )
        manager.incomplete_batches = len(session.sender.incomplete)
        session.sender.manager = manager
        self._driver = Driver(session.channel, manager, on_event=self._happened, on_error=self._failed)
        session.wake()
        self._tell()

    def _transaction_version(self, served: Mapping[int, int]) -> int:
        if self._session.settings.sender.transactional_id is None:
            return V2
        knows_v2 = all(served.get(key, -1) > limit for key, limit in V1_MAX.items())
        nodes = self._session.channel.metadata.cluster.nodes
        known = [self._session.channel.client.api_versions.get(node.id) for node in nodes]
        levels = [each.finalized_features.get(FEATURE, 0) for each in known if each is not None]
        return V2 if knows_v2 and max(levels, default=0) >= V2 else 1

    def pump(self) -> None:
        if self._driver is not None:
            self._driver.pump()
        elif self._unsupported is not None:
            self._session.sender.abort_all(self._unsupported)
        if self._events:
            self._tell()  # some steps need no answer: the end of a transaction that nobody has heard of

    def stop(self) -> None:
        if self._driver is not None:
            self._driver.stop()
        self._tell()

    # Transactions

    async def init_transactions(self, timeout_ms: int) -> None:
        deadline_ms = self._now_ms() + timeout_ms
        await self._until(lambda: self.is_begun or self._unsupported is not None, deadline_ms, "init_transactions")
        if self._unsupported is not None:
            raise self._unsupported
        if self.manager.state in (State.UNINITIALIZED, State.PREPARED):
            self.manager.initialize()
        elif self.manager.state is not State.INITIALIZING:
            raise TransactionStateError("init_transactions was called before: once is enough")
        await self._settled(deadline_ms, "init_transactions")

    async def begin_transaction(self) -> None:
        self._checked().begin()

    async def send_offsets(self, offsets: "Offsets", member: ConsumerGroupMetadata, timeout_ms: int) -> None:
        manager = self._checked()
        deadline_ms = self._now_ms() + timeout_ms
        manager.send_offsets(offsets, member)
        self._session.wake()
        await self._until(lambda: not manager.has_asks, deadline_ms, "send_offsets_to_transaction")
        self._raise_error()

    async def prepare_transaction(self, timeout_ms: int) -> "PreparedTransaction":
        manager = self._checked()
        if manager.state is not State.IN_TRANSACTION:
            raise TransactionStateError(f"There is no transaction to prepare ({manager.state.value})")
        deadline_ms = self._now_ms() + timeout_ms
        while await self._session.flush(max(0, deadline_ms - self._now_ms())):
            self._raise_error()
            if self._now_ms() >= deadline_ms:
                raise errors.RequestTimedOut("prepare_transaction: not all records were delivered in time")
        await self._until(lambda: not manager.has_asks, deadline_ms, "prepare_transaction")
        self._raise_error()
        return manager.prepare()

    async def commit_transaction(self, timeout_ms: int) -> None:
        """A commit whose time is up goes on: called again, it waits on."""
        await self._end("commit_transaction", State.COMMITTING, lambda: self.manager.commit(), timeout_ms)

    async def abort_transaction(self, timeout_ms: int) -> None:
        await self._end("abort_transaction", State.ABORTING, lambda: self.manager.abort(), timeout_ms)

    async def _end(self, name: str, ending: State, begin: Callable[[], object], timeout_ms: int) -> None:
        deadline_ms = self._now_ms() + timeout_ms
        if ending is State.COMMITTING:
            self._checked()
        elif self.manager.state is State.FATAL_ERROR:
            self._raise_error()
        session = self._session
        session.sender.look(self._now_ms())
        if self.manager.state is not ending:
            begin()
        session.sender.hurries += 1
        try:
            session.wake()
            await self._settled(deadline_ms, name)
        finally:
            session.sender.hurries -= 1

    async def close(self, timeout_ms: int) -> None:
        """A transaction that is open is aborted: nobody will commit it."""
        manager = self._session.sender.manager
        if manager is None or not manager.is_transactional:
            return
        if manager.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR):
            try:
                await self.abort_transaction(timeout_ms)
            except (KafkaError, TransactionStateError):
                return

    def check_sending(self) -> None:
        """Any thread: it only looks."""
        manager = self._checked()
        if manager.state is not State.IN_TRANSACTION:
            is_new = manager.state in (State.UNINITIALIZED, State.PREPARED)
            first = "init_transactions()" if is_new else "begin_transaction()"
            raise TransactionStateError(
                f"A record is sent in a transaction: call {first} first ({manager.state.value})"
            )

    def _checked(self) -> TransactionManager:
        """The manager, if nothing has gone wrong; else what has."""
        manager = self._session.sender.manager
        if manager is None:
            raise TransactionStateError("call init_transactions() first")
        self._raise_error()
        return manager

    def _raise_error(self) -> None:
        error = self.manager.error
        if self.manager.state in (State.ABORTABLE_ERROR, State.FATAL_ERROR) and error is not None:
            raise error

    async def _settled(self, deadline_ms: int, name: str) -> None:
        """Until nothing is under way; raises what has gone wrong."""
        over = (State.READY, State.ABORTABLE_ERROR, State.FATAL_ERROR)
        self._session.wake()
        await self._until(lambda: self.manager.state in over, deadline_ms, name)
        self._raise_error()

    async def _until(self, is_over: Callable[[], bool], deadline_ms: int, name: str) -> None:
        while not is_over():
            left_ms = deadline_ms - self._now_ms()
            if left_ms <= 0:
                why = "" if self._last_error is None else f": {self._last_error.message}"
                raise errors.RequestTimedOut(f"{name} was not done in time{why}")
            event: Pending[None] = self._session.loop.pending()
            self._events.append(event)
            timer = self._session.loop.after(left_ms, lambda waiting=event: waiting.resolve(None))  # type: ignore[misc]
            await event
            timer.cancel()

    def _now_ms(self) -> int:
        return self._session.loop.ports.clock.mono_ms()

    def _failed(self, error: KafkaError) -> None:
        self._last_error = error

    def _happened(self) -> None:
        self._session.sender.identity_changed(self._now_ms())
        self._session.wake()
        self._tell()

    def _tell(self) -> None:
        events, self._events = self._events, []
        for event in events:
            event.resolve(None)
