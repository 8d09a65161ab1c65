"""Which session a fetch request belongs to, by its session id and epoch.

| id | epoch | what it asks for |
|---|---|---|
| any | -1 | no session; the one named ends |
| any | 0 | a new session with these partitions; the one named ends |
| n | the next one | what is new in the session n, after these changes |
| n | another | INVALID_FETCH_SESSION_EPOCH |
| unknown | from 1 on | FETCH_SESSION_ID_NOT_FOUND |
| n by names | from 1 on, version 13 | FETCH_SESSION_TOPIC_ID_ERROR, and the other way round |

Up to version 6 there are no sessions. A request that leaves its session empty ends it. Whatever it is, a `DelayedFetch`
answers it, now or later, from a `FetchSession` that is kept or dropped afterwards.
"""

from typing import TYPE_CHECKING

from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import FetchRequest, FetchResponse
from odradek.reactor.pending import Pending
from odradek.replica.fetch.answer import refused
from odradek.replica.fetch.delayed import DelayedFetch
from odradek.replica.fetch.parameters import SESSION_VERSION_MIN, TOPIC_ID_VERSION_MIN, FetchParameters
from odradek.replica.fetch.session import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, FetchSession, next_epoch

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager


def fetch_in_session(
    replicas: "ReplicaManager", request: FetchRequest, parameters: FetchParameters
) -> FetchResponse | Pending[FetchResponse]:
    epoch = request.session_epoch if parameters.version >= SESSION_VERSION_MIN else FINAL_EPOCH
    if epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        return _continue(replicas, request, parameters)
    if request.session_id != NO_SESSION:
        _end(replicas, request.session_id)
    session = _new_session(request, parameters)
    wants_session = epoch == INITIAL_EPOCH
    return DelayedFetch(replicas, session, parameters, is_full=True, wants_session=wants_session).start()


def _new_session(request: FetchRequest, parameters: FetchParameters) -> FetchSession:
    session = FetchSession(
        uses_topic_ids=parameters.version >= TOPIC_ID_VERSION_MIN, is_privileged=parameters.is_follower
    )
    session.add(request.topics)
    return session


def _end(replicas: "ReplicaManager", session_id: int) -> None:
    session = replicas.sessions.get(session_id)
    if session is not None:
        replicas.sessions.remove(session)


def _continue(
    replicas: "ReplicaManager", request: FetchRequest, parameters: FetchParameters
) -> FetchResponse | Pending[FetchResponse]:
    session = replicas.sessions.get(request.session_id)
    if session is None:
        return refused(errors.FetchSessionIdNotFound())
    if session.epoch != request.session_epoch:
        return refused(errors.InvalidFetchSessionEpoch())
    if session.uses_topic_ids != (parameters.version >= TOPIC_ID_VERSION_MIN):
        return refused(errors.FetchSessionTopicIdError())
    if request.topics or request.forgotten_topics_data:
        session.update(request)
    if session.waiting is not None:
        session.waiting.give_way()
        session.waiting = None
    if not session.size:
        replicas.sessions.remove(session)
        session.id = NO_SESSION
        return DelayedFetch(replicas, session, parameters, is_full=True, wants_session=False).start()
    replicas.sessions.touch(session, replicas.mono_ms())
    session.epoch = next_epoch(session.epoch)
    return DelayedFetch(replicas, session, parameters, is_full=False, wants_session=True).start()
