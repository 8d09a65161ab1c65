"""The outcome of a commit that a program does not wait for."""

from collections.abc import Mapping

from odradek.client.consumer.arguments import FOR_EVER_MS, milliseconds
from odradek.client.consumer.polling import AsynchronousCommit
from odradek.client.consumer.session import ConsumerSession
from odradek.client.host.thread_host import ThreadHost
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition


class CommitFuture:
    """The outcome of `commit_async`, for who wants to wait for it."""

    __slots__ = ("_call", "_host")

    def __init__(self, call: AsynchronousCommit, host: ThreadHost[ConsumerSession]) -> None:
        self._call = call
        self._host = host

    @property
    def offsets(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        return self._call.offsets

    def done(self) -> bool:
        return self._call.is_done

    def exception(self, timeout: float | None = None) -> KafkaError | None:
        """None if it went well; TimeoutError if it is not done in time."""
        call, timeout_ms = self._call, FOR_EVER_MS if timeout is None else milliseconds(timeout)
        if not call.is_done and not self._host.run(lambda session: session.until_done(call, timeout_ms)):
            raise TimeoutError("the commit is still under way")
        return call.error

    def result(self, timeout: float | None = None) -> None:
        error = self.exception(timeout)
        if error is not None:
            raise error
