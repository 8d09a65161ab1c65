"""One consumer at work in the client's loop: its channel, its place in the group, what it fetches and where it stands.

It is the one writer of positions and assignment. The program's thread (`caller.py`) asks it for operations, takes
records out of the buffer by itself, and looks at two things without asking: `has_events`, whether there is anything
that only the program's thread can do (call back, raise), and the buffer.
"""

import logging
from collections.abc import Iterable, Mapping

from odradek.channel.cluster import PartitionInfo
from odradek.client.consumer.commit_calls import IN_PLACE, CommitCall
from odradek.client.consumer.consumer_metrics import MetricName
from odradek.client.consumer.consumer_state import ConsumerState, word_of
from odradek.client.consumer.group_session import Subscription
from odradek.client.consumer.offset_reset import ResetStrategy
from odradek.client.consumer.ownership import ASSIGN, REVOKE, OwnershipChange
from odradek.client.consumer.session_loop import SessionLoop
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.offsets import OffsetAndMetadata, OffsetAndTimestamp, Offsets
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition

logger = logging.getLogger("odradek.client")

Places = Iterable[TopicPartition]

LEAVE_MS = 500  # it is written at once; its answer may stand behind that of a join, which waits for others
END_SESSIONS_MS = 50  # a broker that does not hear of it ends a fetch session by itself


class ConsumerSession(SessionLoop):
    # Subscription and assignment

    async def subscribe(self, subscription: Subscription) -> None:
        group = self.the_group()
        group.subscribe(subscription)
        self._watch_topics()
        if subscription.pattern is None:
            self._hold_what_goes(subscription.topics)
            cluster = self.channel.metadata.cluster
            if all(cluster.partitions(topic) for topic in subscription.topics):
                self._take_news()
        elif not group.has_metadata:
            self.channel.metadata.request_update()
        self.step()

    def _hold_what_goes(self, topics: frozenset[str]) -> None:
        """What is no longer subscribed to will be given up; what is again stays, unless it is being given up now."""
        change = self.the_group().change
        going = frozenset() if change is None or change.kind == ASSIGN else change.partitions
        kept = {place for place in self.state.assigned() if place.topic in topics}
        self.state.unmark_revoking(kept - going)
        self.state.mark_revoking(self.state.assigned() - kept)

    async def unsubscribe(self) -> None:
        if self.group is not None and self.group.subscription:
            self.group.unsubscribe()
        else:
            self.state.assign(())
        self.step()

    async def assign(self, places: list[TopicPartition]) -> None:
        self._being_assigned = frozenset()
        self.state.assign(places)
        self.step()

    async def next_change(self) -> OwnershipChange | None:
        self.step()
        return None if self.group is None else self.group.change

    async def begin(self, change: OwnershipChange) -> list[TopicPartition]:
        """What the program is to be told of: what it was told to give up is not lost again."""
        if change.kind == ASSIGN:
            new = change.partitions - self.state.assigned()
            self._being_assigned |= change.partitions
            self.state.assign(sorted(self.state.assigned() | change.partitions))
            return sorted(new)
        self.state.mark_revoking(change.partitions)
        return sorted(change.partitions & self.state.assigned())

    async def finish(self, change: OwnershipChange) -> None:
        group = self.the_group()
        group.count(change)
        if change.kind == ASSIGN:
            self._being_assigned -= change.partitions
        else:
            self.state.assign(sorted(self.state.assigned() - change.partitions))
            group.commits.drop(change.partitions)
            if change.kind == REVOKE and group.change is not change:
                logger.info("the rebalance of group %s went on without %s", group.config.membership.group_id, self)
        group.done(change)
        self.step()

    async def enforce_rebalance(self) -> None:
        self.the_group().enforce_rebalance()
        self.step()

    async def group_metadata(self) -> ConsumerGroupMetadata:
        """One that has lost its place is who it was: offsets in the name of nobody would be taken from anybody."""
        group = self.the_group()
        who, config = group.identity() or group.last_identity, group.config.membership
        if who is None:
            return ConsumerGroupMetadata(config.group_id, group_instance_id=config.instance_id)
        return ConsumerGroupMetadata(config.group_id, who.epoch, who.member_id, config.instance_id)

    # Commits

    def set_commit_timer(self, delay_ms: int) -> None:
        """The program's thread is to make an automatic commit then."""
        self._is_commit_due = False
        if self._commit_timer is not None:
            self._commit_timer.cancel()
        self._commit_timer = self.loop.after(delay_ms, self._commit_is_due)
        self._tell_waiting()

    def _commit_is_due(self) -> None:
        self._is_commit_due = True
        self._tell_waiting()

    def start_commit(self, call: CommitCall) -> None:
        """An asynchronous one; its outcome comes by `outcomes`."""
        told = call.when_done

        def done(call: CommitCall) -> None:
            told(call)
            self._release_outcomes()

        call.when_done = done
        self._asynchronous.append(call)
        self.the_group().commits.add(call)
        self.step()

    def _release_outcomes(self) -> None:
        while self._asynchronous and self._asynchronous[0].is_done:
            self.outcomes.append(self._asynchronous.popleft())

    async def finish_commits(self, timeout_ms: int) -> None:
        """Until those that were begun are done."""
        await self.until(lambda: not self._asynchronous, timeout_ms)

    async def until_done(self, call: CommitCall, timeout_ms: int) -> bool:
        return await self.until(lambda: call.is_done, timeout_ms)

    async def commit(self, offsets: Offsets, timeout_ms: int) -> None:
        group = self.the_group()
        for place, offset in offsets.items():
            if isinstance(offset, OffsetAndMetadata):
                self.channel.metadata.saw_leader_epoch(*place, offset.leader_epoch)
        call = group.commits.commit(offsets, IN_PLACE)
        self.step()
        try:
            is_done = await self.until(lambda: call.is_done, timeout_ms)
        finally:
            group.commits.withdraw(call)
        if call.error is not None:
            raise call.error
        if not is_done:
            raise self._late("The offsets were not committed", timeout_ms)

    async def committed(
        self, places: Places, timeout_ms: int, *, is_stable: bool = False
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """`is_stable`: also of a transaction whose commit was answered, and whose offsets may not be written yet."""
        group = self.the_group()
        call = group.commits.fetch([TopicPartition(*place) for place in places])
        call.is_stable = is_stable
        self.step()
        try:
            is_done = await self.until(lambda: call.is_done, timeout_ms)
        finally:
            group.commits.withdraw(call)
        if call.error is not None:
            raise call.error
        if not is_done:
            raise self._late("The committed offsets were not told", timeout_ms)
        return call.found

    # Positions

    async def seek(self, place: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        self.state.seek(place, offset)
        self._being_assigned -= {place}
        self.step()

    async def read_range(self, place: TopicPartition, start: int, stop: int) -> None:
        """Assigned is this partition alone; it is read from `start`, and nothing at or after `stop` is asked for."""
        self._being_assigned = frozenset()
        self.state.assign([place])
        self.state.seek(place, start)
        self.state.limit(place, stop)
        self.step()

    async def seek_back(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """To what an iterator has kept: it is read again."""
        for place, offset in offsets.items():
            if self.state.is_assigned(place):
                self.state.seek(place, offset)
        self.step()

    async def reset(self, places: list[TopicPartition], strategy: ResetStrategy) -> None:
        self.state.request_reset(places or sorted(self.state.assigned()), strategy)
        self._being_assigned -= frozenset(places)
        self.step()

    async def position(self, place: TopicPartition, timeout_ms: int) -> int:
        self.state.position(place)  # raises for one that is not assigned

        def is_known() -> bool:
            return bool(self._errors) or not self.state.is_assigned(place) or self.state.position(place) is not None

        self.step()
        is_done = await self.until(is_known, timeout_ms)
        found = self.state.position(place)
        if found is not None:
            return found
        error = self.take_error() if is_done else None
        raise error or self._late(f"The position of {place} was not found", timeout_ms)

    async def pause(self, places: list[TopicPartition]) -> None:
        self.state.pause(places)

    async def resume(self, places: list[TopicPartition]) -> None:
        self.state.resume(places)
        self.step()

    async def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout_ms: int
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        from odradek.client.consumer.offset_lookups import offsets_for_times  # which loads some of the admin client

        return await offsets_for_times(self.asker, times_ms, timeout=timeout_ms / 1000)

    async def beginning_offsets(self, places: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        from odradek.client.consumer.offset_lookups import beginning_offsets

        return await beginning_offsets(self.asker, places, timeout=timeout_ms / 1000)

    async def end_offsets(self, places: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        from odradek.client.consumer.offset_lookups import end_offsets

        is_read_committed = self.state.is_read_committed
        return await end_offsets(self.asker, places, is_read_committed=is_read_committed, timeout=timeout_ms / 1000)

    def find_end(self, place: TopicPartition) -> None:
        """For the lag of a partition of which no fetch has told: one that was given again has nothing to tell."""
        if place not in self._ends_asked:
            self._ends_asked.add(place)
            self.loop.spawn(self._find_end(place))

    async def _find_end(self, place: TopicPartition) -> None:
        try:
            end = (await self.end_offsets([place], self._settings.api_timeout_ms))[place]
        except KafkaError as error:
            logger.debug("the end of %s was not told: %s", place, error)
        else:
            if (state := self.state.get(place)) is not None:
                state.high_watermark = max(state.high_watermark, end)
                state.last_stable_offset = max(state.last_stable_offset, end)
        finally:
            self._ends_asked.discard(place)

    async def read_metrics(self) -> dict[MetricName, float]:
        return self.metrics.read()

    async def topics(self, names: list[str] | None, timeout_ms: int) -> dict[str, list[PartitionInfo]]:
        """The partitions of these topics, or of all; what is asked is this, whatever else the consumer reads."""
        from odradek.client.consumer.topic_lookup import topics

        return await topics(self.asker, names, timeout_ms, allows_creation=self._settings.allows_creation)

    # How it is, in any thread

    def consumer_state(self) -> ConsumerState:
        group = self.group
        last_poll_s = None
        if group is not None and group.polled_ms:
            last_poll_s = (self._mono_ms() - group.polled_ms) / 1000 if not group.is_polling else 0.0
        lags = [lag for place in self.state.assigned() if (lag := self._lag(place)) is not None]
        word = word_of(group, is_assigned=bool(self.state.assigned()))
        error = None if group is None else group.error
        return ConsumerState.of(word, error, last_poll_s, sum(lags) if lags else None)

    def _lag(self, place: TopicPartition) -> int | None:
        try:
            return self.state.lag(place)
        except ValueError:
            return None  # it has gone meanwhile

    # The end

    async def close(self, timeout_ms: int) -> None:
        deadline_ms = self._mono_ms() + timeout_ms
        if self.group is not None:
            self.group.leave_at_close()
        self.fetcher.close()
        self.step()
        left_ms = max(0, deadline_ms - self._mono_ms())
        await self.until(lambda: self.group is None or self.group.has_left, min(left_ms, LEAVE_MS))
        left_ms = max(0, deadline_ms - self._mono_ms())
        await self.until(lambda: self.fetcher.is_closed, min(left_ms, END_SESSIONS_MS))
        self._is_closed = True
        if self._commit_timer is not None:
            self._commit_timer.cancel()
        if self.group is not None:
            self.group.stop()
        for driver in self._drivers:
            driver.stop()
        self.channel.close()
