"""Which node coordinates a group. The cores of one consumer share one lookup; it is a core of its own.

It asks when somebody needs to know (`node_id` is None and `want` was called) and goes on asking until it knows. Who is
told NOT_COORDINATOR, or does not get through, calls `forget`.
"""

from odradek.broken_rule import instance
from odradek.client.core import ANY_BROKER, GROUP, Backoff, Destination, Send, Versions, coordinator
from odradek.protocol import errors
from odradek.protocol.declare import Response
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_HAS_KEYS = 4  # the first version that asks for several coordinators


class CoordinatorLookup:
    __slots__ = (
        "_backoff",
        "_failures",
        "_is_wanted",
        "_retry_at_ms",
        "_token",
        "_versions",
        "error",
        "group_id",
        "node_id",
    )

    def __init__(self, group_id: str, versions: Versions, backoff: Backoff | None = None) -> None:
        self.group_id = group_id
        self.node_id: int | None = None
        self.error: errors.KafkaError | None = None  # nobody will ever be named
        self._versions = versions
        self._backoff = backoff or Backoff()
        self._failures = 0
        self._is_wanted = False
        self._retry_at_ms = 0
        self._token: object = None

    def want(self) -> Destination | None:
        """Where requests for the coordinator go; None as long as that is not known."""
        if self.node_id is not None:
            return coordinator(GROUP, self.group_id, self.node_id)
        self._is_wanted = True
        return None

    def forget(self) -> None:
        self.node_id = None

    def forgive(self) -> None:
        """Whoever needs to know was told the error: the next one may be answered otherwise."""
        self.error = None
        self._is_wanted = False

    @property
    def has_failed(self) -> bool:
        """The last attempt to find out has failed."""
        return self.node_id is None and self._failures > 0

    def poll(self, now_ms: int) -> list[Send]:
        if not self._is_due or now_ms < self._retry_at_ms:
            return []
        self._token = object()
        request = FindCoordinatorRequest(key_type=GROUP)
        version = self._versions[request.api_key]
        if version >= _HAS_KEYS:
            request.coordinator_keys = [self.group_id]
        else:
            request.key = self.group_id
        return [Send(request, version, ANY_BROKER, self._token)]

    def answered(self, token: object, response: Response, now_ms: int) -> None:
        if token is not self._token:
            return
        told = instance(response, FindCoordinatorResponse, "the answer belongs to its question")
        found = told.coordinators[0] if told.coordinators else told
        error = errors.by_code(found.error_code) if found.error_code else None
        if error is None:
            self._token = None
            self._failures = 0
            self._is_wanted = False
            self.node_id = found.node_id
        elif error.retriable:
            self.failed(token, now_ms)
        else:
            self._token = None
            self.error = error()

    def failed(self, token: object, now_ms: int) -> None:
        if token is self._token:
            self._token = None
            self._failures += 1
            self._retry_at_ms = now_ms + self._backoff.after(self._failures)

    def deadline(self) -> int | None:
        return self._retry_at_ms if self._is_due else None

    @property
    def _is_due(self) -> bool:
        return self._is_wanted and self.node_id is None and self._token is None and self.error is None
