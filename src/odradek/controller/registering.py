"""Brokers and controllers register; admins unregister what is gone.

A broker epoch is the offset of its registration: it only grows. A new incarnation of a broker counts as fenced before
it counts as there: its partitions get other leaders, or none, in the same batch. So their leader epoch grows with every
incarnation, also when it comes back before anybody has missed it, and clients can see that a tail was lost.

Two live processes under one id would be a disaster, so a registration is refused while the session of another
incarnation lives. The exception is a process that holds the lock of its own log dirs: no other one can be alive.
"""

from collections.abc import Iterator
from itertools import chain

from odradek.controller import elections
from odradek.controller.state import ControllerState
from odradek.metadata import versions
from odradek.metadata.directory_ids import is_reserved
from odradek.metadata.registration import BrokerRegistration, ControllerRegistration, Endpoint, Levels
from odradek.protocol.declare import Message
from odradek.protocol.errors import (
    BrokerIdNotRegistered,
    DuplicateBrokerRegistration,
    InconsistentClusterId,
    InvalidRegistration,
    UnsupportedVersion,
)
from odradek.protocol.messages.k62_broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from odradek.protocol.messages.k64_unregister_broker import UnregisterBrokerResponse
from odradek.protocol.messages.k70_controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from odradek.protocol.messages.metadata_brokers import RegisterBrokerRecord, UnregisterBrokerRecord
from odradek.replicated.decision import Decision


def register_broker(
    state: ControllerState,
    now_ms: int,
    request: BrokerRegistrationRequest,
    next_offset: int,
    *,
    is_own_lock_held: bool = False,
) -> Decision[BrokerRegistrationResponse]:
    before = state.cluster.brokers.get(request.broker_id)
    _check_cluster(state, request)
    is_same = before is not None and before.incarnation_id == request.incarnation_id
    if before is not None and not is_same and not is_own_lock_held and state.sessions.is_alive(before.id, now_ms):
        raise DuplicateBrokerRegistration("Another broker is registered with that broker id.")
    _check_features(state, request)
    _check_directories(state, request)
    state.sessions.begin(request.broker_id, now_ms)
    response = BrokerRegistrationResponse()
    records = _registration(state, request, next_offset, before, response)
    return Decision(state.versioned(records), response, is_atomic=False)


def _registration(
    state: ControllerState,
    request: BrokerRegistrationRequest,
    next_offset: int,
    before: BrokerRegistration | None,
    response: BrokerRegistrationResponse,
) -> Iterator[Message | None]:
    """Its own record is the last: if the batch is cut, what it leads is given up before it counts as there."""
    is_same = before is not None and before.incarnation_id == request.incarnation_id
    if before is not None and not is_same:
        for record in elections.broker_left(state, before.id):
            next_offset += record is not None
            yield record
    registered = _record(state, request, next_offset, before if is_same else None)
    response.broker_epoch = registered.broker_epoch
    yield registered


def unregister_broker(state: ControllerState, broker_id: int) -> Decision[UnregisterBrokerResponse]:
    broker = state.cluster.brokers.get(broker_id)
    if broker is None:
        # a 3.3 has the code alone
        is_told = state.release.behaviour.tells_unregistered_broker
        raise BrokerIdNotRegistered(f"Broker ID {broker_id} is not currently registered" if is_told else "")
    gone = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    records: Iterator[Message | None] = chain(elections.broker_left(state, broker_id), [gone])
    state.sessions.end(broker_id)
    return Decision(state.versioned(records), UnregisterBrokerResponse(), is_atomic=False)


def register_controller(
    state: ControllerState, request: ControllerRegistrationRequest
) -> Decision[ControllerRegistrationResponse]:
    if state.features.metadata_version < versions.CONTROLLER_REGISTRATIONS:
        raise UnsupportedVersion("The current MetadataVersion is too old to support controller registrations.")
    controller = ControllerRegistration(
        request.controller_id,
        request.incarnation_id,
        request.zk_migration_ready,
        tuple(Endpoint(at.name, at.host, at.port, at.security_protocol) for at in request.listeners),
        tuple((item.name, item.min_supported_version, item.max_supported_version) for item in request.features),
    )
    return Decision(state.versioned([controller.record()]), ControllerRegistrationResponse())


def _check_cluster(state: ControllerState, request: BrokerRegistrationRequest) -> None:
    if request.cluster_id != state.cluster_id:
        raise InconsistentClusterId(f"Expected cluster ID {state.cluster_id}, but got cluster ID {request.cluster_id}")


def _check_features(state: ControllerState, request: BrokerRegistrationRequest) -> None:
    reason = state.features.reason_not_to_register(_levels(request))
    if reason is not None:
        raise UnsupportedVersion(f"Unable to register because {reason}")


def _check_directories(state: ControllerState, request: BrokerRegistrationRequest) -> None:
    if state.features.metadata_version < versions.DIRECTORY_ASSIGNMENT:
        return
    if not request.log_dirs:
        raise InvalidRegistration("No directories specified in request")
    if any(map(is_reserved, request.log_dirs)):
        raise InvalidRegistration("Reserved directory ID in request")
    if len(set(request.log_dirs)) != len(request.log_dirs):
        raise InvalidRegistration("Duplicate directory ID in request")
    for directory in request.log_dirs:
        owner = state.cluster.owners.get(directory)
        if owner is not None and owner != request.broker_id:
            raise InvalidRegistration(f"Broker {owner} is already registered with directory {directory.hex()}")


def _record(
    state: ControllerState,
    request: BrokerRegistrationRequest,
    broker_epoch: int,
    same: BrokerRegistration | None,
) -> RegisterBrokerRecord:
    """A repeated registration of one incarnation keeps its epoch and its state."""
    broker = BrokerRegistration(
        request.broker_id,
        same.epoch if same else broker_epoch,
        request.incarnation_id,
        tuple(Endpoint(at.name, at.host, at.port, at.security_protocol) for at in request.listeners),
        _levels(request),
        request.rack,
        same.fenced if same else True,
        same.in_controlled_shutdown if same else False,
        tuple(request.log_dirs),
    )
    return broker.record(state.features.metadata_version)


def _levels(request: BrokerRegistrationRequest) -> Levels:
    return tuple((item.name, item.min_supported_version, item.max_supported_version) for item in request.features)
