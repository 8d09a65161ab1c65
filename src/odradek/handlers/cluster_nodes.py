"""The brokers as a client of one listener sees them: where that listener of theirs is, and who is alive."""

from collections.abc import Iterator

from odradek.handlers.call import BrokerCall
from odradek.metadata.registration import BrokerRegistration, Endpoint


def brokers_on(call: BrokerCall, *, include_fenced: bool = False) -> Iterator[tuple[BrokerRegistration, Endpoint]]:
    """Every broker that has the listener of this connection, with its address there; fenced ones if asked for."""
    image = call.services.metadata.image
    for broker in image.cluster.brokers.values():
        if broker.fenced and not include_fenced:
            continue
        endpoint = broker.endpoint(call.listener)
        if endpoint is not None:
            yield broker, endpoint


def controller_for_clients(call: BrokerCall) -> int:
    """The node that clients are told is the controller: this broker if it is alive, else any, as all of them forward.

    -1 if none is alive."""
    own = call.services.node_id
    alive = [broker.id for broker, _ in brokers_on(call)]
    return own if own in alive else next(iter(alive), -1)
