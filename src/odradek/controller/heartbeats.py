"""Heartbeats: a broker lives, is ready, wants to be fenced or to stop; and what follows when it falls silent.

    state of the broker      it asks for            becomes
    fenced                   to be unfenced         unfenced, once it has read its own registration
    fenced                   to stop                may stop at once
    unfenced                 to be fenced           fenced
    unfenced                 to stop                in controlled shutdown: it leads nothing any more
    in controlled shutdown   to stop                may stop, and is fenced, once it leads nothing and the other
                                                    brokers have read of it

Nobody asks for fencing in vain: a fenced broker is in no in-sync set in which there is another replica (C9).
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from odradek.broken_rule import present
from odradek.controller import elections
from odradek.controller.directories import directories_went_offline
from odradek.controller.sessions import Session
from odradek.controller.state import ControllerState
from odradek.metadata import versions
from odradek.metadata.registration import FENCE, IN_CONTROLLED_SHUTDOWN, UNFENCE, BrokerRegistration
from odradek.protocol.declare import Message
from odradek.protocol.messages.k63_broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.messages.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
)
from odradek.replicated.decision import Decision


def heartbeat(
    state: ControllerState, now_ms: int, request: BrokerHeartbeatRequest, next_offset: int
) -> Decision[BrokerHeartbeatResponse]:
    broker = state.cluster.check_epoch(request.broker_id, request.broker_epoch)
    session = state.sessions.touch(broker.id, now_ms)
    session.metadata_offset = request.current_metadata_offset
    is_caught_up = request.current_metadata_offset >= broker.epoch
    response = BrokerHeartbeatResponse(is_caught_up=is_caught_up, is_fenced=broker.fenced)
    lost = _lost_directories(state, broker, request)
    if lost:
        # One record per partition and decision: what else the broker asks for waits for its next heartbeat.
        return Decision(state.versioned(lost), response, is_atomic=False)
    cordoned = _cordoned_directories(state, broker, request)
    changes = _changes(state, broker, request, response, next_offset + len(cordoned))
    records: Iterable[Message | None] = cordoned if changes is None else chain(cordoned, changes)
    return Decision(state.versioned(records), response, is_atomic=False)


def _changes(
    state: ControllerState,
    broker: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    response: BrokerHeartbeatResponse,
    next_offset: int,
) -> Iterator[Message | None] | None:
    """What becomes of the broker by the table above; None if it stays as it is."""
    if broker.fenced:
        if request.want_shut_down:
            response.should_shut_down = True
        elif not request.want_fence and response.is_caught_up:
            response.is_fenced = False
            return _unfence(state, broker)
    elif request.want_fence:
        response.is_fenced = True
        response.should_shut_down = request.want_shut_down
        return fence(state, broker)
    elif request.want_shut_down:
        return _shut_down(state, broker, response, next_offset)
    return None


def fence(state: ControllerState, broker: BrokerRegistration) -> Iterator[Message | None]:
    yield from elections.broker_left(state, broker.id)
    if state.features.metadata_version >= versions.REGISTRATION_CHANGES:
        yield BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=FENCE)
    else:
        yield FenceBrokerRecord(id=broker.id, epoch=broker.epoch)


def expire(state: ControllerState, now_ms: int) -> Decision[int | None]:
    """Fences the broker whose session has run out for the longest time; the response is its id, or None."""
    broker_id = state.sessions.expired(now_ms)
    if broker_id is None:
        return Decision((), None)
    state.sessions.end(broker_id)
    broker = state.cluster.brokers.get(broker_id)
    if broker is None or broker.fenced:
        return Decision((), broker_id)
    return Decision(state.versioned(fence(state, broker)), broker_id, is_atomic=False)


def _unfence(state: ControllerState, broker: BrokerRegistration) -> Iterator[Message | None]:
    if state.features.metadata_version >= versions.REGISTRATION_CHANGES:
        yield BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=UNFENCE)
    else:
        yield UnfenceBrokerRecord(id=broker.id, epoch=broker.epoch)
    yield from elections.broker_came(state, broker.id)


def _shut_down(
    state: ControllerState, broker: BrokerRegistration, response: BrokerHeartbeatResponse, next_offset: int
) -> Iterator[Message | None] | None:
    if state.features.metadata_version < versions.CONTROLLED_SHUTDOWN:
        response.should_shut_down = response.is_fenced = True
        return fence(state, broker)
    session = present(state.sessions.of(broker.id), "whoever sends a heartbeat has a session")
    if not broker.in_controlled_shutdown:
        return _begin_to_shut_down(state, broker, session, next_offset)
    if state.topics.leads_any(broker.id) or not _have_others_read(state, broker.id, session.controlled_shutdown_offset):
        return None
    response.should_shut_down = response.is_fenced = True
    return fence(state, broker)


def _begin_to_shut_down(
    state: ControllerState, broker: BrokerRegistration, session: Session, next_offset: int
) -> Iterator[Message | None]:
    yield BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=IN_CONTROLLED_SHUTDOWN
    )
    for record in elections.broker_left(state, broker.id):
        next_offset += record is not None
        yield record
    session.controlled_shutdown_offset = next_offset  # that of the last of these records


def _have_others_read(state: ControllerState, broker_id: int, offset: int) -> bool:
    others = {item.id for item in state.cluster.brokers.values() if item.is_active and item.id != broker_id}
    lowest = state.sessions.lowest_metadata_offset(others)
    return lowest is None or lowest >= offset


def _lost_directories(
    state: ControllerState, broker: BrokerRegistration, request: BrokerHeartbeatRequest
) -> list[Message]:
    if not request.offline_log_dirs or state.features.metadata_version < versions.DIRECTORY_ASSIGNMENT:
        return []
    return directories_went_offline(state, broker, request.offline_log_dirs)


def _cordoned_directories(
    state: ControllerState, broker: BrokerRegistration, request: BrokerHeartbeatRequest
) -> list[Message]:
    cordoned = request.cordoned_log_dirs
    if cordoned is None or state.features.metadata_version < versions.CORDONED_LOG_DIRS:
        return []
    if tuple(cordoned) == broker.cordoned_directories:
        return []
    return [
        BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=list(cordoned))
    ]
