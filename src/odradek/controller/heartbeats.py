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
from typing import TYPE_CHECKING

from odradek.controller import elections
from odradek.controller.directories import directories_went_offline
from odradek.controller.registration import FENCE, IN_CONTROLLED_SHUTDOWN, UNFENCE, BrokerRegistration
from odradek.controller.sessions import Session
from odradek.metadata import versions
from odradek.protocol.declare import Message
from odradek.protocol.messages.k63_broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.messages.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
)
from odradek.replicated.decision import Decision

if TYPE_CHECKING:
    from odradek.controller.core import ControllerCore


def heartbeat(
    core: "ControllerCore", now_ms: int, request: BrokerHeartbeatRequest, next_offset: int
) -> Decision[BrokerHeartbeatResponse]:
    broker = core.cluster.check_epoch(request.broker_id, request.broker_epoch)
    session = core.sessions.touch(broker.id, now_ms)
    session.metadata_offset = request.current_metadata_offset
    is_caught_up = request.current_metadata_offset >= broker.epoch
    response = BrokerHeartbeatResponse(is_caught_up=is_caught_up, is_fenced=broker.is_fenced)
    lost = _lost_directories(core, broker, request)
    if lost:
        # One record per partition and decision: what else the broker asks for waits for its next heartbeat.
        return Decision(core.versioned(lost), response, is_atomic=False)
    cordoned = _cordoned_directories(core, broker, request)
    changes = _changes(core, broker, request, response, next_offset + len(cordoned))
    records: Iterable[Message | None] = cordoned if changes is None else chain(cordoned, changes)
    return Decision(core.versioned(records), response, is_atomic=False)


def _changes(
    core: "ControllerCore",
    broker: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    response: BrokerHeartbeatResponse,
    next_offset: int,
) -> Iterator[Message | None] | None:
    """What becomes of the broker by the table above; None if it stays as it is."""
    if broker.is_fenced:
        if request.want_shut_down:
            response.should_shut_down = True
        elif not request.want_fence and response.is_caught_up:
            response.is_fenced = False
            return _unfence(core, broker)
    elif request.want_fence:
        response.is_fenced = True
        response.should_shut_down = request.want_shut_down
        return fence(core, broker)
    elif request.want_shut_down:
        return _shut_down(core, broker, response, next_offset)
    return None


def fence(core: "ControllerCore", broker: BrokerRegistration) -> Iterator[Message | None]:
    yield from elections.broker_left(core, broker.id)
    if core.features.metadata_version >= versions.REGISTRATION_CHANGES:
        yield BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=FENCE)
    else:
        yield FenceBrokerRecord(id=broker.id, epoch=broker.epoch)


def expire(core: "ControllerCore", now_ms: int) -> Decision[int | None]:
    """Fences the broker whose session has run out for the longest time; the response is its id, or None."""
    broker_id = core.sessions.expired(now_ms)
    if broker_id is None:
        return Decision((), None)
    core.sessions.end(broker_id)
    broker = core.cluster.brokers.get(broker_id)
    if broker is None or broker.is_fenced:
        return Decision((), broker_id)
    return Decision(core.versioned(fence(core, broker)), broker_id, is_atomic=False)


def _unfence(core: "ControllerCore", broker: BrokerRegistration) -> Iterator[Message | None]:
    if core.features.metadata_version >= versions.REGISTRATION_CHANGES:
        yield BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=UNFENCE)
    else:
        yield UnfenceBrokerRecord(id=broker.id, epoch=broker.epoch)
    yield from elections.broker_came(core, broker.id)


def _shut_down(
    core: "ControllerCore", broker: BrokerRegistration, response: BrokerHeartbeatResponse, next_offset: int
) -> Iterator[Message | None] | None:
    if core.features.metadata_version < versions.CONTROLLED_SHUTDOWN:
        response.should_shut_down = response.is_fenced = True
        return fence(core, broker)
    session = core.sessions.of(broker.id)
    assert session is not None
    if not broker.in_controlled_shutdown:
        return _begin_to_shut_down(core, broker, session, next_offset)
    if core.topics.leads_any(broker.id) or not _have_others_read(core, broker.id, session.controlled_shutdown_offset):
        return None
    response.should_shut_down = response.is_fenced = True
    return fence(core, broker)


def _begin_to_shut_down(
    core: "ControllerCore", broker: BrokerRegistration, session: Session, next_offset: int
) -> Iterator[Message | None]:
    yield BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=IN_CONTROLLED_SHUTDOWN
    )
    for record in elections.broker_left(core, broker.id):
        next_offset += record is not None
        yield record
    session.controlled_shutdown_offset = next_offset  # that of the last of these records


def _have_others_read(core: "ControllerCore", broker_id: int, offset: int) -> bool:
    others = {item.id for item in core.cluster.brokers.values() if item.is_active and item.id != broker_id}
    lowest = core.sessions.lowest_metadata_offset(others)
    return lowest is None or lowest >= offset


def _lost_directories(
    core: "ControllerCore", broker: BrokerRegistration, request: BrokerHeartbeatRequest
) -> list[Message]:
    if not request.offline_log_dirs or core.features.metadata_version < versions.DIRECTORY_ASSIGNMENT:
        return []
    return directories_went_offline(core, broker, request.offline_log_dirs)


def _cordoned_directories(
    core: "ControllerCore", broker: BrokerRegistration, request: BrokerHeartbeatRequest
) -> list[Message]:
    cordoned = request.cordoned_log_dirs
    if cordoned is None or core.features.metadata_version < versions.CORDONED_LOG_DIRS:
        return []
    if tuple(cordoned) == broker.cordoned:
        return []
    return [
        BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=list(cordoned))
    ]
